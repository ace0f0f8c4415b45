"""Langfuse: answers, keys, lists, clock, delay, requests and scores."""

import json
from typing import Any

import httpx
import pytest

from core.doctor import Level
from tests.doctor.fakes import (
    Langfuse,
    examined,
    refuse_with,
    row,
    score,
    settings_of,
)


@pytest.fixture
def made() -> Langfuse:
    return Langfuse(*(row(age=60.0 + i) for i in range(5)))


def both(one: Any, other: Any) -> Any:
    """Two refusals, the first that answers."""
    return lambda request: one(request) or other(request)


def raising(error: Exception) -> Any:
    def refuse(_request: httpx.Request) -> None:
        raise error

    return refuse


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectError("refused"), "Check the address"),
        (httpx.ReadTimeout("slow"), "PREFIXWATCH_LANGFUSE_TIMEOUT_S"),
        (httpx.ConnectError("certificate verify failed"), "PREFIXWATCH_LANGFUSE_CA_FILE"),
    ],
)
def test_a_server_that_does_not_answer_is_one_error(
    made: Langfuse, error: Exception, words: str
) -> None:
    """One error with the address and what to set; all else is unknown for that reason."""
    made.refuse = raising(error)
    found = examined(langfuse=made)
    assert found.wrong == [("langfuse_reachable", "langfuse")]
    found.says("langfuse_reachable", "http://langfuse.test", words)
    found.says("usage_present", "not asked")
    assert len(made.asked) == 1


@pytest.mark.parametrize(
    ("status", "text", "words"),
    [
        (200, "<html>Sign in</html>", "not as Langfuse"),
        (404, "<html>", "PREFIXWATCH_LANGFUSE_URL"),
        (500, "x", "HTTP 500"),
        (503, "x", "starting"),
    ],
)
def test_other_answers_say_what_they_are(
    made: Langfuse, status: int, text: str, words: str
) -> None:
    """A login page, a wrong address and a broken server are told apart."""
    made.refuse = refuse_with(status, text=text)
    found = examined(langfuse=made)
    assert found.wrong == [("langfuse_reachable", "langfuse")]
    found.says("langfuse_reachable", words)


@pytest.mark.parametrize(
    ("status", "name"),
    [(401, "dual/err_401_wrong_secret"), (403, "dual/err_403_bearer_public_key")],
)
def test_refused_keys_are_not_a_server_that_is_down(made: Langfuse, status: int, name: str) -> None:
    """Health needs no keys: it answers, and the keys are the one error."""
    made.refuse = refuse_with(status, "projects", "v2/observations", name=name)
    found = examined(langfuse=made)
    assert found.wrong == [("langfuse_keys", "langfuse")]
    assert found.level("langfuse_reachable") is Level.OK
    found.says("langfuse_keys", f"HTTP {status}", "PREFIXWATCH_LANGFUSE_SECRET_KEY")


def test_keys_that_open_no_project_are_an_error(made: Langfuse) -> None:
    """Keys of an organization answer with no project."""
    empty = refuse_with(200, "projects", text=json.dumps({"data": []}))
    made.refuse = empty
    examined(langfuse=made).says("langfuse_keys", "no project", "one project")


def test_version_and_project_are_named(made: Langfuse) -> None:
    """What is read, by the server's own words."""
    found = examined(langfuse=made)
    assert found.one("langfuse_reachable").title == "Langfuse 4.16.0 answers"
    found.says("langfuse_keys", "proj-dual")


def test_the_write_mode_is_told_by_the_lists_there_are(made: Langfuse) -> None:
    """`dual` has both generations, `events_only` the newer one alone."""
    examined(langfuse=made).says("langfuse_api", "observations_v2", "scores_v3", "dual")
    made.refuse = refuse_with(404, "observations", name="events_only/v1_observations_page1")
    found = examined(langfuse=made)
    assert found.level("langfuse_api") is Level.OK
    found.says("langfuse_api", "events_only")


def test_a_server_without_the_newer_lists_is_read_by_the_older(made: Langfuse) -> None:
    """Write mode `legacy`: v1 rows, sessions from traces, and texts that are dropped."""
    made.refuse = refuse_with(404, "v2/observations", name="legacy_mode/legacy_v2_observations")
    found = examined(langfuse=made)
    found.says("langfuse_api", "observations_v1", "without the newer lists")
    assert found.level("langfuse_api") is Level.OK
    found.says("langfuse_texts", "dropped")
    assert "traces" in made.paths()
    assert found.level("sessions") is Level.OK


def test_an_old_version_is_told_from_a_mode(made: Langfuse) -> None:
    """A page of HTML from a version before the lists means the version."""
    old = refuse_with(200, "health", text=json.dumps({"status": "OK", "version": "3.90.0"}))
    made.refuse = both(old, refuse_with(404, "v2/observations", "v3/scores", text="<html>"))
    found = examined(langfuse=made)
    found.says("langfuse_api", "observations_v1", "scores_v2", "before the newer lists")


def test_an_announced_end_is_a_warning_only_where_it_is_read(made: Langfuse) -> None:
    """Langfuse Cloud announces the end of older lists; whoever reads the newer is not warned."""
    cloud = refuse_with(200, "observations", name="cloud_flag/cloudlike_v1_observations")
    made.refuse = cloud
    found = examined(langfuse=made)
    assert found.level("langfuse_api") is Level.OK
    found.says("langfuse_api", "Langfuse Cloud", "2026-11-16")
    made.refuse = both(
        cloud, refuse_with(404, "v2/observations", name="legacy_mode/legacy_v2_observations")
    )
    found = examined(langfuse=made)
    assert found.level("langfuse_api") is Level.WARNING
    found.says("langfuse_api", "November 16, 2026", "Upgrade")


def test_a_limit_is_said_and_not_waited_for(made: Langfuse) -> None:
    """429 on the rows: a warning of its own, and what needs rows is unknown."""
    made.refuse = refuse_with(
        429, "v2/observations", name="cloud_flag/cloudlike_429_v2_observations"
    )
    found = examined(langfuse=made)
    assert found.wrong == [("langfuse_limits", "langfuse")]
    found.says("langfuse_limits", "429", "PREFIXWATCH_LANGFUSE_PARALLEL")
    assert found.level("usage_present") is Level.UNKNOWN


def test_a_broken_database_leaves_the_rest(made: Langfuse) -> None:
    """Rows cannot be read, scores neither; server and keys are still found to be right."""
    made.refuse = refuse_with(500, "v2/observations", name="dual/fault_chdown_v2_observations")
    found = examined(langfuse=made)
    assert found.wrong == []
    assert found.level("langfuse_keys") is Level.OK
    found.says("langfuse_api", "HTTP 500")
    assert found.level("langfuse_rows") is Level.UNKNOWN


@pytest.mark.parametrize(("skew", "level"), [(0.0, Level.OK), (30.0, Level.WARNING)])
def test_clocks_are_compared_by_the_date_header(made: Langfuse, skew: float, level: Level) -> None:
    """A difference above 5 s is a warning."""
    made.skew_s = skew
    assert examined(langfuse=made).level("langfuse_clock") is level


def test_answers_without_a_date_tell_no_clock(made: Langfuse) -> None:
    """No header: unknown, not equal."""
    made.skew_s = None
    assert examined(langfuse=made).level("langfuse_clock") is Level.UNKNOWN


def test_no_rows_name_the_settings_of_the_sender() -> None:
    """An empty project is an error that says what a sender must be given."""
    found = examined(langfuse=Langfuse())
    assert found.wrong == [("langfuse_rows", "requests")]
    found.says("langfuse_rows", "success_callback", "LANGFUSE_PUBLIC_KEY")
    assert found.level("attribution") is Level.UNKNOWN


def test_rows_of_other_kinds_are_told_from_none() -> None:
    """Spans without generations: the sender does not mark its model calls."""
    found = examined(langfuse=Langfuse(row(type="SPAN")))
    found.says("langfuse_rows", "GENERATION", "as_type='generation'")


def test_an_environment_that_has_no_rows_is_named() -> None:
    """A filter of our own is the first thing to look at."""
    settings = settings_of(langfuse_environments=("prod",))
    found = examined(langfuse=Langfuse(), settings=settings)
    found.says("langfuse_rows", "PREFIXWATCH_LANGFUSE_ENVIRONMENTS", "prod")


def test_a_quiet_hour_is_a_warning() -> None:
    """Rows of today but none of the last hour."""
    found = examined(langfuse=Langfuse(row(age=7200.0)))
    assert found.level("langfuse_rows") is Level.WARNING
    found.says("langfuse_rows", "in the last hour 0, in the last day 1")


def test_rows_that_come_late_give_the_setting(made: Langfuse) -> None:
    """Later than they are read again: the setting with a number that fits."""
    made.rows.append(row(age=3000.0, lag=1800.0))
    found = examined(langfuse=made)
    assert found.level("langfuse_lag") is Level.WARNING
    found.says("langfuse_lag", "PREFIXWATCH_LANGFUSE_LATE_S=2700")
    assert examined(langfuse=Langfuse(row())).level("langfuse_lag") is Level.OK


def test_scores_without_a_version_give_the_setting(made: Langfuse) -> None:
    """The names that lack it are in the setting, ready to copy."""
    made.scores = [score("judge", version="2"), score("it's"), score("it's")]
    found = examined(langfuse=made)
    assert found.level("scores") is Level.WARNING
    found.says("scores", "PREFIXWATCH_EVALUATORS=", '"score":"it', "judge (1)")
    told = settings_of(evaluators=[{"score": "it's", "version": "7"}])
    assert examined(langfuse=made, settings=told).level("scores") is Level.OK


def test_no_scores_are_unknown(made: Langfuse) -> None:
    """A project without evaluations has nothing wrong."""
    made.scores = []
    assert examined(langfuse=made).level("scores") is Level.UNKNOWN


def test_rows_are_asked_for_whole(made: Langfuse) -> None:
    """Metadata that the profiles look into is asked for uncut, and only generations."""
    examined(langfuse=made)
    asked = [r.url.params for r in made.asked if "expandMetadata" in r.url.params]
    assert len(asked) == 1
    assert "usage_object" in asked[0]["expandMetadata"]
    assert asked[0]["type"] == "GENERATION"
    assert asked[0]["limit"] == "300"
