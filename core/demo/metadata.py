"""Metadata of observations: what the proxy adds, and what the client sends along."""

import json
from functools import cache
from typing import Any

import msgspec

from core.demo.arrivals import Kind
from core.demo.fleet import FLEET, Engine
from core.demo.identity import Identity
from core.demo.people import TEMPLATES, in_arm_b, task_types
from core.demo.shelf import Records

CUT_AT = 200
"""Longer values come back as cut text unless their key is expanded."""
TOKENIZERS = {"qwen3-32b": "9216db5", "llama-4-scout": "7dab2f5", "gpt-oss-120b": "b5c939d"}
REVISIONS = [engine.vllm for engine in FLEET]
_SDK = {"scope.name": "langfuse-sdk", "resourceAttributes.langfuse.environment": "production"}
_PROXY: dict[str, Any] = {
    "litellm_response_cost": 0,
    "requester_custom_headers": {},
    "applied_guardrails": [],
    "user_agent": "openai-python/2.14.0",
    "user_api_key_request_route": "/v1/chat/completions",
    **_SDK,
}
_STREAMED: dict[str, object] = dict.fromkeys(
    ("audio_tokens", "image_tokens", "text_tokens", "video_tokens")
)
_UNPREDICTED = dict.fromkeys(("accepted_prediction_tokens", "rejected_prediction_tokens"))


class Metadata:
    """Makes the metadata of one page of rows."""

    def __init__(self, rows: Records, identity: Identity, expanded: frozenset[str]) -> None:
        self._rows = rows
        self._identity = identity
        self._expanded = expanded

    def column(self) -> list[dict[str, object]]:
        """Metadata row by row."""
        rows, identity = self._rows, self._identity
        arms = ["B" if one else "A" for one in in_arm_b(identity, rows["session"]).tolist()]
        tasks = task_types(identity, rows["session"], rows["place"])
        calls = [identity.hexes(topic, rows["call"]) for topic in ("call", "response", "client")]
        names = ("kind", "place", "prompt", "cached", "output", "stream", "retried")
        numbers = zip(*(rows[name].tolist() for name in names), strict=True)
        return [
            self._one(arm, task, ids, *row)
            for arm, task, ids, row in zip(
                arms, tasks, zip(*calls, strict=True), numbers, strict=True
            )
        ]

    def _one(  # noqa: PLR0913, PLR0917 - one row
        self,
        arm: str,
        task: str,
        ids: tuple[str, str, str],
        kind: int,
        place: int,
        prompt: int,
        cached: int,
        output: int,
        stream: bool,  # noqa: FBT001
        retried: bool,  # noqa: FBT001
    ) -> dict[str, object]:
        if kind > Kind.FAILED:
            return {"arm": arm, "task_type": task, **_SDK}
        call, response, client = ids
        failed = kind == Kind.FAILED
        told = {} if failed else usage_object(kind, prompt, cached, output, stream=stream)
        answered = {"response_id": f"chatcmpl-{response}", "cache_hit": False}
        return {
            "arm": arm,
            "template_version": TEMPLATES[arm],
            "task_type": task,
            "tokenizer_revision": TOKENIZERS[FLEET[place].model.name],
            "engine_revision": REVISIONS[place],
            "client_request_id": client + response,
            **({} if failed else answered),
            "litellm_call_id": call_id(call, client),
            "api_base": api_base(FLEET[place]) + "/chat/completions",
            "hidden_params": self._hidden(place, failed=failed, retried=retried),
            "usage_object": told if "usage_object" in self._expanded else cut(told),
            **_PROXY,
        }

    def _hidden(self, place: int, *, failed: bool, retried: bool) -> msgspec.Raw:
        whole = "hidden_params" in self._expanded
        return _hidden_params(place, failed=failed, retried=retried, whole=whole)


def api_base(engine: Engine) -> str:
    """Address of an engine as a deployment of the proxy has it."""
    return f"http://{engine.instance}/v1"


def call_id(half: str, rest: str) -> str:
    """UUID of a call from the 16 hexadecimal digits that name it, and 14 more."""
    return f"{half[:8]}-{half[8:12]}-4{half[12:15]}-8{half[15:]}{rest[:2]}-{rest[2:14]}"


def call_half(text: str) -> str:
    """Undo `call_id`: the 16 hexadecimal digits, or a text that names nothing.

    >>> call_half(call_id("0123456789abcdef", "f" * 16))
    '0123456789abcdef'
    """
    half = text.replace("-", "")
    return half[:12] + half[13:16] + half[17:18]


def raw_hits(kind: int, cached: int) -> object:
    """Cached tokens as an exporter writes them, wrong ones too."""
    if kind == Kind.BOOLEAN:
        return True
    return str(cached) if kind == Kind.TEXT else cached


def usage_object(
    kind: int, prompt: int, cached: int, output: int, *, stream: bool
) -> dict[str, object]:
    """Build usage as the engine sent it, or as the proxy estimated it for a cancelled stream."""
    further = _STREAMED if stream else {"created_cache_tokens": 0}
    details: dict[str, object] | None = {"cached_tokens": raw_hits(kind, cached), **further}
    estimate: dict[str, object] = {}
    if kind == Kind.UNREPORTED:
        details = None
    if kind == Kind.CANCELLED:
        details = {"cached_tokens": 0}
        estimate = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    generated = {**_UNPREDICTED, "reasoning_tokens": 0, "text_tokens": output} if stream else None
    return {
        "completion_tokens": output,
        "prompt_tokens": prompt,
        "total_tokens": prompt + output,
        "completion_tokens_details": generated,
        "prompt_tokens_details": details,
        **estimate,
    }


@cache
def parameters(limit: int, revision: str, *, stream: bool) -> msgspec.Raw:
    """Parameters of a call, as JSON."""
    streamed = {"stream": "true", "stream_options": "{'include_usage': True}"}
    told: dict[str, object] = {
        "temperature": 0,
        **(streamed if stream else {"stream": "false"}),
        "max_tokens": limit,
        "max_retries": 0,
        "extra_body": "{}",
    }
    if not stream:
        told["system_fingerprint"] = f"vllm-{revision}"
    return msgspec.Raw(msgspec.json.encode(told))


@cache
def _hidden_params(place: int, *, failed: bool, retried: bool, whole: bool) -> msgspec.Raw:
    engine = FLEET[place]
    told: dict[str, object] = {"response_cost": 0}
    if not failed:
        told = {
            "model_id": engine.pod,
            "api_base": api_base(engine),
            **told,
            "additional_headers": {
                "x-litellm-model-group": engine.model.name,
                "x-litellm-attempted-retries": int(retried),
                "x-litellm-attempted-fallbacks": 0,
            },
            "litellm_model_name": f"hosted_vllm/{engine.model.name}",
        }
    return msgspec.Raw(msgspec.json.encode(told if whole else cut(told)))


def cut(value: dict[str, object]) -> object:
    """Return a value as it comes back unasked: whole if short, else the beginning of its text."""
    text = json.dumps(value)
    return value if len(text) <= CUT_AT else text[:CUT_AT]
