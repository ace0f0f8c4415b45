"""JSON of scores, as Langfuse's v3 API writes them."""

from collections.abc import Iterable

import numpy as np

from core.demo.evaluators import judge_versions
from core.demo.identity import Identity, hexes
from core.demo.observations import ENVIRONMENT, PROJECT, iso, session_ids, trace_ids
from core.demo.quality import Evaluator
from core.demo.shelf import Records

SOURCES = {
    Evaluator.ANSWER_PRESENT: "API",
    Evaluator.JUDGE_HELPFULNESS: "EVAL",
    Evaluator.CONTAINS_EXPECTED: "API",
    Evaluator.SESSION_OK: "ANNOTATION",
    Evaluator.TRACE_FORMAT_OK: "EVAL",
    Evaluator.HUMAN_REVIEW: "ANNOTATION",
    Evaluator.JSON_VALID: "API",
}
JUDGE, REVIEWERS = "judge-small", "reviewers"
GUIDE = "guide-1"
"""Version of what the reviewers go by."""
_CREATED_MS, _UPDATED_MS = 1_000, 5_400
_SERVERS_TIME = ("timestamp", "createdAt", "updatedAt")


def score_rows(
    records: Records, identity: Identity, epoch: float, groups: Iterable[str]
) -> list[dict[str, object]]:
    """JSON rows; `core` is always there."""
    whole = records["time"] // 1000 * 1000
    times = (iso(records["time"]), iso(whole + _CREATED_MS), iso(records["time"] + _UPDATED_MS))
    about = (
        hexes(records["about"]),
        trace_ids(identity, records["trace"]),
        session_ids(identity, records["session"]),
    )
    names = ("key", "evaluator", "value", "repeat", "error", "inclusion")
    numbers = zip(*(records[name].tolist() for name in names), strict=True)
    versions = judge_versions(records["time"], epoch)
    wanted = frozenset(groups)
    return [
        _row(row, dict(zip(_SERVERS_TIME, at, strict=True)), subject, version, wanted)
        for row, at, subject, version in zip(
            numbers,
            zip(*times, strict=True),
            zip(*about, strict=True),
            versions,
            strict=True,
        )
    ]


def _row(
    numbers: tuple[int, int, float, int, bool, float],
    times: dict[str, str],
    about: tuple[str, str, str],
    version: str,
    groups: frozenset[str],
) -> dict[str, object]:
    key, number, value, repeat, error, inclusion = numbers
    evaluator = Evaluator(number)
    judged = evaluator is Evaluator.JUDGE_HELPFULNESS
    row: dict[str, object] = {
        "id": f"{key:016x}",
        "projectId": PROJECT,
        "name": evaluator.score_name,
        "source": SOURCES[evaluator],
        **times,
        "environment": ENVIRONMENT,
    }
    if "details" in groups:
        told: dict[str, object] = {}
        if judged:
            told = _judge_metadata(version, inclusion, repeat=repeat, error=error)
        elif evaluator is Evaluator.HUMAN_REVIEW:
            told = _metadata(REVIEWERS, GUIDE, inclusion)
        row |= {"comment": None, "configId": None, "metadata": told}
    if "annotation" in groups:
        row |= {"authorUserId": None, "queueId": None}
    if "subject" in groups:
        row["subject"] = _subject(evaluator, *about)
    shown = value if judged else bool(value)
    return {**row, "dataType": "NUMERIC" if judged else "BOOLEAN", "value": shown}


def _metadata(who: str, version: str, inclusion: float) -> dict[str, object]:
    """Return what an evaluator that samples says of itself."""
    return {
        "evaluator": who,
        "evaluator_version": version,
        "inclusion_probability": round(inclusion, 6),
    }


def _judge_metadata(
    version: str, inclusion: float, *, repeat: int, error: bool
) -> dict[str, object]:
    """Return the same of the judge; a value beside an error means nothing."""
    told = _metadata(JUDGE, version, inclusion)
    if repeat >= 0:
        told["repeat"] = repeat
    if error:
        told["status"] = "error"
    return told


def _subject(evaluator: Evaluator, observation: str, trace: str, session: str) -> dict[str, str]:
    if evaluator is Evaluator.SESSION_OK:
        return {"kind": "session", "id": session}
    if evaluator is Evaluator.TRACE_FORMAT_OK:
        return {"kind": "trace", "id": trace}
    return {"kind": "observation", "id": observation, "traceId": trace}


def of_traces(records: Records) -> np.ndarray:
    """Whether scores belong to a trace or something in it, not to a session."""
    found: np.ndarray = records["evaluator"] != Evaluator.SESSION_OK
    return found
