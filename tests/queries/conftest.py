"""What tests of queries and views share: an experiment in a cache of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.queries.written_experiments import Trial


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """An empty cache to write an experiment into."""
    made = Trial(tmp_path)
    yield made
    made.store.close()
