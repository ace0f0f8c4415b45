"""A reason to hold, or a note, with what was seen: one line of a verdict's evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Self

from pydantic import BeforeValidator

from core.domain.experiments.arms import Arm
from core.domain.experiments.texts import LONGEST_LINE, Entered, Line, Number, is_hidden
from core.domain.statistics.holds import Hold


def bounded(text: object) -> object:
    r"""Text that came with the data, cut, and with a mark for each character not to be seen.

    >>> bounded("a\x00b\u202ec")
    'a\ufffdb\ufffdc'
    """
    if not isinstance(text, str):
        return text
    shown = "".join("\ufffd" if is_hidden(c) else c for c in text[: LONGEST_LINE + 1])
    return shown if len(shown) <= LONGEST_LINE else shown[: LONGEST_LINE - 1] + "…"


class EvidenceLine(Entered):
    """Why a verdict holds, or what to know beside it.

    Parameters
    ----------
    reason : str
        A `HoldReason` of statistics, or a `Holding` or `Noted` of experiments.
    of : str or None
        Whose figure it is: an arm, or "df"; None: of the comparison as a whole.
    value, limit : float or None
        What was seen, and what it was held against. None: not known, or no number.
    at : float or None
        When it happened, seconds since the epoch.
    detail : str or None
        What it was, in the words of the data.
    lever_id : int or None
        Its entry in the lever log.
    """

    reason: Line
    of: Line | None = None
    value: Number | None = None
    limit: Number | None = None
    at: Number | None = None
    detail: Annotated[str, BeforeValidator(bounded)] | None = None
    lever_id: int | None = None

    @classmethod
    def of_statistics(cls, hold: Hold) -> Self:
        """The line of a reason that statistics found; an infinity is no known number.

        >>> from core.domain.statistics.holds import HoldReason
        >>> EvidenceLine.of_statistics(Hold(HoldReason.TOO_FEW_CLUSTERS, 19, 20, "new")).limit
        20.0
        """
        value, limit = (
            None if n is None or not isfinite(n) else float(n) for n in (hold.value, hold.limit)
        )
        return cls.checked(reason=hold.reason.value, of=hold.of, value=value, limit=limit)


@dataclass(frozen=True)
class Evidence:
    """What was found: reasons to hold, and what is only shown."""

    holds: tuple[EvidenceLine, ...] = ()
    notes: tuple[EvidenceLine, ...] = ()

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(self.holds + other.holds, self.notes + other.notes)


def together(parts: Iterable[Evidence]) -> Evidence:
    """All of it, in the order given."""
    return sum(parts, Evidence())


def whose(arms: Iterable[Arm]) -> str | None:
    """Name of the one arm that is concerned; None where both are.

    >>> whose([Arm.NEW]), whose([Arm.NEW, Arm.BASE])
    ('new', None)
    """
    found = set(arms)
    return found.pop().value if len(found) == 1 else None
