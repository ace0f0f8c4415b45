"""With everything as it should be the doctor has nothing to say; without sources it says so."""

from core.doctor import Level
from tests.doctor.fakes import Found, Langfuse, Prometheus, examined, settings_of, sound

BOTH_SIDES = ("attribution", "models")


def test_nothing_is_wrong_where_nothing_is_wrong() -> None:
    """Every check of a sound pair of sources is in order: no false alarm, nothing unknown."""
    found = examined(*sound())
    assert found.wrong == []
    assert [f for f in found if f.level is Level.UNKNOWN] == []
    assert len(found) > 40


def test_the_same_checks_report_whatever_is_connected() -> None:
    """A finding that is there once is there always: what cannot be told is unknown."""
    whole = {(f.finding, f.subject) for f in examined(*sound())}
    nothing = {(f.finding, f.subject) for f in examined()}
    assert whole - nothing == {("langfuse_limits", "langfuse")}
    assert nothing <= whole


def test_a_source_that_is_not_connected_is_unknown_with_the_setting() -> None:
    """Not connected is no error, and every check that needs the source names what to set."""
    prometheus, langfuse = sound()
    alone = examined(prometheus, settings=settings_of())
    assert alone.wrong == []
    for key in ("langfuse_reachable", "usage_engine_flag", *BOTH_SIDES):
        assert alone.level(key) is Level.UNKNOWN
        alone.says(key, "not connected", "PREFIXWATCH_LANGFUSE_PUBLIC_KEY")
    other = examined(langfuse=langfuse)
    assert other.wrong == []
    for key in ("prometheus_reachable", *BOTH_SIDES):
        assert other.level(key) is Level.UNKNOWN
        other.says(key, "not connected", "PREFIXWATCH_PROMETHEUS_URL")
    assert other.level("usage_engine_flag") is Level.OK


def test_no_text_is_asked_for() -> None:
    """Input and output are never among the fields, and no finding quotes a prompt."""
    prometheus, langfuse = sound()
    found = examined(prometheus, langfuse)
    for request in langfuse.asked:
        fields = request.url.params.get("fields", "").split(",")
        assert "io" not in fields
    assert "never read this" not in str(list(found))


def test_every_question_is_asked_once() -> None:
    """One examination asks each list of each source once, however many checks need it."""
    prometheus, langfuse = sound()
    examined(prometheus, langfuse)
    assert len(prometheus.asked) <= 6
    assert len(langfuse.asked) <= 7


def test_findings_of_an_empty_pair() -> None:
    """Sources that answer and hold nothing: two errors that say what to configure."""
    found: Found = examined(Prometheus(), Langfuse(scores=[]))
    assert found.wrong == [("vllm_series", "prometheus"), ("langfuse_rows", "requests")]


def test_no_question_begins_after_the_time_limit() -> None:
    """An examination that took too long asks nothing more, and says that it did not."""
    prometheus, langfuse = sound()
    found = examined(prometheus, langfuse, most_s=-1.0)
    assert prometheus.asked == []
    assert langfuse.asked == []
    assert {f.level for f in found} == {Level.UNKNOWN}
    found.says("usage_present", "not asked")
