"""Numbers and times as words: the same in tiles, tables, charts and exports."""

from datetime import datetime, tzinfo
from math import inf, isfinite

from core.catalogue import METRICS, Unit
from core.domain.reading import Coverage, Reading, Reported
from core.messages import say

SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
FULL_COVERAGE = 0.995
CLOCK_TOLERANCE_S = 10.0
"""Younger than now by so much is the grain of our own clock, not news."""
WORDED = (
    Unit.TOKENS_PER_S,
    Unit.REQUESTS_PER_MIN,
    Unit.TOKENS,
    Unit.EVENTS,
    Unit.REQUESTS,
    Unit.WINDOWS,
)
"""Units written out behind the number."""


def quantity(value: float) -> str:
    """Three significant digits with a suffix.

    >>> quantity(1_234_567), quantity(950), quantity(0.25), quantity(0)
    ('1.23 M', '950', '0.25', '0')
    """
    for size, suffix in SUFFIXES:
        if abs(value) >= size * 0.9995:
            return f"{_three(value / size)} {suffix}"
    return _three(value)


def _three(value: float) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def seconds(value: float) -> str:
    """A duration with its unit.

    >>> seconds(0.045), seconds(2.5), seconds(90), seconds(7200), seconds(inf)
    ('45 ms', '2.5 s', '1.5 min', '2 h', 'no limit')
    """
    if not isfinite(value):
        return say("no_limit")
    if value < 0:
        return f"−{seconds(-value)}"
    for limit, size, unit in ((1, 0.001, "ms"), (90, 1, "s"), (5400, 60, "min")):
        if value < limit:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value / 3600)} h" if value < 172_800 else f"{_three(value / 86400)} d"


def edge(value: float) -> str:
    """A bucket edge in seconds, as the server says it.

    >>> edge(1800.0), edge(0.5)
    ('1800 s', '0.5 s')
    """
    return f"{value:g} s"


def amount(value: float, unit: Unit) -> str:
    """A value in its unit.

    >>> amount(0.557, Unit.RATIO), amount(14.0, Unit.FACTOR), amount(5.0, Unit.EVENTS)
    ('55.7 %', '14×', '5 events')
    """
    if unit is Unit.RATIO:
        return f"{value * 100:.1f} %"
    if unit is Unit.FACTOR:
        return f"{_three(value)}×"
    if unit is Unit.SECONDS:
        return seconds(value)
    return f"{quantity(value)} {unit}" if unit in WORDED else quantity(value)


def reading(value: Reading) -> str:
    """A reading as text: its value, its interval, or the reason it has none."""
    if value.reason is not None:
        return say(f"reason.{value.reason}")
    unit = METRICS[value.metric].unit
    if value.low is not None and value.high is not None:
        if value.high == inf:
            return f"> {edge(value.low) if unit is Unit.SECONDS else amount(value.low, unit)}"
        return f"{amount(value.low, unit)} – {amount(value.high, unit)}"
    return say("cell.unknown") if value.value is None else amount(value.value, unit)


def split_unit(value: Reading, text: str) -> tuple[str, str]:
    """A reading's text without its written-out unit, and that unit, or ''."""
    unit = METRICS[value.metric].unit
    number = text.removesuffix(f" {unit}")
    return (number, unit) if unit in WORDED and number != text else (text, "")


def terms(value: Reading) -> str:
    """Numerator over denominator, in words; empty where there are none."""
    metric = METRICS[value.metric]
    if value.numerator is None or value.denominator is None:
        return ""
    return (
        f"{quantity(value.numerator)} {metric.numerator} / "
        f"{quantity(value.denominator)} {metric.denominator}"
    )


def difference(change: float, unit: Unit) -> str:
    """A change against the comparison period.

    >>> difference(0.012, Unit.RATIO), difference(-3.0, Unit.EVENTS)
    ('+1.2 pp', '−3 events')
    >>> difference(-0.0002, Unit.RATIO)
    '+0.0 pp'
    """
    if unit is Unit.RATIO:
        points = round(change * 100, 1) + 0.0  # no sign of a zero that was rounded
        return f"{points:+.1f} pp".replace("-", "−")
    sign = "+" if change >= 0 else "−"
    return sign + amount(abs(change), unit)


def coverage(value: Coverage | Reported) -> str:
    """How much was observed, or how many requests reported it, in words."""
    share = value.share
    if isinstance(value, Reported):
        return say("coverage.reported", n=quantity(value.reported), of=quantity(value.requests))
    if share is None:
        return say("coverage.nothing_expected")
    engines = say("coverage.engines", seen=value.engines, expected=value.engines_expected)
    return say("coverage.observed", engines=engines, share=observed(share))


def observed(share: float) -> str:
    """Share of a window that was observed; within one scrape of all of it is all.

    >>> observed(1.002), observed(0.952)
    ('100 %', '95.2 %')
    """
    return "100 %" if share >= FULL_COVERAGE else f"{share * 100:.1f} %"


def part_of(part: int, whole: int) -> str:
    """Share of a count; only all of it is 100 %, only none of it 0 %.

    >>> part_of(1, 3), part_of(3, 3), part_of(0, 3), part_of(9999, 10000)
    ('33.3 %', '100 %', '0 %', '> 99.9 %')
    """
    if part in (0, whole):
        return "100 %" if part else "0 %"
    share = part / whole * 100
    return "> 99.9 %" if share >= 99.95 else "< 0.1 %" if share < 0.05 else f"{share:.1f} %"


def estimate(value: float, interval: tuple[float, float] | None, *, ratio: bool) -> str:
    """An estimate with its interval, in % or as a plain score; without one where there is none.

    >>> estimate(0.862, (0.841, 0.88), ratio=True), estimate(0.74, None, ratio=False)
    ('86.2 % (84.1 to 88.0)', '0.740')
    """
    shown = f"{_percent(value)} %" if ratio else score(value)
    if interval is None:
        return shown
    return say("estimate", value=shown, limits=limits(interval, ratio=ratio))


def limits(interval: tuple[float, float], *, ratio: bool) -> str:
    """Both ends of an interval, in % or as plain scores.

    >>> limits((0.841, 0.88), ratio=True), limits((-0.02, 0.1), ratio=False)
    ('84.1 to 88.0', '−0.020 to 0.100')
    """
    write = _percent if ratio else score
    return say("estimate.limits", low=write(interval[0]), high=write(interval[1]))


def points(value: float, interval: tuple[float, float] | None, *, ratio: bool) -> str:
    """A difference with its interval: in points (pp) of a rate, or of a score.

    >>> points(-0.0123, (-0.02, 0.001), ratio=True)
    '−1.23 pp (−2.00 to +0.10)'
    """
    write = _signed_points if ratio else _signed_score
    shown = f"{write(value)} pp" if ratio else write(value)
    if interval is None:
        return shown
    low, high = (write(end) for end in interval)
    return say("estimate", value=shown, limits=say("estimate.limits", low=low, high=high))


def against(value: float, limit: float, *, signed: bool) -> str:
    """A number beside a limit in the same unit: with more digits where the two would look alike.

    >>> against(3.1234, 2.0, signed=True), against(2.00004, 2.0, signed=False)
    ('+3.12', '2.00004')
    >>> against(2.0, 2.0, signed=False), against(12345.6, 5.0, signed=False)
    ('2.00', '12,346')
    """
    if not isfinite(value):
        return say("no_limit")
    sign = "+" if signed else ""
    fewest = 0 if abs(value) >= 1000 else 2 if abs(value) >= 1 else 3
    texts = [
        (f"{value:{sign},.{digits}f}", f"{limit:{sign},.{digits}f}") for digits in range(fewest, 10)
    ]
    alike = value == limit
    found = next((text for text, other in texts if alike or text != other), texts[-1][0])
    return found.replace("-", "−")


def chance(value: float) -> str:
    """A p- or q-value.

    >>> chance(0.0213), chance(0.00002)
    ('0.021', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{value * 100:.1f}".replace("-", "−")


def score(value: float) -> str:
    """A plain score.

    >>> score(0.74), score(-0.0131)
    ('0.740', '−0.013')
    """
    return f"{value:.3f}".replace("-", "−")


def _signed_points(value: float) -> str:
    return f"{value * 100:+.2f}".replace("-", "−")


def _signed_score(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def clock(t: float, zone: tzinfo, *, day: bool = False) -> str:
    """Time of day in the reader's zone, with the day where it matters."""
    at = datetime.fromtimestamp(t, zone)
    return at.strftime("%d %b %H:%M:%S" if day else "%H:%M:%S")


def moment(t: float, zone: tzinfo) -> str:
    """Date and time to the second, as it stands in a file.

    >>> from datetime import UTC
    >>> moment(0.0, UTC)
    '1970-01-01 00:00:00'
    """
    return datetime.fromtimestamp(t, zone).strftime("%Y-%m-%d %H:%M:%S")


def age(value: float) -> str:
    """How old something is, in whole seconds, or what the clocks disagree about.

    >>> age(8.2), age(7300.0)
    ('8 s ago', '2.03 h ago')
    """
    if value < -CLOCK_TOLERANCE_S:
        return say("age.ahead", age=seconds(-value))
    whole = round(max(value, 0.0))
    return say("age", age=f"{whole} s" if whole < 90 else seconds(whole))
