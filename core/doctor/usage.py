"""The way of a cached count from the engine to the row: four places where it may be lost.

An engine must report it, a streamed answer must end with usage, the gateway must
pass it on, and the row must carry usage at all. Each is a finding of its own, as
each has a fix of its own.
"""

from collections import Counter
from collections.abc import Iterable

from core.doctor.checks import Check, Unanswered
from core.doctor.findings import Finding, Topic, counted, setting, some
from core.doctor.fit import UNNAMED_PLACE, Fit, place_of, shares
from core.doctor.sample import Details, SampledRow

ALL_BUT_FEW = 0.95
"""Share of requests with usage from which on the rest is worth no warning."""
DETAILS = "--enable-prompt-tokens-details"


def _engine_flag(topic: Topic, fit: Fit) -> Iterable[Finding]:
    silent, speaking, unnamed = _flags(fit)
    if not silent and not speaking:
        raise Unanswered(
            "no row carries the usage as the engine sent it (usage_object), nor a cached count",
            f"Check by hand that vLLM runs with {DETAILS}.",
        )
    if not silent:
        yield topic.ok("Engines report cached tokens", f"{DETAILS} is on at {some(speaking)}")
        return
    detail = (
        f"`prompt_tokens_details` is null in the newest request of {some(silent)}: the cached "
        f"count of its requests is unknown{unnamed}"
    )
    step = f"Start vLLM at {some(silent)} with {DETAILS}."
    if UNNAMED_PLACE in silent:
        step = f"Start every vLLM with {DETAILS}; to see which lacks it, let rows name the engine."
    if speaking:
        others = some(speaking - {UNNAMED_PLACE}) or "others of them"
        yield topic.warning(
            "Some engines do not report cached tokens", f"{detail}; {others} report it", step
        )
    else:
        yield topic.error("No engine reports cached tokens", detail, step)


def _flags(fit: Fit) -> tuple[set[str], set[str], str]:
    """Places that report no cached tokens, places that do, and how many rows name no place.

    The newest request of a place says how it runs now. Rows without a place may come
    from any engine, so all of them count.
    """
    pods = fit.pods()
    newest: dict[str, bool] = {}
    anywhere: list[bool] = []
    for row in fit.sample.answered:
        told, place = _reported(row), place_of(row, pods)
        if told is not None and place != UNNAMED_PLACE:
            newest.setdefault(place, told)
        elif told is not None:
            anywhere.append(told)
    places = [*newest.items(), *((UNNAMED_PLACE, told) for told in anywhere)]
    missing = anywhere.count(False)
    more = f" ({missing} of {counted(len(anywhere), 'row')} without a place)" if missing else ""
    silent = {place for place, told in places if not told}
    return silent, {place for place, told in places if told}, more


def _reported(row: SampledRow) -> bool | None:
    """Whether the engine behind a row reports cached tokens; None where the row cannot tell."""
    if row.details is Details.REPORTED:
        return True
    if row.details is Details.NOT_REPORTED:
        return False
    measured = row.record["usage_status"] == "measured" and row.record["cached_input"]
    return True if row.details is not Details.ESTIMATE and measured else None


def _streams(topic: Topic, fit: Fit) -> Iterable[Finding]:
    streamed = [row for row in fit.sample.answered if row.streamed]
    if not streamed:
        raise Unanswered("no streamed request in the sample")
    without = [row for row in streamed if not row.has_usage]
    if not without:
        yield topic.ok("Streamed answers carry usage", f"all of {counted(len(streamed), 'stream')}")
        return
    yield topic.warning(
        "Streamed answers without usage",
        f"{len(without)} of {counted(len(streamed), 'stream')}: {shares(without, streamed)}",
        'Let clients send `"stream_options": {"include_usage": true}`, or start vLLM with '
        "--enable-force-include-usage.",
    )


def _passed_on(topic: Topic, fit: Fit) -> Iterable[Finding]:
    rows = fit.sample.answered
    cut = [row for row in rows if row.details is Details.CUT]
    told = [row for row in rows if row.details is Details.REPORTED]
    lost = [row for row in told if row.cached_tokens and not row.in_buckets]
    measured = [row for row in rows if row.record["usage_status"] == "measured"]
    carried = f"measured cached counts: {shares(measured, rows)}"
    wrong, steps = [], []
    if cut:
        wrong.append(
            f"usage_object is cut in {len(cut)} of {counted(len(rows), 'row')}: a zero cannot be "
            "told from an unknown count there"
        )
        steps.append(
            "Use Langfuse 4 (its v2 observations give long metadata whole), or let the gateway "
            "write a shorter usage_object."
        )
    if lost:
        wrong.append(
            f"{len(lost)} of {counted(len(told), 'row')} have cached_tokens in usage_object and no "
            f"cached bucket in usageDetails: {shares(lost, told)}"
        )
        steps.append(
            "Upgrade the gateway (LiteLLM from November 2025 on writes cache_read_input_tokens)."
        )
    if wrong:
        yield topic.warning(
            "The gateway does not pass cached counts on whole",
            "; ".join([*wrong, carried]),
            " ".join(steps),
        )
    elif not measured:
        yield topic.error(*_nothing_measured(rows, carried))
    else:
        yield topic.ok("The gateway passes cached counts on", carried)


def _nothing_measured(rows: list[SampledRow], carried: str) -> tuple[str, str, str]:
    if any(row.details is Details.NOT_REPORTED for row in rows):
        raise Unanswered("no engine reports a cached count that could be passed on")
    if not rows:
        raise Unanswered("no request in the sample ended with an answer")
    return (
        "No row carries a cached count",
        f"neither usageDetails nor usage_object has one; {carried}",
        (
            "Send usage with cached tokens: LiteLLM's callback `langfuse` and `langfuse.openai` "
            "do; other senders write `input_cached_tokens` into usage_details."
        ),
    )


def _present(topic: Topic, fit: Fit) -> Iterable[Finding]:
    rows = fit.sample.answered
    if not rows:
        raise Unanswered("no request in the sample ended with an answer")
    having = [row for row in rows if row.has_usage]
    detail = f"with token counts: {shares(having, rows)}"
    if not having:
        yield topic.error("No request carries token counts", detail, SEND_USAGE)
    elif len(having) < ALL_BUT_FEW * len(rows):
        yield topic.warning("Some requests carry no token counts", detail, SEND_USAGE)
    else:
        yield topic.ok("Requests carry token counts", detail)


SEND_USAGE = (
    "Let the sender write usage: on generations of the SDK usage_details, on spans "
    "gen_ai.usage.input_tokens and gen_ai.usage.output_tokens; for streams see streaming usage."
)


def _zeros(topic: Topic, fit: Fit) -> Iterable[Finding]:
    rows = fit.sample.answered
    unproven = [row for row in rows if row.record["usage_reason"] == "zero_unproven"]
    if not unproven:
        yield topic.ok("Zeros are told from unknown counts", "no row has an unproven 0")
        return
    exporters = sorted({row.exporter for row in unproven})
    yield topic.warning(
        "Cached counts of 0 that may mean unknown",
        f"{len(unproven)} of {counted(len(rows), 'row')}: {shares(unproven, rows)}; "
        f"{some(exporters)} writes 0 also where the engine reported nothing",
        "Let the gateway pass usage_object on. If a sender of yours writes 0 only for a measured "
        "0: "
        + setting(
            "PREFIXWATCH_EXPORTERS",
            [{"key": "mine", "base": exporters[0], "marker": "<its own key>", "zero": "measured"}],
        ),
    )


def _exporters(topic: Topic, fit: Fit) -> Iterable[Finding]:
    rows = fit.sample.rows
    by_key = Counter(row.exporter for row in rows)
    told = ", ".join(f"{key} {n}" for key, n in by_key.most_common())
    general = [row for row in rows if row.exporter in ("unnamed", "opentelemetry")]
    unmeasured = [r for r in general if r.answered and r.record["usage_status"] != "measured"]
    unnamed = [row for row in general if row.exporter == "unnamed"]
    if not unnamed and not unmeasured:
        yield topic.ok("Senders are recognised", told)
        return
    scopes = Counter(row.scope for row in general if row.scope is not None)
    keys = Counter(key for row in unnamed for key in row.metadata_keys)
    own: dict[str, str] = {"key": "mine", "base": "opentelemetry"}
    if scopes:
        own["scope_name"] = scopes.most_common(1)[0][0]
    else:
        own["marker"] = keys.most_common(1)[0][0] if keys else "<a metadata key only it writes>"
    seen = f"scopes {some(scopes)}" if scopes else f"metadata keys {some(keys) or 'none'}"
    yield topic.warning(
        "Requests of a sender without a profile",
        f"{told}; {seen}. They are read by general rules",
        "Say how it writes usage (contract, zero, paths): "
        + setting("PREFIXWATCH_EXPORTERS", [{**own, "contract": "exclusive"}]),
    )


def _contract(topic: Topic, fit: Fit) -> Iterable[Finding]:
    sample = fit.langfuse.sample.get()
    if not sample.violations:
        fit.langfuse.requests()
        yield topic.ok("No request breaks its usage contract", counted(len(sample.rows), "row"))
        return
    rules = Counter(one.rule for one in sample.violations)
    first = sample.violations[0]
    senders = {one.exporter for one in sample.violations if one.exporter is not None}
    yield topic.error(
        "Requests break their usage contract",
        ", ".join(f"{rule} {n}" for rule, n in rules.most_common())
        + f"; senders {some(senders) or 'unknown'}; for one, observation {first.record_id}, field "
        f"{first.field}, value {first.raw_value}",
        "Their numbers are left out. If a sender counts cached tokens inside its input, say so: "
        + setting(
            "PREFIXWATCH_EXPORTERS",
            [{"key": "mine", "marker": "<its own key>", "contract": "inclusive"}],
        ),
    )


USAGE = (
    Check(Topic("usage_engine_flag", "usage", "Cached tokens from the engine"), _engine_flag),
    Check(Topic("usage_streams", "usage", "Usage of streamed answers"), _streams),
    Check(Topic("usage_gateway", "usage", "Cached tokens through the gateway"), _passed_on),
    Check(Topic("usage_present", "usage", "Token counts"), _present),
    Check(Topic("usage_zeros", "usage", "Zeros"), _zeros),
    Check(Topic("exporters", "requests", "Senders"), _exporters),
    Check(Topic("usage_contract", "usage", "Usage contracts"), _contract),
)
