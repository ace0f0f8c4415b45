"""What Prometheus counted over a run, asked after it; nothing it does harms the run."""

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from core.bench import scraped as asking
from core.bench.evidence import FILE, evidence_of, read_seen
from core.bench.judged import judge_job
from core.bench.launch import run_here
from core.bench.report import judgement_report
from core.bench.scraped import FIELDS, ask_prometheus, instances
from core.bench.state import Step
from core.bench.watch import CancelledError, Watch
from core.config import Settings, load_settings
from core.domain.bench.judge import PROMETHEUS, Note, Rule, Verdict
from core.domain.bench.plan import Plan, Target
from core.domain.bench.result import Counters, Scraped, ScrapeState
from tests.bench.conftest import KEY, Home, until
from tests.bench.served_prometheus import Scraper, served
from tests.collect.fake_prometheus import FakePrometheus, api_error

SERVER = "http://127.0.0.1:8000"
INSTANCE = "localhost:8000"
AHEAD_S = 1000.0
"""The clock of this Prometheus goes wrong by so much."""
Prometheus = Callable[[], FakePrometheus]


def settings(url: str | None, **more: object) -> Settings:
    return Settings(prometheus_url=url, **more)


def scrapes(times: list[float], values: list[float], *, instance: str = INSTANCE) -> Prometheus:
    """Scrapes at seconds from now; every counter has the same values."""

    def made() -> FakePrometheus:
        now = time.time() + AHEAD_S
        fake = FakePrometheus(now)
        at = [round(base + second, 3) for second in times]
        fake.add("up", at, [1.0] * len(at), instance=instance, job="vllm")
        for name in FIELDS:
            fake.add(name, at, values, instance=instance, job="vllm", engine="0")
        return fake

    base = time.time() + AHEAD_S
    return made


def ask(url: str | None, tmp_path: Path, **more: object) -> Scraped:
    """About a run that went from 20 to 5 seconds ago."""
    now = time.time()
    watch = Watch(tmp_path)
    return ask_prometheus(settings(url, **more), SERVER, start=now - 20, end=now - 5, watch=watch)


def counted(tokens: float) -> Counters:
    return Counters(**dict.fromkeys(PROMETHEUS, tokens))


def test_the_increase_around_a_run_is_counted_by_the_clock_of_prometheus(tmp_path: Path) -> None:
    """The last scrape before and the first after, whatever the two clocks say."""
    with served(scrapes([-36, -29, -22, -15, -8, -1], [3, 3, 5, 9, 12, 12])) as url:
        found = ask(url, tmp_path)
    assert (found.state, found.counters) == (ScrapeState.OTHER_TRAFFIC, counted(7.0))
    assert (found.instance, found.scrapes, found.resets) == (INSTANCE, 4, 0)
    with served(scrapes([-36, -29, -22, -15, -8, -1], [5, 5, 5, 9, 12, 12])) as url:
        assert ask(url, tmp_path).state is ScrapeState.SEEN


def test_a_restart_between_scrapes_counts_from_there(tmp_path: Path) -> None:
    """After a fall the increase is what was counted since, and the restart is kept."""
    with served(scrapes([-36, -29, -22, -15, -8, -1], [50, 50, 50, 2, 4, 6])) as url:
        found = ask(url, tmp_path)
    assert (found.counters, found.resets) == (counted(6.0), 1)


def test_a_server_nobody_scrapes_is_said_at_once(tmp_path: Path) -> None:
    """Another address is no target of this server, and nothing is waited for."""
    begun = time.monotonic()
    with served(scrapes([-22, -15], [1, 2], instance="localhost:8001")) as url:
        found = ask(url, tmp_path)
    assert found == Scraped(ScrapeState.NOT_SCRAPED)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("times", "due"),
    [
        ([-16.0, -14, -12, -10, -2], False),
        ([-22.2, -21.8, -21.4, -21.0, -20.6], True),
        ([-1], False),
    ],
    ids=["none before", "none after", "one at all"],
)
def test_too_few_scrapes_are_no_number(tmp_path: Path, times: list[float], *, due: bool) -> None:
    """Without a scrape on both sides nothing is counted; the wait for the second one ends."""
    begun = time.monotonic()
    with served(scrapes(times, [1.0] * len(times))) as url:
        found = ask(url, tmp_path)
    assert (found.state, found.counters, found.is_due) == (ScrapeState.TOO_FEW, None, due)
    assert time.monotonic() - begun < 5


def test_two_targets_are_never_added_up(tmp_path: Path) -> None:
    """A server that two jobs scrape counts once; targets that differ are nobody's number."""
    times, values = [-36.0, -29, -22, -15, -8, -1], [5.0, 5, 5, 9, 12, 12]
    one, more = scrapes(times, values), [0.0]

    def two() -> FakePrometheus:
        fake, now = one(), round(time.time() + AHEAD_S, 3)
        at = [now + second for second in times]
        fake.add("up", at, [1.0] * 6, instance=INSTANCE, job="other")
        for name in FIELDS:
            counts = [*values[:-1], values[-1] + more[0]]
            fake.add(name, at, counts, instance=INSTANCE, job="other", engine="0")
        return fake

    with served(two) as url:
        assert ask(url, tmp_path).counters == counted(7.0)
        more[0] = 1.0
        found = ask(url, tmp_path)
    assert (found.state, found.counters) == (ScrapeState.SEVERAL_TARGETS, None)


def test_a_dead_or_slow_prometheus_is_a_reason_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Refused and too slow are told apart, soon, and no token is in what is kept or logged."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(asking, "ASK_S", 0.3)
    token = SecretStr("prom-token-123456")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{probe.getsockname()[1]}"
    begun = time.monotonic()
    refused = ask(closed, tmp_path, prometheus_token=token)
    with served(scrapes([-22], [1]), slow_s=1.0) as url:
        slow = ask(url, tmp_path, prometheus_token=token)
    assert time.monotonic() - begun < 6
    assert refused.state is slow.state is ScrapeState.UNANSWERED
    assert "refused" in str(refused.detail)
    assert "timed out" in str(slow.detail)
    for text in (str(refused), str(slow), caplog.text):
        assert token.get_secret_value() not in text


def test_what_an_error_says_is_one_clean_line(tmp_path: Path) -> None:
    """Neither a secret that Prometheus echoes nor a control character comes through."""
    token = SecretStr("prom-token-123456")

    def made() -> FakePrometheus:
        fake = FakePrometheus(time.time())
        body = api_error("execution", f"no\x1b[2J room\nfor {token.get_secret_value()}")
        fake._good = lambda *_: (422, body)  # type: ignore[method-assign]
        return fake

    with served(made) as url:
        found = ask(url, tmp_path, prometheus_token=token)
    assert found.detail == "HTTP 422 execution: no room for ********"


def test_without_a_prometheus_nobody_is_asked(tmp_path: Path) -> None:
    """Not configured is a state of its own."""
    assert ask(None, tmp_path) == Scraped(ScrapeState.NOT_CONFIGURED)


def test_a_job_that_is_to_end_waits_for_no_scrape(tmp_path: Path) -> None:
    """A cancelled job is not held up by Prometheus."""
    (tmp_path / "cancel").touch()
    times = [-64.0, -49, -34, -21, -19]
    with (
        served(scrapes(times[:4], [1.0] * 4)) as url,
        pytest.raises(CancelledError),
    ):
        ask(url, tmp_path)


def test_an_address_is_quoted(tmp_path: Path) -> None:
    """A host that looks like PromQL stays a label value."""
    assert instances("http://a.b:1/x") == ("a.b:1",)
    asked: list[str] = []

    def made() -> FakePrometheus:
        fake = scrapes([-22], [1])()
        good = fake._good

        def kept(query: str, of: object) -> tuple[int, bytes]:
            asked.append(query)
            return good(query, of)  # type: ignore[arg-type]

        fake._good = kept  # type: ignore[method-assign,assignment]
        return fake

    hostile = 'http://x"}or.up{a:9'
    with served(made) as url:
        now = time.time()
        found = ask_prometheus(
            settings(url), hostile, start=now - 9, end=now, watch=Watch(tmp_path)
        )
    assert found.state is ScrapeState.NOT_SCRAPED
    assert r'instance="x\"}or.up{a:9"' in asked[-1]


@pytest.fixture
def watched(
    home: Home, plan: Plan, serving: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Plan, Scraper]]:
    """Two given servers, of which the ON one is scraped four times a second."""
    off, on = serving(caching=False), serving(caching=True)
    monkeypatch.setenv("PREFIXWATCH_BENCH_TARGETS", json.dumps([off, on]))
    with Scraper(on, interval_s=0.25) as scraper, served(scraper.prometheus) as url:
        monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_URL", url)
        home.settings = load_settings()
        until(lambda: scraper.count() > 3)
        yield replace(plan, target=Target.GIVEN, off_url=off, on_url=on), scraper


def test_a_run_is_confirmed_by_prometheus(home: Home, watched: tuple[Plan, Scraper]) -> None:
    """Of the scraped server all four counters agree; of the other one it is said that none is."""
    plan, _ = watched
    state = run_here(plan, "wish", settings=home.settings)
    assert (state.step, state.reason) == (Step.DONE, None)
    judgement = judge_job(home.jobs.job(state.job_id))
    assert [one.verdict.verdict for one in judgement.runs] == [Verdict.VALID] * 2
    rows = {one.run.caching: one.verdict.rows for one in judgement.runs}
    held = {row.rule: row for row in rows[True] if row.rule in PROMETHEUS.values()}
    assert set(held) == set(PROMETHEUS.values())
    assert all(row.expected == row.seen and row.note is None for row in held.values())
    assert held[Rule.PROMETHEUS_HITS].seen == 5 * 256
    (missing,) = [row for row in rows[False] if row.rule is Rule.PROMETHEUS]
    assert (missing.seen, missing.note) == (ScrapeState.NOT_SCRAPED, Note.PROMETHEUS_UNKNOWN)
    assert "Prometheus: no target has the address" in judgement_report(judgement, state)


@pytest.mark.parametrize(("times", "note"), [(2.0, "more"), (0.5, "less")])
def test_another_count_is_noted_and_fails_no_run(
    home: Home, watched: tuple[Plan, Scraper], times: float, note: str
) -> None:
    """The run stays valid; the report has both numbers and what they may come from."""
    plan, scraper = watched
    scraper.times = times
    state = run_here(plan, "wish", settings=home.settings)
    judgement = judge_job(home.jobs.job(state.job_id))
    assert judgement.valid == 2
    (on,) = [one for one in judgement.runs if one.run.caching]
    noted = {row.rule: row.note for row in on.verdict.rows if row.rule in PROMETHEUS.values()}
    assert set(noted.values()) == {f"prometheus_{note}"}
    seen = f"hit tokens in Prometheus: expected {5 * 256.0}, seen {5 * 256 * times}"
    assert f"{seen} [Prometheus counted {note}" in judgement_report(judgement, state)


def test_a_prometheus_that_is_down_fails_no_run(
    home: Home, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run is valid, and its record says why Prometheus is silent."""
    monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PREFIXWATCH_PROMETHEUS_TOKEN", KEY)
    state = run_here(plan, "wish", settings=load_settings())
    assert state.step is Step.DONE
    judgement = judge_job(home.jobs.job(state.job_id))
    assert judgement.valid == 2
    for one in judgement.runs:
        assert one.evidence.prometheus is not None
        assert one.evidence.prometheus.state is ScrapeState.UNANSWERED
    assert "refused" in judgement_report(judgement, state)


def test_a_record_from_before_still_reads(home: Home, plan: Plan) -> None:
    """A run whose record knows nothing of Prometheus is judged as ever, without a row of it."""
    state = run_here(plan, "wish", settings=home.settings)
    folder = home.jobs.job(state.job_id)
    for run in state.runs:
        file = folder / "runs" / run.run_id / FILE
        record = json.loads(file.read_text())
        assert record.pop("prometheus") == {"state": "not_configured"} | dict.fromkeys(
            set(Scraped.__dataclass_fields__) - {"state"}
        )
        file.write_text(json.dumps(record))
        seen = read_seen(file.parent)
        assert seen is not None
        assert seen.prometheus is None
        assert evidence_of(file.parent, run.run_id).prometheus is None
    judgement = judge_job(folder)
    assert judgement.valid == 2
    assert not [r for one in judgement.runs for r in one.verdict.rows if "prom" in r.rule]


def test_the_address_of_a_given_server_is_its_target() -> None:
    """Where no port is written, Prometheus names the one of the scheme."""
    assert instances("http://gpu-7.lan") == ("gpu-7.lan:80",)
    assert urlsplit(SERVER).netloc in instances(SERVER)
