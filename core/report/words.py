"""Names of scores, dimensions and groups: the same on pages and in files."""

from core import format as fmt
from core.domain.quality import Dimension
from core.domain.strata import bin_edges
from core.messages import TEXTS, say
from core.views.quality_rows import EDGES
from core.views.quality_sums import Bins, Series


def series_words(series: Series) -> str:
    """A score with its evaluator and version."""
    if series.evaluator == series.name and series.evaluator_version is None:
        return series.name
    if series.evaluator == series.name:
        return say("quality.own_series", name=series.name, version=series.evaluator_version)
    version = say("quality.no_version")
    if series.evaluator_version is not None:
        version = say("quality.version", version=series.evaluator_version)
    return say("quality.series", name=series.name, evaluator=series.evaluator, version=version)


def dimension_words(dimension: str) -> str:
    """Name of a dimension."""
    return say(f"dimension.{dimension}")


def dimension_phrase(dimension: str) -> str:
    """Name of a dimension inside a sentence."""
    words = dimension_words(dimension)
    return words[:1].lower() + words[1:]


def group_words(dimension: Dimension, value: str, bins: Bins | None = None) -> str:
    """Name of a group: of a bin its edges, of a name from the data the name itself."""
    key = f"group.{dimension}.{value}"
    if key in TEXTS:
        return TEXTS[key]
    if dimension in EDGES and value.isdecimal():
        return _bin_words(dimension, int(value), bins or Bins())
    return say("cell.unknown") if value == "unknown" else value


def _bin_words(dimension: Dimension, place: int, bins: Bins) -> str:
    low, high = bin_edges(place, getattr(bins, EDGES[dimension]))
    if dimension is Dimension.TURN_POSITION:
        return _turns(low, high)
    write = fmt.seconds if dimension is Dimension.IDLE_GAP else fmt.quantity
    if low is None and high is not None:
        return say("bin.below", high=write(high))
    if high is None and low is not None:
        return say("bin.from", low=write(low))
    return (
        "" if low is None or high is None else say("bin.between", low=write(low), high=write(high))
    )


def _turns(low: float | None, high: float | None) -> str:
    """Turns count from 1, and their edges are whole."""
    first = 1 if low is None else int(low)
    if high is None:
        return say("bin.turns_from", first=first)
    last = int(high) - 1
    return say("bin.turn", n=first) if last == first else say("bin.turns", first=first, last=last)
