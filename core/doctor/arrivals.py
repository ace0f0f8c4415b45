"""Do requests and scores arrive in Langfuse, and how long after they ended."""

from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import median
from typing import Any

from core.collect.requests.scores import ScoreReader
from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, setting, some
from core.doctor.langfuse import EVALUATE, SAMPLE, SCORES_DAYS, LangfuseProbe
from core.domain.evaluations import Evaluators

HOUR_S = 3600.0
WRITE = (
    'On LiteLLM set `litellm_settings: {success_callback: ["langfuse"], failure_callback: '
    '["langfuse"]}` and LANGFUSE_HOST, LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY in its '
    "environment, of this project; with other senders check the same keys and host."
)


def _rows(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    sample = probe.sample.get()
    if not sample.rows:
        yield topic.error(*_nothing(probe))
        return
    newest = sample.rows[0].record["start_at"].timestamp()
    age = probe.end - newest
    recent = sum(probe.end - row.record["start_at"].timestamp() <= HOUR_S for row in sample.rows)
    more = " or more" if len(sample.rows) >= SAMPLE else ""
    detail = (
        f"in the last hour {recent}, in the last day {len(sample.rows)}{more}; the newest began "
        f"{age / 60:.0f} min ago"
    )
    if recent:
        yield topic.ok("Requests arrive", detail)
    else:
        yield topic.warning("No request in the last hour", detail, f"If there is traffic: {WRITE}")


def _nothing(probe: LangfuseProbe) -> tuple[str, str, str]:
    environments = probe.settings.langfuse_environments
    if environments:
        return (
            "No request in the last day",
            f"in the environments {some(environments)}",
            "Check PREFIXWATCH_LANGFUSE_ENVIRONMENTS, or leave it out to read all of them.",
        )
    if probe.other_row.get():
        return (
            "No request in the last day, but rows of other kinds",
            "no row is of type GENERATION, which is what requests to a model are",
            (
                "Let the sender mark model calls as generations (`langfuse.openai`, LiteLLM and "
                "`gen_ai` spans do so; with the SDK: as_type='generation')."
            ),
        )
    return "No request in the last day", "no row at all", WRITE


def _lag(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    lags = [
        (record["created_at"] - record["end_at"]).total_seconds()
        for row in probe.requests().rows
        if (record := row.record)["created_at"] is not None and record["end_at"] is not None
    ]
    if not lags:
        raise Unanswered("no row has both an end and a time of writing")
    late = probe.settings.langfuse_late_s
    detail = (
        f"written after the end of the request: the newest {lags[0]:.1f} s, median "
        f"{median(lags):.1f} s, longest {max(lags):.1f} s of {counted(len(lags), 'row')}"
    )
    if max(lags) > late:
        yield topic.warning(
            "Rows arrive later than they are looked for",
            f"{detail}; rows are read again for {late:.0f} s",
            f"Set PREFIXWATCH_LANGFUSE_LATE_S={int(max(lags) * 1.5)}.",
        )
    else:
        yield topic.ok("Rows arrive in time", detail)


def _versions(topic: Topic, probe: LangfuseProbe) -> Iterable[Finding]:
    records = _scores(probe)
    if not records:
        raise Unanswered(f"no score in the last {SCORES_DAYS} days", EVALUATE)
    without = {r["name"] for r in records if r["evaluator_version"] is None}
    told = ", ".join(
        f"{name} ({sum(r['name'] == name for r in records)})"
        for name in sorted({r["name"] for r in records})[:5]
    )
    if not without:
        yield topic.ok("Scores say the version of their evaluator", told)
        return
    name = min(without)
    yield topic.warning(
        "Scores do not say the version of their evaluator",
        f"{some(without)} without, of {told}; scores of two versions would be read as one",
        "Write evaluator_version into the metadata of the score, or set "
        + setting("PREFIXWATCH_EVALUATORS", [{"score": name, "version": "<version>"}]),
    )


def _scores(probe: LangfuseProbe) -> list[dict[str, Any]]:
    reader = ScoreReader(Evaluators(probe.settings.evaluators))
    seen_at = datetime.fromtimestamp(probe.end, UTC)
    read = (reader.read(raw, seen_at).record for raw in probe.scores.get().rows)
    return [record for record in read if record is not None]


ARRIVALS = (
    Check(Topic("langfuse_rows", "requests", "Requests in Langfuse"), _rows),
    Check(Topic("langfuse_lag", "requests", "Delay of writing"), _lag),
    Check(Topic("scores", "scores", "Versions of evaluators"), _versions),
)
