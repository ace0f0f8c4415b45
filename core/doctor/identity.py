"""Who a request is: its engine, session, turn, arm, task and model, as far as rows say."""

from collections import Counter
from collections.abc import Iterable, Mapping

from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, setting, some
from core.doctor.fit import Fit
from core.doctor.sample import SampledRow

HALF = 0.5
LIKE: Mapping[str, tuple[str, ...]] = {
    "arm": ("arm", "variant", "experiment", "cohort", "treatment", "bucket"),
    "task_type": ("task", "use_case", "usecase", "intent", "workload"),
    "template_version": ("template", "prompt_version", "prompt_id", "prompt_name"),
}
"""Parts of metadata keys by which people name these."""
WORDS = {"arm": "arm", "task_type": "task type", "template_version": "template version"}
OWN_KEYS = (
    *("scope.", "resourceAttributes.", "user_api_key", "usage_object", "hidden_params"),
    *("litellm_", "requester_", "api_base", "applied_guardrails", "cache_hit", "response_id"),
    *(f"attributes.{x}" for x in ("langfuse", "llm", "litellm", "error", "http", "gen_ai")),
    *("attributes.metadata", "attributes.user.", "attributes.session.", "user_agent"),
)
"""How metadata keys begin that senders write by themselves."""


def _attribution(topic: Topic, fit: Fit) -> Iterable[Finding]:
    engines, rows = fit.engines(), fit.sample.answered
    pods = {e.labels.pod for e in engines if e.labels.pod is not None}
    instances = {e.target.instance for e in engines if e.target.instance is not None}
    ways = Counter(_way(row, pods, instances) for row in rows)
    told = ", ".join(f"{way} {n}" for way, n in ways.most_common())
    if not rows:
        raise Unanswered("no request in the sample ended with an answer")
    lost = [row for row in rows if _way(row, pods, instances) == NOWHERE]
    detail = f"{told}, of {counted(len(rows), 'request')}"
    if not lost:
        yield topic.ok("Requests are attributed to engines", detail)
        return
    addresses = sorted({r.record["address"] for r in lost if r.record["address"] is not None})
    deployments = sorted(
        {
            r.record["deployment"]
            for r in lost
            if r.record["address"] is None and r.record["deployment"] is not None
        }
    )
    names = (*addresses, *deployments)
    title = "Requests cannot be attributed to engines"
    if names:
        guessed = {name: _pod_like(name, pods) for name in names[:8]}
        detail = (
            f"{detail}; scraped at no such address: {some(names)}; pods: {some(pods) or 'none'}"
        )
        step = (
            f"Set {setting('PREFIXWATCH_DEPLOYMENTS', guessed)} (an address of a Service stands "
            "for a pool: leave it out)."
        )
    else:
        like = sorted(key for key in _keys(lost) if "pod" in key.lower())
        step = NAME_THE_ENGINE + (f" Keys that look like it: {some(like)}." if like else "")
    more = title if len(lost) == len(rows) else "Some requests cannot be attributed to engines"
    yield topic.warning(more, detail, step)


NOWHERE = "to none"
NAME_THE_ENGINE = (
    "Rows name neither address nor pod. On LiteLLM use the callback `langfuse` (it writes "
    "api_base) or give each deployment a tag pod:<name>; elsewhere write the pod into the metadata "
    "under the key of PREFIXWATCH_KEYS__POD."
)


def _way(row: SampledRow, pods: set[str], instances: set[str]) -> str:
    """By what a request is attributed, as the cache joins it."""
    record = row.record
    if record["pod"] in pods:
        return "by pod"
    if record["address"] in instances:
        return "by address"
    return "by deployment" if record["deployment"] in pods else NOWHERE


def _pod_like(name: str, pods: set[str]) -> str:
    """The pod whose name an address begins with, or a place to fill in."""
    host = name.rsplit(":", 1)[0].split(".", 1)[0]
    return host if host in pods else "<pod>"


def _sessions(topic: Topic, fit: Fit) -> Iterable[Finding]:
    rows = fit.sample.rows
    having = [row for row in rows if row.record["session_id"] is not None]
    detail = f"{len(having)} of {counted(len(rows), 'request')}"
    if len(having) < HALF * len(rows):
        yield topic.warning(
            "Most requests name no session" if having else "No request names a session",
            f"{detail}; without one there are no turns and no idle gaps",
            "Let clients send a session id: metadata session_id to LiteLLM, session_id to the "
            "SDK of Langfuse, the attribute session.id on spans.",
        )
    else:
        yield topic.ok("Requests name their session", detail)


def _turns(topic: Topic, fit: Fit) -> Iterable[Finding]:
    sessions: dict[str, list[str]] = {}
    for row in fit.sample.rows:
        if row.record["session_id"] is not None:
            sessions.setdefault(row.record["session_id"], []).append(row.record["turn_id"])
    long = {name: turns for name, turns in sessions.items() if len(turns) > 1}
    if not long:
        raise Unanswered("no session with several requests in the sample")
    single = [name for name, turns in long.items() if len(set(turns)) == 1]
    detail = f"{counted(len(long), 'session')} with several requests, {len(single)} of one turn"
    if len(single) > HALF * len(long):
        yield topic.warning(
            "Sessions are one turn as a whole",
            f"{detail}; with LiteLLM that is so when a session id is sent without a trace id",
            "Let clients send a fresh trace id for every turn: metadata trace_id to LiteLLM, or "
            "name your own key with PREFIXWATCH_KEYS__TURN_ID.",
        )
    else:
        yield topic.ok("Sessions consist of turns", detail)


def _key(topic: Topic, fit: Fit) -> Iterable[Finding]:
    field = topic.subject
    rows = fit.sample.rows
    values = Counter(row.record[field] for row in rows if row.record[field] is not None)
    if values:
        told = ", ".join(f"{value} {n}" for value, n in values.most_common(5))
        yield topic.ok(
            f"Requests name their {WORDS[field]}",
            f"{values.total()} of {counted(len(rows), 'request')}: {told}",
        )
        return
    key = getattr(fit.langfuse.settings.keys, field)
    keys = _keys(rows)
    like = sorted(name for name in keys if any(part in name.lower() for part in LIKE[field]))
    sought = f"no row has it under the key {key}" if key is not None else "no key is set for it"
    if like:
        detail = f"{sought}; these look like it: {some(like)}"
        step = f"Set PREFIXWATCH_KEYS__{field.upper()}={like[0].removeprefix('attributes.')}."
    else:
        detail = f"{sought}; metadata keys there: {some(keys, most=12) or 'none'}"
        step = (
            f"Let clients write it into the metadata of the request (LiteLLM: metadata."
            f"trace_metadata.{key or field}), or name your key with "
            f"PREFIXWATCH_KEYS__{field.upper()}."
        )
    yield topic.warning(f"No request names its {WORDS[field]}", detail, step)


def _keys(rows: Iterable[SampledRow]) -> set[str]:
    """Metadata keys that people write."""
    return {key for row in rows for key in row.metadata_keys if not key.startswith(OWN_KEYS)}


def _models(topic: Topic, fit: Fit) -> Iterable[Finding]:
    served = {e.labels.model_name for e in fit.engines() if e.labels.model_name is not None}
    rows = [row for row in fit.sample.answered if row.record["cached_scope"] != "provider"]
    asked = Counter(row.record["model"] for row in rows if row.record["model"] is not None)
    if not asked:
        raise Unanswered("no request to an engine names a model")
    strange = [model for model in asked if model not in served]
    if strange:
        n = sum(asked[model] for model in strange)
        yield topic.warning(
            "Models of requests that no engine serves under that name",
            f"{some(strange)} ({n} of {counted(asked.total(), 'request')}); engines serve "
            f"{some(served) or 'unnamed models'}",
            "Use one name: the first of vLLM's --served-model-name, and the same model in the "
            "gateway's configuration. Requests to other providers may stay as they are.",
        )
    else:
        yield topic.ok("Requests and engines name models alike", some(asked))


STARTS = {
    "litellm": "litellm: a stream starts with the request of the client, so failed attempts and "
    "waits are inside; other answers start with their attempt, and their time to first token is "
    "their whole duration",
    "litellm_otel": "litellm_otel: a stream starts with the request of the client; no time to "
    "first token is written",
    "langfuse_sdk": "langfuse_sdk: starts where the client's code began the generation",
}


def _starts(topic: Topic, fit: Fit) -> Iterable[Finding]:
    exporters = {row.exporter for row in fit.sample.rows}
    known = [STARTS[key] for key in sorted(exporters) if key in STARTS]
    if not known:
        raise Unanswered(f"the senders ({some(exporters)}) have no profile that says it")
    streams = sum(row.streamed is True for row in fit.sample.rows)
    yield topic.ok(
        "What the start of a request means",
        f"{'; '.join(known)}. Streams in the sample: {streams}",
    )


IDENTITY = (
    Check(Topic("attribution", "requests", "Attribution to engines"), _attribution),
    Check(Topic("sessions", "requests", "Sessions"), _sessions),
    Check(Topic("turns", "requests", "Turns"), _turns),
    *(
        Check(Topic("request_keys", field, words.capitalize()), _key)
        for field, words in WORDS.items()
    ),
    Check(Topic("models", "requests", "Models"), _models),
    Check(Topic("stream_start", "requests", "Start of requests"), _starts),
)
