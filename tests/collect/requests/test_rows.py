"""Versions of one row: late, changed, moved, deleted, seen again, in any order."""

import itertools
import json
from typing import Any

import httpx
import pytest

from tests.collect.requests.conftest import RequestRigOf
from tests.collect.requests.fake_langfuse import FakeLangfuse, iso, observation, score
from tests.collect.requests.rig import T0, Rig, only, project

DAY = 86_400.0


def test_a_late_row_is_found_by_a_sweep(site: Rig, server: FakeLangfuse) -> None:
    """A row that arrives eleven minutes after its start is read, though no head scan shows it."""
    server.observations = project(4, every_s=60)["observations"]
    collector = site.collector()
    site.catch_up(collector)
    server.observations.append(observation(77, T0 - 60))
    site.pass_time(collector, 660)
    assert "obs-0077" in site.ids()


def test_a_changed_row_is_replaced_and_counted_once(site: Rig, server: FakeLangfuse) -> None:
    """The newest updatedAt wins; each change is one revision, reading again is none."""
    server.observations = [observation(1, T0 - 60)]
    collector = site.collector()
    site.catch_up(collector)
    for n, name in enumerate(("second", "third")):
        server.observations[0] |= {"name": name, "updatedAt": iso(T0 + n)}
        site.pass_time(collector, 160)
        site.pass_time(collector, 160)
    assert site.sql("select name, revisions from observations") == [("third", 2)]
    site.collector().collect_range(T0 - 100, T0)
    assert site.sql("select name, revisions from observations") == [("third", 2)]


def test_an_older_version_read_later_changes_nothing(site: Rig) -> None:
    """A stale page does not bring a former version back."""
    site.feed([observation(1, T0, name="new", updatedAt=iso(T0 + 9))])
    site.feed([observation(1, T0, name="old", updatedAt=iso(T0 + 3))])
    assert site.sql("select name, revisions from observations") == [("new", 0)]


def test_a_row_rewritten_without_a_change_is_no_revision(site: Rig) -> None:
    """Another updatedAt with the same content counts nothing."""
    site.feed([observation(1, T0, updatedAt=iso(T0 + 1))])
    site.feed([observation(1, T0, updatedAt=iso(T0 + 2))])
    ((updated, revisions),) = site.sql("select epoch(updated_at), revisions from observations")
    assert (updated, revisions) == (T0 + 2, 0)


STARTS = (T0, T0 + 1, T0 + 300)
FAR = (T0, T0 - 40 * DAY, T0 + 3 * DAY)


@pytest.mark.parametrize("starts", [STARTS, FAR], ids=["near", "days apart"])
@pytest.mark.parametrize("updated", [(1, 2, 3), (3, 1, 2), (5, 5, 5)])
def test_one_id_with_three_starts_is_one_row(
    langfuse_rig_of: RequestRigOf, starts: tuple[float, ...], updated: tuple[int, ...]
) -> None:
    """In one batch or in several, in any order: one row, the newest, with both ends of time."""
    rows = [
        observation(1, start, name=f"at {start}", updatedAt=iso(T0 + 5 * DAY + at))
        for start, at in zip(starts, updated, strict=True)
    ]
    newest = max(rows, key=lambda row: (row["updatedAt"], row["startTime"]))["name"]
    orders = [*itertools.permutations(rows)][::2]
    batches = [[[row] for row in order] for order in orders] + [[list(orders[0])]]
    for batch in batches:
        rig = langfuse_rig_of(FakeLangfuse())
        for part in batch:
            rig.feed(part)
        told = rig.sql(
            "select name, epoch(start_at), epoch(first_start_at), epoch(last_start_at) "
            "from observations"
        )
        assert told == [(newest, float(newest[3:]), min(starts), max(starts))]
        rig.close()


def test_made_up_roots_are_no_requests_and_no_turns(site: Rig) -> None:
    """The root `t-<trace>` that Langfuse makes up is kept as a row, and counted nowhere."""
    root = observation(1, T0, id="t-trace-0000", endTime=None, type="SPAN")
    impostor = observation(2, T0, id="t-other", traceId="trace-0000")
    site.feed([root, observation(0, T0 + 5), impostor])
    assert site.sql("select observation_id from requests order by 1") == [
        ("obs-0000",),
        ("t-other",),
    ]
    assert site.sql("select epoch(start_at), observations from turns") == [(T0, 2)]
    assert site.value("select count(*) from observations where synthetic_root") == 1


# --- scores ---------------------------------------------------------------------------


def test_a_deleted_score_is_marked_by_the_next_whole_sweep(site: Rig, server: FakeLangfuse) -> None:
    """Gone from its page: marked; back again: revived; head scans decide nothing."""
    server.scores = [score(n, T0 - 20 - n) for n in range(4)]
    collector = site.collector()
    site.catch_up(collector)
    gone = server.scores.pop(2)
    site.pass_time(collector, 11)
    assert site.deleted() == []
    site.pass_time(collector, 160)
    assert site.deleted() == ["score-0002"]
    server.scores.append(gone)
    site.pass_time(collector, 160)
    assert site.deleted() == []


def test_a_sweep_with_a_failure_deletes_nothing(
    langfuse_rig_of: RequestRigOf, server: FakeLangfuse
) -> None:
    """While a page of the sweep fails nothing is marked, whatever was not seen so far."""
    server.scores = [score(n, T0 - 200 - n) for n in range(9)]
    server.most = 3
    rig = langfuse_rig_of(server)
    collector = rig.collector()
    rig.catch_up(collector)
    server.scores = server.scores[:7]

    def second_page(request: httpx.Request) -> httpx.Response | None:
        paged = request.url.path.endswith("/v3/scores") and "cursor" in request.url.params
        return httpx.Response(500, json={"message": "no"}) if paged else None

    server.fault = second_page
    for _ in range(5):
        rig.clock.now += 160
        collector.step()
    assert rig.deleted() == []
    server.fault = None
    rig.pass_time(collector, 160)
    assert rig.deleted() == ["score-0007", "score-0008"]


def test_a_partial_scan_deletes_nothing(langfuse_rig_of: RequestRigOf) -> None:
    """A sweep killed between two pages marks nothing; the one that ends does."""
    server = FakeLangfuse(scores=[score(n, T0 - 200 - n) for n in range(9)], most=3)
    rig = langfuse_rig_of(server)
    rig.catch_up()
    server.scores = server.scores[:8]
    rig.clock.now += 160
    assert rig.collector().step()
    assert rig.deleted() == []
    rig.catch_up()
    assert rig.deleted() == ["score-0008"]


@pytest.mark.parametrize("fraction", [0.0002, 0.0005, 0.0009])
def test_a_score_on_the_seam_of_two_slices_is_not_deleted(
    langfuse_rig_of: RequestRigOf, fraction: float
) -> None:
    """Scans ask in whole milliseconds, and mark no score of the part they did not ask for."""
    server = FakeLangfuse(scores=[score(n, T0 - 7300 + n * 0.001 + 0.0001) for n in range(3)])
    rig = langfuse_rig_of(server)
    collector = rig.collector()
    rig.catch_up(collector)
    seam = T0 - 7300 + 0.001 + fraction
    for start, end in ((seam, T0), (T0 - 9000, seam), (seam, T0)):
        rig.clock.now += 50
        collector.collect_range(start, end)
        assert rig.deleted() == []
    rig.clock.now += 50
    server.scores = []
    collector.collect_range(T0 - 9000, seam)
    assert rig.deleted() == ["score-0000"]


def test_a_whole_reading_that_finds_nothing_marks_everything_of_its_time(
    site: Rig, server: FakeLangfuse
) -> None:
    """Reading one period again marks what is gone in it, and nothing outside."""
    server.scores = [score(1, T0 - 4000), score(2, T0 - 8000)]
    collector = site.collector()
    site.catch_up(collector)
    server.scores = []
    site.clock.now += 60
    collector.collect_range(T0 - 5000, T0 - 3000)
    assert site.deleted() == ["score-0001"]


def test_an_updated_score_is_replaced(site: Rig, server: FakeLangfuse) -> None:
    """A score written again has its new value, and one revision."""
    server.scores = [score(1, T0 - 40)]
    collector = site.collector()
    site.catch_up(collector)
    server.scores[0] |= {"value": 0.9, "updatedAt": iso(T0)}
    site.pass_time(collector, 160)
    site.pass_time(collector, 160)
    assert site.sql("select value, revisions from scores") == [(0.9, 1)]


def test_a_failing_list_of_scores_deletes_none(site: Rig, server: FakeLangfuse) -> None:
    """A list that does not answer is not an empty list."""
    server.scores = [score(1, T0 - 40)]
    collector = site.collector()
    site.catch_up(collector)
    server.fault = only("/v3/scores", lambda: httpx.Response(503, json={"message": "down"}))
    for _ in range(4):
        site.clock.now += 200
        collector.step()
    assert site.deleted() == []


# --- rows of any shape ----------------------------------------------------------------

COLUMNS = [
    "id",
    "traceId",
    "startTime",
    "endTime",
    "type",
    "updatedAt",
    "createdAt",
    "completionStartTime",
    "projectId",
    "parentObservationId",
    "name",
    "level",
    "statusMessage",
    "environment",
    "model",
    "providedModelName",
    "sessionId",
    "promptName",
    "promptVersion",
    "tags",
    "metadata",
    "modelParameters",
    "usageDetails",
]
SCORE_COLUMNS = [
    "id",
    "name",
    "timestamp",
    "dataType",
    "value",
    "stringValue",
    "source",
    "environment",
    "createdAt",
    "updatedAt",
    "configId",
    "metadata",
    "subject",
    "traceId",
    "observationId",
    "sessionId",
]
DEEP = "[" * 3000 + "]" * 3000
WRONG = (
    "null",
    "true",
    "7",
    "-1",
    "1e308",
    "123456789012345678901234567890",
    "0.5",
    '""',
    '"x"',
    '"NaN"',
    '"inf"',
    '"\\u0000"',
    '"\\ud800"',
    '"2026-01-01"',
    '"2026-01-01T00:00:00"',
    '"2026-01-01T00:00:00.123456789Z"',
    '"9999-12-31T23:59:59Z"',
    '"0001-01-01T00:00:00+14:00"',
    '"9999-12-31T23:59:59-12:00"',
    "[]",
    "[1]",
    '["x", null, {"a": 1}]',
    "{}",
    '{"a": {"b": []}}',
    '{"input": -1}',
    '{"input": 1e300}',
    '{"input": "x"}',
    '{"input": true}',
    '{"n": 1e30}',
    '{"input": 99999999999999999999, "total": 18446744073709551616}',
    '{"n": 9223372036854775808}',
    '{"repeat": "inf", "evaluator_version": [], "status": {}}',
    '{"repeat": 1e300}',
    '{"repeat": "NaN"}',
    '{"arm": "{[1]: 2}"}',
    '{"arm": "{{}}"}',
    '{"arm": "' + "[" * 9000 + '"}',
    '{"attributes": {"attributes": {"attributes": {}}}}',
    '{"scope": 3, "arm": ["A"]}',
    '{"kind": "trace"}',
    '{"kind": "nothing", "id": "1"}',
    '{"kind": 3}',
    '{"arm": ' + DEEP + "}",
    '"' + "x" * 100_000 + '"',
    '"\'; drop table scores; --"',
)


@pytest.mark.parametrize(
    ("kind", "column"),
    [("observations", column) for column in COLUMNS] + [("scores", name) for name in SCORE_COLUMNS],
)
def test_any_value_in_any_column_is_a_row_or_a_violation(site: Rig, kind: str, column: str) -> None:
    """Nothing a column may hold stops the collector or the cache; a good row beside it is kept."""
    make, key = (observation, "observations") if kind == "observations" else (score, "scores")
    rows: list[Any] = [make(0, T0)]
    for n, value in enumerate(WRONG, start=1):
        good = {k: v for k, v in make(n, T0 - n).items() if k != column}
        rows.append(json.dumps(good)[:-1].encode() + f', "{column}": {value}}}'.encode())
        rows.append(good)
    before = len(rows)
    site.feed(**{key: rows})
    kept = set(site.ids(key))
    broken = site.sql("select record_id, rule, raw_value from violations")
    named = {record for record, _, _ in broken}
    made = {str(make(n, T0)["id"]) for n in range(1 + len(WRONG))}
    if column != "id":
        assert made <= kept | named
    assert str(rows[0]["id"]) in kept
    assert before == 1 + 2 * len(WRONG)
    assert all(len(raw or "") <= 200 for _, _, raw in broken)
    site.sql(f"select * from {key}")  # noqa: S608 - every time can be shown


@pytest.mark.parametrize("column", ["id", "traceId", "startTime", "type"])
def test_a_row_without_what_names_it_is_a_violation(site: Rig, column: str) -> None:
    """An id, a trace, a start or a type that is missing loses one row, with its name."""
    row = observation(1, T0)
    del row[column]
    site.feed([row, observation(2, T0)])
    assert site.ids() == ["obs-0002"]
    ((rule, record),) = site.sql("select rule, record_id from violations")
    assert rule == ("no_trace" if column == "traceId" else "unreadable_row")
    assert record == (None if column == "id" else "obs-0001")


def test_duplicate_ids_in_a_page_are_one_row(site: Rig) -> None:
    """The same row twice in one page is one row."""
    site.feed([observation(1, T0)] * 3, [score(1, T0)] * 3)
    assert site.ids() == ["obs-0001"]
    assert site.ids("scores") == ["score-0001"]


def test_one_span_id_in_two_traces_is_two_rows(site: Rig) -> None:
    """Span ids are unique within a trace only."""
    site.feed([observation(1, T0), observation(1, T0, traceId="another")])
    assert len(site.ids()) == 2


def test_ten_megabytes_of_metadata_are_passed_over(site: Rig, server: FakeLangfuse) -> None:
    """A huge value costs no row, and is not kept."""
    huge = observation(1, T0 - 60)
    huge["metadata"] = huge["metadata"] | {"blob": "y" * 10_000_000, "arm": "z" * 10_000_000}
    server.observations = [huge, observation(2, T0 - 61)]
    site.catch_up()
    assert site.sql("select observation_id, arm from observations order by 1") == [
        ("obs-0001", None),
        ("obs-0002", "A"),
    ]
    files = sum(path.stat().st_size for path in site.settings.home.rglob("*.*") if path.is_file())
    assert files < 20_000_000


def test_hostile_names_are_only_text(site: Rig) -> None:
    """Quotes, markup, emoji and line breaks come out of the cache as they went in."""
    hostile = [
        "'; drop table observations; --",
        "<script>alert(1)</script>",
        "\u202eabc",
        "a\nb",
        "🙂" * 40,
        "$1",
        "%s",
        "\\",
        '"',
        "𝔘𝔫𝔦",
    ]
    rows = [
        observation(
            n, T0, id=text, traceId=text, sessionId=text, name=text, model=text, environment=text
        )
        for n, text in enumerate(hostile)
    ]
    site.feed(rows, [score(n, T0, id=text, name=text) for n, text in enumerate(hostile)])
    told = site.sql("select observation_id, trace_id, session_id, name, model from observations")
    assert sorted(told) == sorted((text,) * 5 for text in hostile)
    assert sorted(site.ids("scores")) == sorted(hostile)
    assert site.value("select count(*) from turns") == len(hostile)


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        ({"type": "CHAIN"}, "none"),
        ({"type": "SOMETHING_NEW"}, "none"),
        ({"level": "FATAL"}, "measured"),
        ({"environment": ""}, "measured"),
    ],
)
def test_unknown_words_are_kept_as_they_are(site: Rig, row: dict[str, Any], kept: str) -> None:
    """A type or level of a later server is no violation."""
    site.feed([observation(1, T0) | row])
    assert site.value("select usage_status from observations") == kept
    assert site.value("select count(*) from violations") == 0


def test_nanoseconds_are_cut_to_microseconds(site: Rig) -> None:
    """A time with nine digits is a time."""
    site.feed([observation(1, T0, startTime="2026-01-01T00:00:00.123456789Z")])
    ((at,),) = site.sql("select epoch_us(start_at) from observations")
    assert at % 1_000_000 in (123456, 123457)
