"""Which observations a request asks for."""

from typing import Any

import numpy as np

from core.demo.arrivals import Kind
from core.demo.asked import bad_request, key_of
from core.demo.fleet import FLEET
from core.demo.identity import Identity, Keys
from core.demo.metadata import REVISIONS, TOKENIZERS, api_base, call_half
from core.demo.people import TEMPLATES, in_arm_b, named, task_types
from core.demo.shelf import Records
from core.domain.records import Bools

_CHAT = np.array([engine.model.namespace == "chat" for engine in FLEET])
_BY_PLACE = {
    "api_base": [api_base(engine) + "/chat/completions" for engine in FLEET],
    "engine_revision": REVISIONS,
    "tokenizer_revision": [TOKENIZERS[engine.model.name] for engine in FLEET],
}
_CALL_IDS = {
    "litellm_call_id": ("call", call_half),
    "response_id": ("response", lambda text: text.removeprefix("chatcmpl-")),
    "client_request_id": ("client", lambda text: text[:16]),
}


class Selection:
    """Conditions on records, all of which must hold."""

    def __init__(
        self,
        identity: Identity,
        *,
        trace: str | None = None,
        session: str | None = None,
        kind: str | None = None,
        filters: list[dict[str, Any]] | None = None,
    ) -> None:
        self._identity = identity
        self._trace = trace
        self._session = session
        self._kind = kind
        self._filters = filters or []
        for one in self._filters:
            if one["column"] not in ("id", "metadata"):
                message = f"Column {one['column']} does not match a UI / CH table mapping."
                raise bad_request(message)

    def covers(self, records: Records) -> Bools:
        """Which records are asked for."""
        wanted = np.ones(records.size, np.bool_)
        if self._trace is not None:
            wanted &= self._is(records, "trace", "trace", self._trace[:16])
        if self._session is not None:
            wanted &= self._is(records, "session", "session", self._session[5:])
            wanted &= named(self._identity, records["session"])
        if self._kind is not None:
            wanted &= _of_type(records, self._kind)
        for one in self._filters:
            wanted &= self._meets(records, one)
        return wanted

    def _is(self, records: Records, field: str, topic: str, text: str) -> Bools:
        serial = self._identity.serial(topic, text)
        found: Bools = records[field] == (-2 if serial is None else serial)
        return found

    def _meets(self, records: Records, condition: dict[str, Any]) -> Bools:
        value, key = condition["value"], condition.get("key")
        if condition["column"] == "id":
            return same_key(records["key"], value)
        if key in _CALL_IDS:
            topic, half = _CALL_IDS[key]
            called = records["kind"] <= Kind.FAILED
            return self._is(records, "call", topic, half(value)) & called
        if key in _BY_PLACE:
            met = np.array([one == value for one in _BY_PLACE[key]])
            at_place: Bools = met[records["place"]] & (records["kind"] <= Kind.FAILED)
            return at_place
        return self._of_session(records, str(key), value)

    def _of_session(self, records: Records, key: str, value: str) -> Bools:
        arm_b = in_arm_b(self._identity, records["session"])
        if key == "arm":
            return _same_arm(arm_b, {"A": "A", "B": "B"}, value)
        if key == "template_version":
            calls: Bools = records["kind"] <= Kind.FAILED
            return _same_arm(arm_b, TEMPLATES, value) & calls
        if key == "task_type":
            tasks = task_types(self._identity, records["session"], records["place"])
            return np.array([task == value for task in tasks])
        return np.zeros(records.size, np.bool_)


def _of_type(records: Records, kind: str) -> Bools:
    if kind in ("SPAN", "AGENT"):
        chat = _CHAT[records["place"]]
        roots: Bools = (records["kind"] == Kind.ROOT) & (chat if kind == "SPAN" else ~chat)
        return roots
    if kind == "TOOL":
        tools: Bools = records["kind"] == Kind.TOOL
        return tools
    calls: Bools = (records["kind"] <= Kind.FAILED) & (kind == "GENERATION")
    return calls


def same_key(keys: Keys, text: str) -> Bools:
    """Which keys an id in text stands for; none if it is no id."""
    key = key_of(text)
    return np.zeros(keys.size, np.bool_) if key < 0 else keys == np.uint64(key)


def _same_arm(arm_b: Bools, names: dict[str, str], value: str) -> Bools:
    return np.where(arm_b, names["B"] == value, names["A"] == value)
