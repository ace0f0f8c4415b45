"""Property tests run alike everywhere: same examples, and no clock that a busy machine fails."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")
