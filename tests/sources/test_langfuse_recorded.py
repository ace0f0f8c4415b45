"""Every recorded answer of a real server, replayed: pages, scans, refusals."""

import json
import logging

import httpx
import pytest

from core.errors import (
    SourceContract,
    SourceError,
    SourceLimited,
    SourceMissing,
    SourceStatus,
)
from core.sources.langfuse import OBSERVATIONS_V1, OBSERVATIONS_V2, SCORES_V3, Feed
from tests.recorded_langfuse import (
    GATEWAY,
    LANGFUSE,
    LISTS,
    PUBLIC,
    SECRET,
    Recording,
    Replay,
    recorded,
    source_of,
)

ALL = [*LANGFUSE, *GATEWAY]
PAGES = [one for one in ALL if one.status == 200 and one.path in LISTS]
REFUSED = [one for one in ALL if one.status != 200]
HEALTH = [one for one in ALL if one.status == 200 and one.path == "/api/public/health"]
STEPS = {
    400: "log of the Langfuse server",
    401: "PREFIXWATCH_LANGFUSE_PUBLIC_KEY",
    403: "keys of the project",
    404: "PREFIXWATCH_LANGFUSE_URL",
    405: "log of the Langfuse server",
    422: "smaller slice",
    429: "waits as long as the server says",
    500: "log of the Langfuse server",
    503: "tries again by itself",
}


def name_of(one: object) -> str:
    return one.name if isinstance(one, Recording) else str(one)


def test_the_recordings_are_whole() -> None:
    """A file that is lost from the recordings fails the suite instead of shrinking it."""
    assert len(LANGFUSE) == 315
    assert len(GATEWAY) == 11
    assert len(PAGES) == 189
    assert len(REFUSED) == 101
    assert {one.status for one in REFUSED} == set(STEPS)


@pytest.mark.parametrize("one", PAGES, ids=name_of)
def test_a_recorded_page_is_read_whole(one: Recording) -> None:
    """Every row of every page comes out, in order, and the next cursor is the server's."""
    page = source_of(Replay([one])).page(one.feed, None, cursor=one.cursor)
    assert [json.loads(bytes(row)) for row in page.rows] == one.rows
    meta = one.body["meta"]
    if one.feed.by_cursor:
        assert page.after == meta.get("cursor")
    else:
        assert (page.after is None) == (meta["page"] >= meta["totalPages"])
    assert (page.deprecation is not None) == ("_deprecation" in one.body)


@pytest.mark.parametrize("one", REFUSED, ids=name_of)
def test_a_recorded_refusal_is_a_named_error(
    one: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    """Status, the server's own words, what to do next; neither key is repeated."""
    caplog.set_level(logging.DEBUG)
    source = source_of(Replay([one]))
    with pytest.raises(SourceError) as caught:
        source._get(one.path, one.params)
    error = caught.value
    assert isinstance(error, SourceStatus)
    assert error.status == one.status
    words = one.body.get("message", "")
    assert " ".join(words.split())[:100] in error.detail
    assert error.title
    missing = one.status == 404 and "v4" in words
    assert type(error) is (
        SourceMissing if missing else SourceLimited if one.status == 429 else SourceStatus
    )
    assert ("generation" if missing else STEPS[one.status]) in error.next_step
    told = f"{error!r} {error} {error.next_step} {error.__cause__!r} {caplog.text}"
    assert PUBLIC not in told
    assert SECRET not in told


@pytest.mark.parametrize("one", HEALTH, ids=name_of)
def test_the_version_is_read(one: Recording) -> None:
    """The health call gives the version, also while a database is down."""
    assert source_of(_Any(one)).version() == one.body["version"] == "4.16.0"


class _Any(Replay):
    """Answers one recording whatever is asked: the health call sends no parameters."""

    def __init__(self, one: Recording) -> None:
        super().__init__([one])

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        (one,) = self.known
        assert request.url.path == one.path
        return one.answer()


@pytest.mark.parametrize("mode", ["dual", "events_only"])
def test_the_project_is_named(mode: str) -> None:
    """The keys open one project, whose id and name are told."""
    source = source_of(Replay([recorded(f"{mode}/projects")]))
    assert source.project()[0] == {"dual": "proj-dual", "events_only": "proj-events"}[mode]


def test_one_observation_by_id() -> None:
    """v1 gives one record by its path; an unknown one is a 404, not a missing list."""
    found, lost = (
        recorded("dual/v1_observation_by_id"),
        recorded("dual/err_404_v1_observation_by_id"),
    )
    source = source_of(Replay([found, lost]))
    assert json.loads(source.one(found.path)) == found.body
    with pytest.raises(SourceStatus) as caught:
        source.one(lost.path)
    assert type(caught.value) is SourceStatus


@pytest.mark.parametrize(
    ("mode", "start", "pages", "rows", "ids"),
    [
        ("dual", "v2_observations_bulk_page", 6, 120, 120),
        ("events_only", "v2_observations_bulk_page", 6, 120, 120),
        ("dual", "v2_observations_ties_page", 6, 40, 40),
        ("events_only", "v2_observations_ties_page", 6, 40, 40),
        ("dual", "v3_scores_scan_page", 3, None, None),
        ("events_only", "v3_scores_scan_page", 3, None, None),
    ],
)
def test_a_recorded_scan_is_followed_to_its_end(
    mode: str, start: str, pages: int, rows: int | None, ids: int | None
) -> None:
    """Each page leads to the next by its cursor, none is asked twice, no row is lost."""
    files = [recorded(f"{mode}/{start}{n}") for n in range(1, pages + 1)]
    replay = Replay(files)
    source, cursor, found = source_of(replay), None, []
    while True:
        page = source.page(files[0].feed, None, cursor=cursor)
        found += [json.loads(bytes(row))["id"] for row in page.rows]
        if page.after is None:
            break
        cursor = page.after
    assert len(replay.asked) == pages
    expected = [row["id"] for one in files for row in one.rows]
    assert found == expected
    assert len(set(found)) == len(found)
    assert rows is None or (len(found), len(set(found))) == (rows, ids)


@pytest.mark.parametrize("feed", [OBSERVATIONS_V2, SCORES_V3], ids=lambda feed: feed.key)
def test_texts_are_never_asked_for(feed: Feed) -> None:
    """The field groups of what is read hold neither texts nor comments' authors."""
    groups = set(feed.params["fields"].split(","))
    assert "io" not in groups
    assert "annotation" not in groups


def test_a_deprecation_is_passed_on() -> None:
    """The cloud's announcement comes with its words and its date."""
    one = recorded("cloud_flag/cloudlike_v1_observations")
    page = source_of(Replay([one])).page(one.feed, None)
    told = one.body["_deprecation"]
    assert page.deprecation == f"{told['message']} ({told['sunsetAt']})"


def test_a_recorded_limit_says_how_long() -> None:
    """The 429 of the cloud carries its Retry-After."""
    one = recorded("cloud_flag/cloudlike_429_v3_scores")
    with pytest.raises(SourceLimited) as caught:
        source_of(Replay([one])).page(one.feed, None)
    assert caught.value.retry_after_s == 56.0


def test_v1_pages_say_their_number() -> None:
    """A page that is not the one asked for, as of a cache in between, is no page."""
    one = recorded("dual/v1_observations_page1")
    with pytest.raises(SourceContract, match="instead of page 3"):
        source_of(_Any(one)).page(OBSERVATIONS_V1, None, cursor="3")
