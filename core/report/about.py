"""What every review ends with: its limits, its sources, its scope in words."""

from collections.abc import Iterator, Sequence

from core.domain.scope import LABELS, Scope, Window
from core.messages import named, say
from core.report import cells
from core.report.document import Block, Cell, Column, Heading, Kind, Lines, Tone, table
from core.views.fleet import SourceState

APP_VERSION = "0.1.0"
LIMITS = ("judge", "confounding", "windows", "histograms", "samples", "transfer")
CONNECTED = {"prometheus": ("prometheus",), "langfuse": ("langfuse", "langfuse export")}
"""A side of the data, and the sources that may give it."""


def trouble(found: Sequence[SourceState]) -> Iterator[Block]:
    """Above everything: sources that fail, still read history, or were never there."""
    for source in found:
        if not source.ok:
            yield Lines((_failing(source),), Tone.BAD)
        elif source.state == "backfilling":
            yield Lines((say("review.backfilling", source=_name(source)),), Tone.WARNING)
    seen = {source.source for source in found}
    for side, sources in CONNECTED.items():
        if not seen & set(sources):
            words = (
                say(f"source.{side}"),
                say("state.not_connected"),
                say(f"health.connect_{side}"),
            )
            yield Lines((say("review.not_connected", side=words[0], todo=words[2]),), Tone.WARNING)


def _name(source: SourceState) -> str:
    return named("source.", source.source)


def _failing(source: SourceState) -> str:
    return say(
        "review.failing",
        source=_name(source),
        state=named("state.", source.state),
        title=source.title or say("cell.unknown"),
        detail=source.detail or say("cell.unknown"),
        next_step=source.next_step or "",
    )


def sources(found: Sequence[SourceState]) -> Iterator[Block]:
    """How every source stands when the review is made."""
    yield Heading(say("health.sources"))
    columns = [
        Column(say("col.source")),
        Column(say("col.state")),
        Column(say("review.read_to")),
        Column(say("review.read_from")),
        Column(say("col.detail"), wide=True),
        Column(say("col.next_step"), wide=True),
    ]
    rows = [
        [
            Cell(_name(one)),
            Cell(named("state.", one.state), Kind.KNOWN if one.ok else Kind.BAD),
            cells.time(one.read_to),
            cells.time(one.backfill_from),
            cells.maybe(one.detail),
            cells.maybe(one.next_step),
        ]
        for one in found
    ]
    yield table("sources", "", columns, rows, empty=say("review.no_sources"))


def limits() -> Iterator[Block]:
    """What none of the figures can do, said in every review."""
    yield Heading(say("review.limits"))
    yield Lines(tuple(say(f"limit.{one}") for one in LIMITS))


def span(window: Window) -> str:
    """A period by its edges in UTC, to the minute."""
    start, end = (cells.moment(at)[:-3] for at in (window.start, window.end))
    return say("review.span", start=start, end=end)


def stamp(at: float) -> str:
    """A moment in the name of a file."""
    return cells.moment(at)[:-3].replace("-", "").replace(":", "").replace(" ", "T")


def scope_words(scope: Scope) -> str:
    """What the scope is cut to; nothing: everything."""
    chosen = [
        say("review.cut", name=say(f"scope.{name}"), value=getattr(scope, name))
        for name in (*LABELS, "arm")
        if getattr(scope, name) is not None
    ]
    return ", ".join(chosen) or say("review.whole_scope")
