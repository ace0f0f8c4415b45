"""What a session says of itself: drawn from its serial number, so never stored."""

import numpy as np

from core.demo.fleet import FLEET
from core.demo.identity import Identity
from core.domain.records import Bools, Floats, Ints

ARM_B_SHARE = 0.5
TEMPLATES = {"A": "v3", "B": "v4"}
ANONYMOUS_SHARE = 0.001
"""Share of the sessions whose client sends no session id: so few that no experiment holds."""
STREAMING_SHARE = {"chat": 0.75, "agents": 0.3}
USERS = 400
TASKS = {
    "chat": (("qa", 0.4), ("chat", 0.4), ("summary", 0.2)),
    "agents": (("agent", 0.6), ("code", 0.3), ("qa", 0.1)),
}
"""Task types by namespace, with their shares of the sessions."""
TASK_TYPES = tuple(dict.fromkeys(task for tasks in TASKS.values() for task, _ in tasks))

_NAMES = np.array(TASK_TYPES, dtype=object)
_CHAT = np.array([engine.model.namespace == "chat" for engine in FLEET])


def in_arm_b(identity: Identity, session: Ints) -> Bools:
    """Whether each session is in arm B; else it is in A."""
    return identity.fractions("arm", session) < ARM_B_SHARE


def named(identity: Identity, session: Ints) -> Bools:
    """Whether each session sends an id."""
    return identity.fractions("named", session) >= ANONYMOUS_SHARE


def streaming(identity: Identity, session: Ints, place: Ints) -> Bools:
    """Whether each session asks for streams."""
    share = np.where(_CHAT[place], STREAMING_SHARE["chat"], STREAMING_SHARE["agents"])
    streams: Bools = identity.fractions("stream", session) < share
    return streams


def tasks(identity: Identity, session: Ints, place: Ints) -> Ints:
    """What each session is about, as a place in `TASK_TYPES`."""
    drawn = identity.fractions("task", session)
    chat, agents = (_drawn_from(TASKS[namespace], drawn) for namespace in ("chat", "agents"))
    return np.where(_CHAT[place], chat, agents)


def task_types(identity: Identity, session: Ints, place: Ints) -> list[str]:
    """What each session is about."""
    names: list[str] = _NAMES[tasks(identity, session, place)].tolist()
    return names


def users(identity: Identity, session: Ints) -> list[str]:
    """Who talks, as a name."""
    numbers = (identity.fractions("user", session) * USERS).astype(int)
    return [f"user-{number:03d}" for number in numbers.tolist()]


def _drawn_from(shares: tuple[tuple[str, float], ...], drawn: Floats) -> Ints:
    bounds = np.cumsum([share for _, share in shares])
    chosen = np.minimum(bounds.searchsorted(drawn, "right"), len(shares) - 1)
    codes: Ints = np.array([TASK_TYPES.index(task) for task, _ in shares])[chosen]
    return codes
