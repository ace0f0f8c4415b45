"""Dots with intervals as inline SVG: colours by class, so that light, dark and print differ."""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, inf, log10

from core.report.document import Dot, Intervals, Mark

WIDTH, NAME_W, RIGHT = 920, 300, 24
TOP, ROW, FOOT = 26, 30, 44
TICKS = 8
LONGEST_NAME = 46
LEAST_AIR = 0.005


def intervals_svg(block: Intervals) -> str:
    """A chart that says itself in words too: each line has its note as a title."""
    low, high = _span(block)
    height = TOP + ROW * max(len(block.dots), 1) + FOOT
    label = _text(block.title)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}">',
        *_axis(block, low, high, height),
        *(part for mark in block.marks for part in _mark(mark, low, high, height)),
        *(p for n, dot in enumerate(block.dots) for p in _dot(dot, n, low, high)),
        "</svg>",
    ]
    return "\n".join(parts)


def _span(block: Intervals) -> tuple[float, float]:
    """Around all limits and marks with some air, never beyond what the axis can hold."""
    lowest, highest = block.span or (-inf, inf)
    found = [x for dot in block.dots for x in (dot.low, dot.value, dot.high) if x is not None]
    found += [mark.at for mark in block.marks]
    if not found:
        return block.span or (0.0, 1.0)
    air = max((max(found) - min(found)) * 0.1, LEAST_AIR)
    return max(lowest, min(found) - air), min(highest, max(found) + air)


def _x(value: float, low: float, high: float) -> float:
    inner = WIDTH - NAME_W - RIGHT
    return round(NAME_W + (value - low) / (high - low) * inner, 1)


def _axis(block: Intervals, low: float, high: float, height: int) -> Iterator[str]:
    bottom = height - FOOT
    for value in _ticks(low, high):
        x = _x(value, low, high)
        yield f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>'
        label = _label(value * 100 if block.ratio else value, signed=block.signed)
        yield f'<text class="tick" x="{x}" y="{bottom + 15}" text-anchor="middle">{label}</text>'
    middle = _x((low + high) / 2, low, high)
    yield (
        f'<text class="tick" x="{middle}" y="{bottom + 34}" text-anchor="middle">'
        f"{_text(block.axis)}</text>"
    )


def _label(value: float, *, signed: bool) -> str:
    text = f"{value:+g}" if signed and value else f"{value:g}"
    return text.replace("-", "−")


def _ticks(low: float, high: float) -> list[float]:
    """Round values inside an axis, a handful of them.

    >>> _ticks(-0.084, 0.042)
    [-0.08, -0.06, -0.04, -0.02, 0.0, 0.02, 0.04]
    """
    rough = (high - low) / TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    return [round(n * step, 12) for n in range(ceil(low / step), floor(high / step) + 1)]


def _mark(mark: Mark, low: float, high: float, height: int) -> Sequence[str]:
    x = _x(min(max(mark.at, low), high), low, high)
    return (
        f'<line class="mark" x1="{x}" y1="{TOP - 4}" x2="{x}" y2="{height - FOOT}"/>',
        f'<text class="tick" x="{x}" y="{TOP - 10}" text-anchor="middle">{_text(mark.name)}</text>',
    )


def _dot(dot: Dot, number: int, low: float, high: float) -> Iterator[str]:
    y = TOP + ROW * number + ROW / 2
    name = dot.name if len(dot.name) <= LONGEST_NAME else dot.name[: LONGEST_NAME - 1] + "…"
    yield f"<g><title>{_text(f'{dot.name}: {dot.note}')}</title>"
    yield f'<text class="name" x="{NAME_W - 12}" y="{y + 4}" text-anchor="end">{_text(name)}</text>'
    if dot.value is None:
        width = WIDTH - NAME_W - RIGHT
        yield f'<rect class="none" x="{NAME_W}" y="{y - 9}" width="{width}" height="18"/>'
        yield f'<text class="name" x="{NAME_W + 10}" y="{y + 4}">{_text(dot.note)}</text>'
    else:
        faint = " faint" if dot.faint else ""
        if dot.low is not None and dot.high is not None:
            left, right = (_x(min(max(at, low), high), low, high) for at in (dot.low, dot.high))
            yield f'<line class="bar{faint}" x1="{left}" y1="{y}" x2="{right}" y2="{y}"/>'
            for x in (left, right):
                yield f'<line class="bar{faint}" x1="{x}" y1="{y - 5}" x2="{x}" y2="{y + 5}"/>'
        yield f'<circle class="dot{faint}" cx="{_x(dot.value, low, high)}" cy="{y}" r="5"/>'
    yield "</g>"


def _text(text: str) -> str:
    return escape(text, quote=True)
