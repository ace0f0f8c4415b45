"""Version numbers of servers."""

import re


def at_least(version: str, wanted: tuple[int, int]) -> bool:
    """Whether `version` is `wanted` or later; one that cannot be read is not.

    >>> at_least("4.16.0", (3, 179)), at_least("3.99.1", (3, 133)), at_least("?", (1, 0))
    (True, False, False)
    """
    found = re.match(r"v?(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) >= wanted
