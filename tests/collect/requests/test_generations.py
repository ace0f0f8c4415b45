"""Which lists a server offers: only the known kinds of 404 tell, and a change is followed."""

import httpx
import pytest

from core.errors import SourceError, SourceStatus
from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import EVENTS_ONLY, HTML, FakeLangfuse, score
from tests.collect.requests.rig import MODES, T0, Rig, only, path_of, project

NEW = "observations v2, scores v3"


def varied_scores() -> list[dict]:
    """One score of every kind and level."""
    about = {"kind": "trace", "id": "trace-0001"}
    session = {"kind": "session", "id": "session-0"}
    return [
        score(0, T0 - 50),
        score(1, T0 - 51, dataType="BOOLEAN", value=True, subject=about),
        score(2, T0 - 52, dataType="BOOLEAN", value=False),
        score(3, T0 - 53, dataType="CATEGORICAL", value="good", subject=session),
        score(4, T0 - 54, dataType="TEXT", value="a text"),
    ]


@pytest.mark.parametrize(
    ("mode", "version", "spoken"),
    [
        ("events_only", "4.16.0", NEW),
        ("dual", "4.16.0", NEW),
        ("legacy", "4.16.0", "observations v1, scores v3"),
        ("old", "3.100.0", "observations v1, scores v2"),
        ("old", "3.150.0", "observations v1, scores v2"),
        ("old", "3.200.0", "observations v1, scores v3"),
        ("old", "v3.99", "observations v1, scores v2"),
    ],
)
def test_every_server_is_spoken_to_in_its_own_way(
    langfuse_rig_of: RequestRigOf, mode: str, version: str, spoken: str
) -> None:
    """v2 and v3 first, the older list only where a known 404 says that the newer is missing."""
    rig = langfuse_rig_of(FakeLangfuse(mode=mode, version=version, **project(4, every_s=60)))
    rig.catch_up()
    assert rig.value("select api from sources") == f"{spoken}, server {version}"
    assert len(rig.ids()) == 4
    assert len(rig.ids("scores")) == 4


def test_every_generation_gives_the_same_tables(langfuse_rig_of: RequestRigOf) -> None:
    """The same project gives the same rows, digests and turns through all four servers."""
    tables = []
    for mode in MODES:
        version = "3.100.0" if mode == "old" else "4.16.0"
        server = FakeLangfuse(mode=mode, version=version, most=3, **project(8, every_s=40))
        server.scores = varied_scores()
        rig = langfuse_rig_of(server)
        rig.catch_up()
        tables.append(rig.tables())
    assert len(tables[0]["observations"]) == 8
    assert len(tables[0]["scores"]) == 4
    assert len(tables[0]["turns"]) == 4
    for other in tables[1:]:
        assert other == tables[0]


@pytest.mark.parametrize(
    ("path", "version", "answer"),
    [
        ("/v2/observations", "4.16.0", httpx.Response(404, text=HTML)),
        ("/v3/scores", "4.16.0", httpx.Response(404, text=HTML)),
        ("/v2/observations", "3.133.0", httpx.Response(404, text=HTML)),
        ("/v3/scores", "3.179.2", httpx.Response(404, text=HTML)),
        ("/v2/observations", "4.16.0", httpx.Response(404, json={"message": "no route"})),
        ("/v2/observations", "4.16.0", httpx.Response(404, content=b"")),
        ("/v2/observations", "4.16.0", httpx.Response(410, text=HTML)),
    ],
)
def test_another_404_is_an_error_and_no_reason_to_fall_back(
    site: Rig, server: FakeLangfuse, path: str, version: str, answer: httpx.Response
) -> None:
    """A wrong path or a proxy is told; the older lists are not read behind one's back."""
    server.mode, server.version = "dual", version
    server.fault = only(path, lambda: httpx.Response(answer.status_code, content=answer.content))
    site.collector().step()
    asked = {path_of(request) for request in server.asked}
    assert not asked & {"/observations", "/v2/scores"}
    ((state, title, step),) = site.sql("select state, title, next_step from sources")
    assert state == "status"
    assert title
    assert step


def test_a_404_of_everything_is_an_error(site: Rig, server: FakeLangfuse) -> None:
    """An address that is not Langfuse's at all is told with the setting to look at."""
    server.fault = lambda _: httpx.Response(404, text=HTML)
    assert not site.collector().step()
    assert "PREFIXWATCH_LANGFUSE_URL" in site.value("select next_step from sources")


def test_a_missing_older_list_is_an_error(site: Rig, server: FakeLangfuse) -> None:
    """A server that has neither generation is named, not read halfway."""
    server.mode = "legacy"
    server.fault = only("/observations", lambda: httpx.Response(404, text=HTML))
    assert not site.collector().step()
    assert site.value("select state from sources") == "status"
    assert site.ids() == []


@pytest.mark.parametrize("restarted", [False, True])
def test_an_upgrade_in_the_middle_of_a_scan_is_followed(
    langfuse_rig_of: RequestRigOf, *, restarted: bool
) -> None:
    """v1 that turns into events_only is read on by v2; page numbers are not sent as cursors."""
    rows = project(30, every_s=100, end=T0 - 2000)
    server = FakeLangfuse(mode="old", version="3.100.0", most=4, **rows)
    rig = langfuse_rig_of(server)
    collector = rig.collector()
    for _ in range(3):
        assert collector.step()
    state = rig.state_file.load()
    assert state is not None
    assert any(scan.cursor is not None for scan in state.observations.open)
    server.mode, server.version = "events_only", "4.16.0"
    if restarted:
        collector = rig.collector()
    server.asked.clear()
    collector.step()
    rig.catch_up(collector)
    sent = [r for r in server.asked if path_of(r) in ("/v2/observations", "/v3/scores")]
    assert all(len(r.url.params.get("cursor", "x" * 20)) >= 20 for r in sent)
    assert len(rig.ids()) == 30
    assert len(rig.ids("scores")) == 30
    assert NEW in rig.value("select api from sources")


def test_a_list_that_goes_away_is_asked_for_anew(site: Rig, server: FakeLangfuse) -> None:
    """The step that meets the 404 tells it, the next one speaks the new generation."""
    server.mode = "legacy"
    collector = site.collector()
    site.catch_up(collector)
    server.mode = "events_only"
    site.clock.now += 20
    assert not collector.step()
    assert site.source_states()[-1] == "missing"
    site.clock.now += 20
    site.catch_up(collector)
    assert NEW in site.value("select api from sources")


def test_the_words_of_the_404_are_what_counts(server: FakeLangfuse, site: Rig) -> None:
    """A 404 of a list in words of our own making is not taken for a missing generation."""
    server.fault = only(
        "/v2/observations",
        lambda: httpx.Response(404, json={"message": EVENTS_ONLY.replace("events_only", "some")}),
    )
    with pytest.raises(SourceError) as caught:
        site.collector()._spoken()
    assert type(caught.value) is SourceStatus
