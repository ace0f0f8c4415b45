"""The doctor's findings on Data health."""

from collections.abc import Callable

from core.messages import say
from tests.pages.conftest import Open
from tests.pages.homes import T0, WRITTEN, WrittenEngine, at
from tests.pages.shown import table, text

Put = Callable[..., None]


def finding(key: str, level: str, **more: object) -> dict[str, object]:
    said = {"title": f"Title of {key}", "detail": "what was seen", "next_step": "Set X=1."}
    return {"finding": key, "subject": "s", "level": level, "checked_at": at(T0)} | said | more


def test_findings_are_shown_worst_first(put_real: Put, open_page: Open) -> None:
    """Each finding with its level as a word, its detail and the setting to change."""
    rows = [
        finding("fine", "ok", next_step=None),
        finding("gone", "error"),
        finding("slow", "warning", detail="<b>not markup</b>"),
        finding("odd", "unknown"),
    ]
    put_real(WrittenEngine.sound("a").tables | {"findings": rows})
    app = open_page("data_health", WRITTEN)
    shown = table(app, say("col.level"), say("col.found"), say("col.next_step"))
    levels = [say(f"finding.{level}") for level in ("error", "warning", "unknown", "ok")]
    assert [row[say("col.level")] for row in shown] == levels
    assert [row[say("col.next_step")] for row in shown] == [*["Set X=1."] * 3, say("table.none")]
    assert shown[0][say("col.found")] == "Title of gone"
    assert shown[1][say("col.detail")] == "<b>not markup</b>"
    assert say("health.no_findings") not in text(app)


def test_before_the_first_run_the_page_says_how_to_run_it(put_real: Put, open_page: Open) -> None:
    """No examination yet: the command and when it runs by itself, and no empty table."""
    put_real(WrittenEngine.sound("a").tables)
    app = open_page("data_health", WRITTEN)
    assert say("health.no_findings") in text(app)
    assert table(app, say("col.level"), say("col.found")) == []
