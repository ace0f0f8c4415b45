"""When an engine was there, when it was observed, and where nobody knows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

from core.domain.records import EngineLabels

OBSERVED_SHARE = 0.5
"""A chart bin counts as observed when at least this share of it was."""
SETTLING_S = 120
"""The newest samples arrive late; so much of the end of a window is no gap."""


@dataclass(frozen=True)
class Life:
    """One engine's presence: from its first scrape until it left (None: still here).

    `first_at` is minus infinity where nobody read before its first scrape.
    """

    engine_id: int
    name: str
    first_at: float
    gone_at: float | None = None

    def expected_s(self, start: float, end: float) -> float:
        """Seconds of [start, end) in which the engine was there.

        >>> Life(1, "a", first_at=30.0, gone_at=90.0).expected_s(0, 60)
        30.0
        """
        until = end if self.gone_at is None else min(end, self.gone_at)
        return max(0.0, until - max(start, self.first_at))

    def was_there(self, start: float, end: float) -> bool:
        """Whether the engine was there at some moment of [start, end).

        >>> Life(1, "a", first_at=30.0, gone_at=90.0).was_there(0, 30)
        False
        """
        return self.first_at < end and (self.gone_at is None or self.gone_at >= start)


def since(first_at: float, read_from: float | None) -> float:
    """From when on an engine is expected: ever, where its first scrape is the first that was read.

    It was there when reading began, so whatever came before is unobserved, and not absence.

    >>> since(1000.0, read_from=990.0), since(1000.0, read_from=500.0), since(1000.0, None)
    (-inf, 1000.0, 1000.0)
    """
    began = read_from is not None and first_at <= read_from + SETTLING_S
    return -inf if began else first_at


@dataclass(frozen=True)
class Gap:
    """A stretch in which some engines, or all of them, were not observed."""

    start: float
    end: float
    missing: tuple[str, ...]
    everyone: bool


def horizon(end: float, *, now: float, read_to: float | None) -> float:
    """Until when samples can be expected: what is still settling is no gap.

    >>> horizon(600.0, now=590.0, read_to=550.0), horizon(600.0, now=590.0, read_to=100.0)
    (550.0, 590.0)
    """
    newest = now if read_to is None or now - read_to > SETTLING_S else read_to
    return min(end, newest)


def find_gaps(
    bins: Sequence[int],
    bin_s: int,
    lives: Sequence[Life],
    covered_s: Mapping[tuple[int, int], float],
    *,
    start: float,
    until: float,
) -> list[Gap]:
    """Bins in which an engine that was there was not observed, runs joined.

    Parameters
    ----------
    bins : sequence of int
        Starts of the chart bins, seconds.
    covered_s : mapping (engine_id, bin) -> seconds
        Seconds between neighbouring scrapes; a missing key is none.
    start, until : float
        Part of the bins that is asked for and can be known.

    Notes
    -----
    A missing key here is not an unknown amount: no scrape pair ended in the bin.
    """
    gaps: list[Gap] = []
    for begin in bins:
        low, high = max(begin, start), min(begin + bin_s, until)
        there = [life for life in lives if life.expected_s(low, high) > 0]
        missing = tuple(
            life.name
            for life in there
            if covered_s.get((life.engine_id, begin), 0.0)
            < OBSERVED_SHARE * life.expected_s(low, high)
        )
        if not there and high > low:
            gaps.append(Gap(low, high, (), everyone=True))
        elif missing:
            gaps.append(Gap(low, high, missing, everyone=len(missing) == len(there)))
    return _joined(gaps)


def _joined(gaps: Sequence[Gap]) -> list[Gap]:
    joined: list[Gap] = []
    for gap in gaps:
        last = joined[-1] if joined else None
        if last and (last.end, last.missing, last.everyone) == (
            gap.start,
            gap.missing,
            gap.everyone,
        ):
            joined[-1] = Gap(last.start, gap.end, gap.missing, gap.everyone)
        else:
            joined.append(gap)
    return joined


def names_of(engines: Sequence[EngineLabels]) -> list[str]:
    """Short names of engines: the pod, and as much more as tells them apart.

    >>> from dataclasses import replace
    >>> a, b = EngineLabels("c", "n", "a", "m", "0"), EngineLabels("c", "n", "b", "m", "0")
    >>> names_of([a, b]), names_of([b, replace(b, engine="1"), replace(a, pod=None)])
    (['a', 'b'], ['b #0', 'b #1', '(no pod label)'])
    >>> names_of([a, replace(a, namespace="other")])
    ['n/a', 'other/a']
    """
    names = []
    for engine in engines:
        alike = [other for other in engines if other.pod == engine.pod]
        told = {f for f in FURTHER if len({getattr(other, f) for other in alike}) > 1}
        names.append(_name(engine, told))
    return names


FURTHER = ("cluster", "namespace", "engine", "model_name")


def _name(engine: EngineLabels, told: set[str]) -> str:
    said = {f: getattr(engine, f) or f"no {f}" for f in told}
    place = [said[f] for f in ("cluster", "namespace") if f in told]
    name = "/".join([*place, engine.pod or "(no pod label)"])
    if "engine" in told:
        name = f"{name} #{said['engine']}"
    return f"{name} ({said['model_name']})" if "model_name" in told else name
