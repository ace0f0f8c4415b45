"""The engine of one request while it ran, in tiles, a table and sentences."""

from core import format as fmt
from core.messages import say
from core.ui.frame import heading, time_axis
from core.ui.levers import changes_table
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.ui.tiles import reading_tiles
from core.views.engine_windows import EngineWindows
from core.views.one_request import OneRequest, where_it_ran
from core.views.request import RequestView


def engine_heading() -> None:
    """Title of the part, with what its numbers mean."""
    heading(
        say("request.engine"), "engine_hit_ratio", "kv_usage_max", "requests_waiting", "preemptions"
    )


def engine_part(view: RequestView, one: OneRequest) -> None:
    """Where it ran, the engine's minutes, and what the request was exposed to."""
    engine = one.engine
    if engine is None:
        place = where_it_ran(one.request)
        lines(
            [
                say("request.engines_not_connected"),
                say("request.place_unknown")
                if place is None
                else say("request.place_said", place=place),
            ]
        )
        return
    lines([_attribution(one, engine)])
    if not engine.engines:
        lines([say("request.no_engine")])
        return
    said, *explained = _exposure(engine)
    lines([said], "pw-found")
    reading_tiles(engine.minutes, engine.readings)
    lines([*_minutes(view, engine), *explained, *_clocks(view, engine)])
    if len(engine.engines) > 1:
        _engines_table(engine)
    if engine.context.changes:
        heading(say("request.changes"))
        changes_table(engine.context)


def _attribution(one: OneRequest, engine: EngineWindows) -> str:
    request = one.request
    place = where_it_ran(request)
    if engine.attribution == "engine":
        return say("place.engine", place=place if place is not None else engine.engines[0].name)
    if engine.attribution == "pod":
        return say("place.pod", place=place, n=len(engine.engines))
    if request.model is None:
        return say("place.nowhere")
    return say("place.pool", model=request.model, n=len(engine.engines))


def _minutes(view: RequestView, engine: EngineWindows) -> list[str]:
    zone = time_axis(view.fleet).zone
    window = engine.minutes.window
    texts = [
        say(
            "request.minutes",
            start=fmt.clock(window.start, zone, day=True),
            end=fmt.clock(window.end, zone, day=True),
        )
    ]
    if engine.cut:
        texts.append(say("request.cut"))
    return texts


def _exposure(engine: EngineWindows) -> list[str]:
    texts = [say(f"exposure.{engine.attribution}_{engine.exposure}")]
    texts.append(
        say(
            "exposure.rule",
            window=fmt.seconds(engine.window_s),
            tolerance=fmt.seconds(engine.tolerance_s),
        )
    )
    if engine.retrospective:
        texts.append(say("exposure.retrospective"))
    return texts


def _clocks(view: RequestView, engine: EngineWindows) -> list[str]:
    interval = engine.scrape_interval_s
    texts = [
        say(
            "request.interval",
            interval=say("cell.unknown") if interval is None else fmt.seconds(interval),
        )
    ]
    for source in view.sources:
        skew = source.clock_skew_s
        texts.append(
            say(
                "request.skew",
                source=source.source,
                skew=say("cell.unknown") if skew is None else fmt.seconds(skew),
            )
        )
    return [" ".join(texts)]


def _engines_table(engine: EngineWindows) -> None:
    columns = [
        Column(say("col.engine")),
        Column(say("col.hit_ratio"), numeric=True),
        Column(say("col.kv_max"), numeric=True),
        Column(say("col.waiting"), numeric=True),
        Column(say("col.preemptions"), numeric=True),
        Column(say("col.exposure")),
    ]
    rows: list[list[Cell]] = [
        [
            e.name,
            e.hit_ratio,
            e.kv_usage_max,
            e.waiting,
            e.preemptions,
            None if e.exposure == "unknown" else str(e.exposure),
        ]
        for e in engine.engines
    ]
    table("engines_of_request", columns, rows)
