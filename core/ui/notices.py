"""What the reader must know before believing a number."""

from collections.abc import Sequence

import streamlit as st

from core import format as fmt
from core import runtime
from core.charts import short_list
from core.messages import say
from core.ui.style import plain
from core.views.fleet import Fleet, SourceState
from core.views.sums import Inflated

SILENT_S = 60.0


def notices(fleet: Fleet, *, inflated: Sequence[Inflated] = (), broken: Sequence[str] = ()) -> None:
    """Sources that fail or still read history, a cache that cannot be written, broken counters."""
    _source(fleet, fleet.prometheus, fleet.newest_sample_at)
    _source(fleet, fleet.requests, fleet.newest_request_at)
    if (trouble := runtime.running().merge_trouble) is not None:
        st.error(plain(say("notice.not_merging", why=trouble)))
    if broken:
        st.error(plain(say("notice.broken", names=short_list(broken))))
    if inflated:
        names = [
            say(
                "notice.inflated_one",
                name=one.name,
                factor=fmt.reading(one.factor),
                cached=fmt.reading(one.cached_prompt_ratio),
            )
            for one in inflated
        ]
        st.warning(plain(say("notice.inflated", engines=short_list(names))))


def _source(fleet: Fleet, source: SourceState | None, newest: float | None) -> None:
    if source is None:
        return
    if not source.ok:
        shown = (
            say("notice.shown_none")
            if newest is None
            else say("notice.shown", age=fmt.seconds(fleet.now - newest))
        )
        words = say(
            "notice.source",
            source=say(f"source.{source.source}"),
            title=source.title or "",
            detail=source.detail or "",
            next_step=source.next_step or "",
            shown=shown,
        )
        st.warning(plain(words))
    elif source.state == "backfilling" and source.progress is not None:
        left = say("notice.left", left=fmt.seconds(source.left_s)) if source.left_s else ""
        rows = (
            say("notice.rows", n=fmt.quantity(source.rows_read))
            if source.rows_read is not None
            else ""
        )
        words = say(
            "notice.backfill",
            source=say(f"source.{source.source}"),
            progress=f"{source.progress * 100:.0f} %",
            rows=rows,
            left=left,
        )
        st.progress(min(max(source.progress, 0.0), 1.0), words)
    settings = runtime.running().settings
    follows = settings.collector and source.source in settings.connected
    if (
        follows
        and source.state != "read_once"
        and fleet.now - source.checked_at > _silent_after(source)
    ):
        st.warning(
            say(
                "notice.silent",
                source=say(f"source.{source.source}"),
                age=fmt.seconds(fleet.now - source.checked_at),
            )
        )


def _silent_after(source: SourceState) -> float:
    """A collector that waits as its server told it is not silent."""
    if source.retry_at is None:
        return SILENT_S
    return SILENT_S + max(0.0, source.retry_at - source.checked_at)
