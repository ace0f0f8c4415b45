"""Tiles: a name, a large number or the reason for none, its terms and its coverage."""

from collections.abc import Sequence

import streamlit as st

from core import format as fmt
from core.catalogue import METRICS
from core.charts import COLOURS
from core.domain.reading import Coverage, Reading, Reason, Reported
from core.domain.scope import Compare
from core.messages import say
from core.ui.style import escaped
from core.views.fleet import Fleet
from core.views.live import Tile

OWN_REASON = {
    ("gateway_cached_share", Reason.NOT_CONNECTED): "why.gateway",
    ("request_cached_ratio", Reason.NOT_CONNECTED): "why.gateway",
    ("cached_ratio", Reason.NOT_MEASURED): "why.this_request",
}


def tiles(fleet: Fleet, shown: Sequence[Tile]) -> None:
    """A row of tiles."""
    reading_tiles(fleet, [t.reading for t in shown], changes=[t.change for t in shown])


def reading_tiles(
    fleet: Fleet, readings: Sequence[Reading], *, changes: Sequence[float | None] = ()
) -> None:
    """A row of tiles for readings, with their changes where there are any."""
    padded = [*changes, *[None] * (len(readings) - len(changes))]
    body = "".join(
        _tile(fleet, reading, change) for reading, change in zip(readings, padded, strict=True)
    )
    st.html(f'<div class="pw-tiles">{body}</div>')


def _tile(fleet: Fleet, reading: Reading, change: float | None) -> str:
    metric = METRICS[reading.metric]
    parts = [
        f'<div class="n">{escaped(metric.label)}</div>',
        _value(reading),
        f'<div class="t">{escaped(fmt.terms(reading))}</div>',
        _change(fleet, reading, change),
    ]
    if reading.coverage is not None:
        parts.append(_coverage(fleet, reading.coverage))
    colour = COLOURS[metric.concept]
    why = _why(reading) or metric.definition
    return (
        f'<div class="pw-tile" style="--c:{colour}" title="{escaped(why)}">{"".join(parts)}</div>'
    )


def _value(reading: Reading) -> str:
    text = escaped(fmt.reading(reading))
    if reading.reason is Reason.CONTRACT_ERROR:
        return f'<div class="v pw-hatch bad">{text}</div>'
    if not reading.known:
        return f'<div class="v pw-hatch">{text}</div><div class="t">{escaped(_why(reading))}</div>'
    kind = "v i" if reading.low is not None else "v"
    number, unit = fmt.split_unit(reading, text)
    small = f" <small>{unit}</small>" if unit else ""
    return f'<div class="{kind}">{number}{small}</div>'


def _why(reading: Reading) -> str:
    if reading.reason is None:
        return ""
    own = OWN_REASON.get((reading.metric, reading.reason))
    return say(own if own is not None else f"why.{reading.reason}")


def _change(fleet: Fleet, reading: Reading, change: float | None) -> str:
    if fleet.scope.compare is Compare.NONE or change is None:
        return ""
    words = fmt.difference(change, METRICS[reading.metric].unit)
    against = say("compare.against", period=say(f"compare.{fleet.scope.compare}"))
    return f'<div class="d">{escaped(words)} {escaped(against)}</div>'


def _coverage(fleet: Fleet, coverage: Coverage | Reported) -> str:
    reported = isinstance(coverage, Reported)
    newest = fleet.newest_request_at if reported else fleet.newest_sample_at
    words = fmt.coverage(coverage)
    if newest is not None:
        words += ", " + fmt.age(fleet.now - newest).replace(" ", "\u00a0")
    width = 0.0 if coverage.share is None else min(coverage.share, 1.0) * 100
    return (
        f'<div class="t">{escaped(words)}</div>'
        f'<div class="pw-bar"><div style="width:{width:.0f}%"></div></div>'
    )
