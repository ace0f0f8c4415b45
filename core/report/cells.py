"""Cells out of readings, estimates, counts and times: the words of `core.format`, once."""

from datetime import UTC

from core import format as fmt
from core.catalogue import METRICS
from core.domain.reading import QUIET_REASONS, Coverage, Reading, Reason, Reported
from core.domain.statistics.proportion import Estimate
from core.messages import say
from core.report.document import Cell, Kind
from core.views.quality_contrast import CrudeDifference
from core.views.review_period import EfficiencyRow

SHIFTS = {1: "review.shift_above", -1: "review.shift_below", 0: "review.shift_overlap"}


def unknown(text: str | None = None) -> Cell:
    """A cell that says that, or why, there is no value."""
    return Cell(text or say("cell.unknown"), Kind.UNKNOWN)


def words(text: str | None) -> Cell:
    """Text that came with the data; what is not there is unknown."""
    return Cell(text) if text else unknown()


def maybe(text: str | None) -> Cell:
    """Text that need not be there."""
    return Cell(text or say("table.none"))


def count(n: int) -> Cell:
    """A count, in full."""
    return Cell(f"{n:,}", exact=n)


def reading(value: Reading) -> Cell:
    """A reading with its unit, or the reason why it has none."""
    if value.reason is Reason.CONTRACT_ERROR:
        return Cell(fmt.reading(value), Kind.BAD)
    if not value.known:
        quiet = value.reason in QUIET_REASONS
        return Cell(fmt.reading(value), Kind.KNOWN if quiet else Kind.UNKNOWN)
    exact = value.value if value.low is None else None
    return Cell(fmt.reading(value), exact=exact)


def changed(row: EfficiencyRow) -> Cell:
    """A change in the metric's unit, or why there is none."""
    if row.unlike:
        return unknown(say("review.unlike"))
    if row.shift is not None:
        return Cell(say(SHIFTS[row.shift]))
    if row.change is None:
        return unknown(say("review.no_change"))
    unit = METRICS[row.now.metric].unit
    return Cell(fmt.difference(row.change, unit), exact=row.change)


def covered(value: Reading) -> Cell:
    """How much of the period, or how many requests, a reading stands for."""
    found = value.coverage
    if found is None:
        return unknown()
    if isinstance(found, Reported):
        n, of = fmt.quantity(found.reported), fmt.quantity(found.requests)
        return Cell(say("review.reported", n=n, of=of), exact=found.share)
    return observed(found)


def observed(found: Coverage) -> Cell:
    """Engines that were observed, and for how much of their time."""
    if found.share is None:
        return unknown(say("coverage.nothing_expected"))
    engines = say("coverage.engines", seen=found.engines, expected=found.engines_expected)
    text = say("review.observed", engines=engines, share=fmt.observed(found.share))
    return Cell(text, exact=found.share)


def estimate(found: Estimate | None, *, requests: int) -> Cell:
    """A pass rate with its interval, or why there is none."""
    if found is None or found.estimate is None:
        reason = Reason.NOT_MEASURED if requests else Reason.NO_TRAFFIC
        return unknown(say("quality.not_scored" if requests else f"reason.{reason}"))
    text = fmt.estimate(found.estimate, found.interval, ratio=True)
    if found.interval is None:
        text = f"{text}; {say(f'undefined.{found.reason}')}"
    elif found.few_clusters:
        text = f"{text}; {say('flag.few_clusters')}"
    return Cell(text, exact=found.estimate)


def difference(found: CrudeDifference) -> Cell:
    """A difference in points with its interval, or why there is none."""
    if found.delta is None:
        return unknown(say("contrast.not_both"))
    text = fmt.points(found.delta, found.interval, ratio=True)
    if found.interval is None:
        text = f"{text}; {say(f'undefined.{found.reason}')}"
    return Cell(text, exact=found.delta)


def share(part: int, whole: int) -> Cell:
    """Part of a count with both numbers; without a whole there is no share."""
    if whole == 0:
        return Cell(say("review.none_to_count"))
    text = say("review.share", share=fmt.part_of(part, whole), n=f"{part:,}", of=f"{whole:,}")
    return Cell(text, exact=part / whole)


def time(at: float | None) -> Cell:
    """A moment in UTC."""
    return unknown() if at is None else Cell(moment(at))


def moment(at: float) -> str:
    """A moment in UTC, with its date: a file is read in more than one zone."""
    return fmt.moment(at, UTC)
