"""The review of a period and of an experiment: what is in it, in every state."""

import csv
import io
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from core import format as fmt
from core.cache.store import Store
from core.config import Settings
from core.domain.experiments.decision import Decision
from core.domain.experiments.plan import DataType
from core.domain.quality import Estimand
from core.domain.reading import Coverage, Reading
from core.domain.scope import Compare, Scope, from_query
from core.experiments import decide, record_look
from core.messages import say
from core.report import cells
from core.report.about import LIMITS
from core.report.document import Cell, Document, Intervals, Kind, Lines, Table, Tone
from core.report.html import html
from core.report.make import Format, document_of, review_document, written
from core.views import live
from core.views import review_period as periods
from core.views.fleet import query_params
from core.views.review import ReviewQuestion, build, review_scope
from tests.domain.experiments.plans import START, plan
from tests.pages.homes import T0, WRITTEN, Filled, WrittenEngine, put
from tests.queries.test_experiment_view import ONE_LOOK, sides
from tests.queries.written_experiments import NAME, Trial, lever
from tests.report.written import FORMULA, HOSTILE, PERIOD, Seen, hostile_tables, opened

END = START + 15 * 86_400.0


def table_of(document: Document, key: str) -> Table:
    return next(one for one in document.tables if one.key == key)


def row_of(document: Document, key: str, name: str) -> tuple[Cell, ...]:
    return next(row for row in table_of(document, key).rows if row[0].text == name)


def warned(document: Document) -> str:
    lines = [b for b in document.blocks if isinstance(b, Lines) and b.tone is not Tone.PLAIN]
    return "\n".join(line for block in lines for line in block.items)


@pytest.fixture(scope="module")
def demo(filled: Filled, tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Settings, Scope]:
    """The filled demo and a period that holds its story's second half."""
    folder = filled.copy_to(tmp_path_factory.mktemp("review") / "data")
    settings = Settings(prometheus_url=None, data_dir=folder, collector=False)
    scope = from_query(filled.window(300, 360))[0]
    return Store(settings.home / "cache.duckdb"), settings, replace(scope, compare=Compare.PREVIOUS)


@pytest.fixture(scope="module")
def demo_review(demo: tuple[Store, Settings, Scope]) -> Document:
    store, settings, scope = demo
    return document_of(store, settings, scope, experiment=None, now=time.time())


def test_a_review_holds_every_part(demo_review: Document) -> None:
    """Changes, efficiency, quality, decisions, coverage, violations, sources, tables, limits."""
    keys = [one.key for one in demo_review.tables]
    assert keys[:9] == [
        *("changes", "efficiency", "quality", "decisions", "looks", "plans"),
        *("coverage", "violations", "sources"),
    ]
    assert keys[-1] == "revisions"
    assert {"cached_ratio_1", "idle_gap_1", "preempt_window_1"} <= set(keys)
    said = Seen(html(demo_review)).text
    assert all(say(f"limit.{one}") in said for one in LIMITS)
    assert [label for label, _ in demo_review.about][:4] == [
        say("review.as_of_engines"),
        say("review.as_of_requests"),
        say("review.period"),
        say("scope.compare"),
    ]


def test_strata_have_all_five_rows_and_versions_stay_apart(demo_review: Document) -> None:
    """The unknown stratum has its row, and two versions of an evaluator are two scores."""
    rows = [row[0].text for row in table_of(demo_review, "cached_ratio_1").rows]
    names = ("0", "(0,0.5]", "(0.5,0.9]", "(0.9,1]", "unknown")
    assert rows[:5] == [say(f"group.cached_ratio.{name}") for name in names]
    scores = [row[0].text for row in table_of(demo_review, "quality").rows]
    assert len(scores) == len(set(scores))
    assert any(isinstance(block, Intervals) for block in demo_review.blocks)


def test_the_figures_are_those_of_the_pages(
    demo: tuple[Store, Settings, Scope], demo_review: Document
) -> None:
    """Hit ratio, TTFT and preemptions are the readings that the Live page shows."""
    store, _, scope = demo
    page = live.build(store, scope, time.time())
    for metric, name in (
        ("engine_hit_ratio", "Engine hit ratio"),
        ("gateway_cached_share", "Gateway cached share"),
        ("ttft_p95", "TTFT p95"),
        ("preemptions", "Preemptions"),
        ("kv_usage_max", "KV usage, maximum"),
    ):
        shown = row_of(demo_review, "efficiency", name)[1]
        assert shown.text == fmt.reading(page.reading(metric))


def test_the_request_rate_is_per_minute(
    demo: tuple[Store, Settings, Scope], demo_review: Document
) -> None:
    """Engines' completed requests per minute are their count over the minutes of the period."""
    store, _, scope = demo
    params = query_params(scope, scope.window(time.time()))
    found = store.read("completed_requests", params)[0]
    shown = row_of(demo_review, "efficiency", "Completed requests per minute")[1]
    assert shown.exact == pytest.approx(found.requests / (found.observed_s / 60))
    assert found.observed_s == pytest.approx(3600, rel=0.1)
    assert shown.text.endswith(" requests/min")


def test_the_same_cache_gives_the_same_bytes(
    demo: tuple[Store, Settings, Scope], demo_review: Document
) -> None:
    """Two runs at different times differ by their time stamp and by nothing else."""
    store, settings, scope = demo
    one = demo_review
    two = document_of(store, settings, scope, experiment=None, now=time.time() + 30)
    assert one.made != two.made
    assert replace(two, made=one.made) == one
    for form in Format:
        assert written(replace(two, made=one.made), form) == written(one, form)


def test_an_empty_cache_is_a_review_of_unknowns(real: Path, settings: Settings) -> None:
    """Without a row: no number, no 0 among the figures, and what to connect."""
    store = opened(real)
    document = document_of(store, settings, PERIOD, experiment=None, now=T0 + 900.0)
    store.close()
    for row in table_of(document, "efficiency").rows:
        assert {cell.kind for cell in row[1:]} == {Kind.UNKNOWN}
        assert all(cell.exact is None for cell in row)
    for row in table_of(document, "coverage").rows:
        assert {cell.kind for cell in row[1:]} == {Kind.UNKNOWN}
    assert say("health.connect_langfuse") in warned(document)
    assert "no engine was seen" in warned(document)
    assert table_of(document, "quality").empty == say("why.gateway")
    assert not table_of(document, "quality").rows


def test_a_period_before_that_nobody_saw_is_unknown(real: Path, settings: Settings) -> None:
    """The number of now stands; before and the change are unknown with their reason, not 0."""
    put(real, WrittenEngine.sound("a").tables)
    store = opened(real)
    document = document_of(store, settings, PERIOD, experiment=None, now=T0 + 900.0)
    store.close()
    _, now, before, change, *_ = row_of(document, "efficiency", "Engine hit ratio")
    assert (now.text, now.exact) == ("50.0 %", 0.5)
    assert before == Cell(say("reason.too_few_scrapes"), Kind.UNKNOWN)
    assert change == Cell(say("review.no_change"), Kind.UNKNOWN)


def test_a_failing_source_stands_above_everything(real: Path, settings: Settings) -> None:
    """The first block says which source fails, with what it said and what to do."""
    put(real, hostile_tables())
    store = opened(real)
    document = document_of(store, settings, PERIOD, experiment=None, now=T0 + 900.0)
    store.close()
    first = document.blocks[0]
    assert isinstance(first, Lines)
    assert first.tone is Tone.BAD
    assert first.items[0].startswith(f"{say('source.prometheus')} is failing")
    assert HOSTILE in first.items[0]
    states = {row[0].text: row[1] for row in table_of(document, "sources").rows}
    assert states[say("source.prometheus")].kind is Kind.BAD
    assert HOSTILE in warned(document)
    seen = Seen(html(document))
    assert not {"script", "img", "a", "b"} & seen.tags
    assert not {"onerror", "href", "src"} & seen.attributes
    assert seen.text.count(HOSTILE) > 10
    assert FORMULA in seen.text


def test_totals_of_periods_seen_in_part_have_no_change(real: Path, settings: Settings) -> None:
    """A total of less time is no smaller total; ratios are compared all the same."""
    whole, half = (Coverage(seconds, 600.0, 1, 1, 40) for seconds in (600.0, 300.0))
    rows = [
        periods._row(Reading(m, 4.0, coverage=whole), Reading(m, 2.0, coverage=half), cut=False)
        for m in ("preemptions", "kv_usage_max")
    ]
    assert [(row.unlike, row.change) for row in rows] == [(True, None), (False, 2.0)]
    cut = periods._row(*[Reading("preemptions", 4.0, coverage=whole)] * 2, cut=True)
    assert (cut.unlike, cut.change) == (True, None)


def test_a_review_always_compares() -> None:
    """A scope without a comparison gets the period before; a question of its own comes first."""
    assert review_scope(Scope(), ReviewQuestion()).compare is Compare.PREVIOUS
    assert review_scope(Scope(compare=Compare.DAY), ReviewQuestion()).compare is Compare.DAY
    asked = ReviewQuestion(range="7d", compare=Compare.WEEK)
    assert review_scope(from_query(WRITTEN)[0], asked) == Scope(range="7d", compare=Compare.WEEK)


@pytest.fixture
def trial(real: Path) -> Trial:
    """A cache with an experiment whose last look is inconclusive, decided past the gate."""
    trial = Trial(real)
    sound = plan(**ONE_LOOK, title=HOSTILE, restore_procedure=FORMULA, margin=0.02)
    trial.registered(sound).arms(*sides(93, 95))
    trial.put(lever(START + 60, "prompt_order", 1, what=FORMULA, by_whom=HOSTILE))
    view = trial.looked(END)
    assert view.verdict == "inconclusive"
    decide(
        trial.inbox,
        Decision.PROMOTE,
        version=view.version,
        look=view.last_look,
        by_whom="Jun",
        reason=f"agreed {HOSTILE}",
        at=END + 60,
    )
    trial.merge()
    return trial


def test_an_experiment_is_reviewed_whole(trial: Trial, settings: Settings) -> None:
    """Verdict, gate with margin, looks, override with its reason, plan and restore procedure."""
    document = document_of(trial.store, settings, Scope(), experiment=NAME, now=END + 120)
    trial.store.close()
    said = Seen(html(document)).text
    assert say("review.verdict_is", verdict=say("outcome.inconclusive")) in said
    gate = next(block for block in document.blocks if isinstance(block, Intervals))
    assert [mark.at for mark in gate.marks] == [-0.02, 0.0]
    (look,) = table_of(document, "looks").rows
    assert look[3].text == say("outcome.inconclusive")
    (decision,) = table_of(document, "decisions").rows
    assert decision[4] == Cell(say("decisions.overrides"), Kind.BAD)
    assert decision[5].text == f"agreed {HOSTILE}"
    assert say("review.overrides", names=NAME) in warned(document)
    parts = {row[0].text: row[1].text for row in table_of(document, "plan").rows}
    assert parts[say("plan.restore_procedure")] == FORMULA
    assert parts[say("plan.previous_settings")] == "template v1"
    assert say("plan.rollback_rules") in parts
    assert say("cannot_exclude.shared_engines") in said
    hashes = [value for _, value in document.about if len(value) == 64]
    assert hashes == [plan(**ONE_LOOK, title=HOSTILE, restore_procedure=FORMULA).plan_hash]
    assert not {"script", "img", "a", "b"} & Seen(html(document)).tags


def test_files_of_an_experiment_carry_verdict_and_rules(real: Path, settings: Settings) -> None:
    """Every format has the verdict and the state of each rule, the archive as rows with numbers."""
    met, text = "gateway cached share, difference, below -5 pp", f"reports {FORMULA}"
    base, new = sides(60, 95)
    trial = Trial(real)
    trial.registered(plan(**ONE_LOOK, margin=0.06, stop_rules=(met,), rollback_rules=(text,)))
    trial.arms(base, replace(new, more={"cached_input": 700}))
    trial.seen(END)
    document = document_of(trial.store, settings, Scope(), experiment=NAME, now=END + 120)
    trial.store.close()
    assert met in warned(document)
    assert plan().restore_procedure in warned(document)
    for words in (Seen(html(document)).text, written(document, Format.MARKDOWN).data.decode()):
        for state in ("met", "person"):
            assert say(f"rule_state.{state}") in words
    archive = zipfile.ZipFile(io.BytesIO(written(document, Format.CSV).data))
    about = list(csv.reader(io.StringIO(archive.read("about.csv").decode())))
    assert [say("review.verdict"), say("outcome.regression")] in about
    (first, second) = csv.DictReader(io.StringIO(archive.read("rules.csv").decode()))
    state, seen = say("plan_rules.state"), say("plan_rules.seen")
    assert (first[state], second[state]) == (say("rule_state.met"), say("rule_state.person"))
    assert float(first[say("review.exact", column=seen)]) == pytest.approx(-10.0)
    assert say("plan_rules.both", base="500 of 500 requests", new="500 of 500 requests") in (
        first.values()
    )


def test_a_period_lists_what_was_planned_and_decided_in_it(
    trial: Trial, settings: Settings
) -> None:
    """Plan, look and decision of the period are there, an override by name; no others are."""
    inside = Scope(start=int(END) - 3600, end=int(END) + 3600)
    found = document_of(trial.store, settings, inside, experiment=None, now=END + 7200)
    (decision,) = table_of(found, "decisions").rows
    assert [cell.text for cell in decision[1:5]] == [
        NAME,
        say("decision.promote"),
        say("outcome.inconclusive"),
        say("review.is_override"),
    ]
    assert say("review.overrides", names=NAME) in warned(found)
    assert len(table_of(found, "looks").rows) == 1
    assert not table_of(found, "plans").rows
    early = Scope(start=START - 7200, end=START)
    found = document_of(trial.store, settings, early, experiment=None, now=END + 7200)
    trial.store.close()
    (planned,) = table_of(found, "plans").rows
    assert planned[3].text == HOSTILE
    assert not table_of(found, "decisions").rows


def test_a_plan_after_its_data_is_marked(real: Path, settings: Settings) -> None:
    """Registered late and edited: both are said above the verdict, and both versions are listed."""
    trial = Trial(real).arms(*sides())
    trial.registered(plan(**ONE_LOOK), when=START + 86_400)
    trial.registered(plan(**ONE_LOOK, margin=0.5), when=START + 2 * 86_400)
    trial.looked(END)
    document = document_of(trial.store, settings, Scope(), experiment=NAME, now=END + 60)
    weeks = Scope(start=START, end=int(END) + 60)
    period = document_of(trial.store, settings, weeks, experiment=None, now=END + 60)
    trial.store.close()
    late = say("marks.after_data", arms=f"{say('of.new')}, {say('of.base')}")
    for found, key in ((document, "versions"), (period, "plans")):
        first, second = (" ".join(c.text for c in row) for row in table_of(found, key).rows)
        assert late in first
        assert say("marks.edited") not in first
        assert late in second
        assert say("marks.edited") in second
        for form in Format:
            data = written(found, form).data
            if form is Format.CSV:
                data = zipfile.ZipFile(io.BytesIO(data)).read(f"{key}.csv")
            assert late.encode() in data.replace(b"\\", b"")
        (look,) = table_of(found, "looks").rows
        against = say("experiments.against", value=cells.moment(START + 2 * 86_400),
                      limit=cells.moment(START + 600))  # fmt: skip
        assert any(against in cell.text for cell in look)
    assert say("marks.after_data_long") in warned(document)
    assert say("marks.edited_long", n=2) in warned(document)
    assert [row[0].text for row in table_of(document, "versions").rows] == ["1", "2"]


def test_an_experiment_that_is_not_there_has_no_document(real: Path) -> None:
    """The view says so; nothing is made up in its place."""
    store = opened(real)
    view = build(store, Scope(), T0, ReviewQuestion(experiment="nope"))
    store.close()
    assert (view.period, view.experiment) == (None, None)
    assert review_document(view, made_at=T0) is None


def test_a_look_has_the_unit_of_its_own_plan(real: Path, settings: Settings) -> None:
    """Of a mean, planned before the period, the difference is a score and not points of a rate."""
    trial = Trial(real)
    numeric = plan().primary.model_copy(update={"data_type": DataType.NUMERIC})
    trial.registered(plan(**ONE_LOOK, estimand=Estimand.MEAN, primary=numeric))
    look = trial.seen(END).look("Jun").model_copy(update={"estimate": -0.125})
    record_look(trial.inbox, look, at=END)
    trial.merge()
    inside = Scope(start=int(END) - 3600, end=int(END) + 3600)
    found = document_of(trial.store, settings, inside, experiment=None, now=END + 7200)
    trial.registered(plan(**ONE_LOOK), when=END + 60)
    one = document_of(trial.store, settings, Scope(), experiment=NAME, now=END + 7200)
    trial.store.close()
    assert not table_of(found, "plans").rows
    for document in (found, one):
        (row,) = table_of(document, "looks").rows
        assert row[4] == Cell(fmt.points(-0.125, None, ratio=False), exact=-0.125)


def test_engines_that_took_turns_make_one_rate(real: Path) -> None:
    """One engine after the other in an hour: by minutes and by hours the seconds are the same."""
    counted = {"prompt_tokens": 6.0}
    first, then = (WrittenEngine(pod, per_minute=counted).tables for pod in ("a", "b"))
    for series in (*first["series"], *then["series"]):
        series["instrument"] = "request_prompt_tokens_count"
    moments = sorted({cell["minute"] for cell in first["counter_cells"]})
    half = moments[len(moments) // 2]
    first["counter_cells"] = [one for one in first["counter_cells"] if one["minute"] < half]
    then["counter_cells"] = [one for one in then["counter_cells"] if one["minute"] >= half]
    put(real, first)
    put(real, then)
    store = opened(real)
    day = Scope(start=T0 // 86_400 * 86_400, end=(T0 // 86_400 + 2) * 86_400)
    params = query_params(day, day.window(T0 + 86_400))
    minutes, hours = (
        store.read("completed_requests", params | {"span_s": span})[0] for span in (60, 3600)
    )
    store.close()
    assert minutes == hours
    assert minutes.requests == 6.0 * len(moments)
    assert minutes.observed_s == 60.0 * len(moments)
