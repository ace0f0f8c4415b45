"""The form of the lever log, from the reader's entry to the table and the charts."""

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, Self

import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest

from core import runtime
from core.domain.levers import ENTERED
from core.levers import enter
from core.messages import say
from core.ui import levers
from tests.pages.conftest import Open
from tests.pages.homes import put
from tests.pages.shown import bodies, charts, marks_on, ran, table

WHAT = "session affinity on for <chat>"


@pytest.fixture
def live(open_page: Open, demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """The Live page of an app that merges nothing by itself."""
    monkeypatch.setattr(runtime.Runtime, "_merge_forever", lambda _: None)
    return open_page("live")


class TwoMinutesLater(datetime):
    """What the clock says when the form is sent."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return super().now(tz) + timedelta(minutes=2)


def field(app: AppTest, key: str) -> Any:
    """A text field of the form."""
    return next(f for f in app.text_input if f.label == say(key))


def save(app: AppTest) -> AppTest:
    """Press the form's button."""
    return ran(next(b for b in app.button if b.label == say("lever.save")).click().run())


def waiting() -> list[dict[str, Any]]:
    """Changes that lie in the inbox."""
    return [
        row
        for batch in runtime.running().inbox.waiting()
        if (batch / "levers.parquet").exists()
        for row in pq.read_table(batch / "levers.parquet").to_pylist()
    ]


def merge() -> None:
    """What the app does twice a second."""
    owner = runtime.running()
    owner.store.merge_waiting(owner.inbox)


def listed(app: AppTest) -> list[dict[str, str]]:
    """Rows of the table of changes."""
    return table(app, say("col.mark"), say("col.change"))


def test_an_entry_goes_through_the_inbox_to_the_page(live: AppTest) -> None:
    """An entered change is a batch first, and after its merge a row and a line on each chart."""
    before = listed(live)
    lines = [len(marks_on(figure)) for figure in charts(live)]
    field(live, "lever.what").input(f" {WHAT} ")
    field(live, "lever.by").input("Mina")
    field(live, "lever.link").input("https://example.org/change/7")
    save(live)
    assert [success.value for success in live.success] == [say("lever.saved")]
    (row,) = waiting()
    assert row["what"] == WHAT
    assert row["by_whom"] == "Mina"
    assert row["link"] == "https://example.org/change/7"
    assert row["origin"] == "entered"
    assert row["engine_id"] is None
    assert abs(row["happened_at"] - datetime.now(UTC)) < timedelta(minutes=5)

    merge()
    ran(live.run())
    assert waiting() == []
    newest, *rest = listed(live)
    assert newest["What"] == WHAT
    assert newest["By"] == "Mina"
    assert len(rest) == len(before)
    assert [len(marks_on(figure)) for figure in charts(live)] == [n + 1 for n in lines]
    html = next(body for body in bodies(live) if "Mina" in body)
    assert 'href="https://example.org/change/7" target="_blank" rel="noopener noreferrer"' in html


def test_every_kind_can_be_entered(live: AppTest) -> None:
    """The kinds offered are those a person may enter, in words."""
    (kinds,) = [box for box in live.selectbox if box.label == say("lever.kind")]
    assert kinds.options == [say(f"lever.{kind}") for kind in ENTERED]
    kinds.select(ENTERED[-1])
    field(live, "lever.what").input("x")
    save(live)
    assert [row["kind"] for row in waiting()] == [ENTERED[-1].value]


def test_the_entered_time_is_kept(live: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of an hour ago is logged an hour ago, however long the form was open."""
    entered = (datetime.now(UTC) - timedelta(hours=1)).replace(second=0, microsecond=0)
    when = next(d for d in live.datetime_input if d.label == say("lever.when"))
    when.set_value(entered.replace(tzinfo=None))
    field(live, "lever.what").input("an hour ago")
    monkeypatch.setattr(levers, "datetime", TwoMinutesLater)
    save(live)
    assert [row["happened_at"] for row in waiting()] == [entered]


@pytest.mark.parametrize("what", ["", "   "])
def test_an_entry_without_words_is_refused(live: AppTest, what: str) -> None:
    """Nothing is logged that does not say what changed."""
    field(live, "lever.what").input(what)
    save(live)
    assert [error.value for error in live.error] == [say("lever.needs_what")]
    assert waiting() == []


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "example.org", "//x"]
)
def test_a_link_that_could_run_is_refused(live: AppTest, link: str) -> None:
    """Only web addresses are accepted as links."""
    field(live, "lever.what").input("x")
    field(live, "lever.link").input(link)
    save(live)
    assert [error.value for error in live.error] == [say("lever.bad_link")]
    assert waiting() == []


def test_a_refused_entry_is_not_lost(live: AppTest) -> None:
    """After a refusal the words are still there to be corrected."""
    field(live, "lever.what").input("a long and careful account")
    field(live, "lever.link").input("example.org")
    save(live)
    assert live.error
    field(live, "lever.link").input("https://example.org")
    save(live)
    assert [row["what"] for row in waiting()] == ["a long and careful account"]


def test_a_link_that_came_another_way_is_not_clickable(demo_home: Path, open_page: Open) -> None:
    """A batch from elsewhere may hold any text as its link; the table makes none of it."""
    put(
        demo_home,
        {
            "levers": [
                {
                    "lever_id": 1,
                    "happened_at": datetime.now(UTC) - timedelta(minutes=5),
                    "kind": "other",
                    "origin": "entered",
                    "what": "from elsewhere",
                    "link": "javascript:alert(1)",
                }
            ]
        },
    )
    app = open_page("live")
    assert any(row["What"] == "from elsewhere" for row in listed(app))
    assert not any("javascript:" in body for body in bodies(app))


def test_entering_twice_adds_one(live: AppTest) -> None:
    """The same words for the same second are one change."""
    owner = runtime.running()
    moment = datetime.now(UTC).timestamp() - 60
    for _ in range(2):
        enter(owner.inbox, kind=ENTERED[0], what="once", by_whom=None, link=None, at=moment)
    merge()
    ran(live.run())
    assert [row["What"] for row in listed(live)].count("once") == 1
