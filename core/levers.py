"""The lever log as people enter it. It passes through the inbox like everything else."""

from core.cache.inbox import Inbox, rows
from core.domain.levers import LeverKind
from core.domain.records import stable_id


def enter(
    inbox: Inbox,
    *,
    kind: LeverKind,
    what: str,
    by_whom: str | None,
    link: str | None,
    at: float,
) -> None:
    """Record one change, `at` seconds since the epoch; entering it twice adds nothing."""
    record = {
        "lever_id": stable_id("entered", kind, what, by_whom, link, round(at)),
        "happened_at": round(at * 1_000_000),
        "kind": kind.value,
        "origin": "entered",
        "what": what,
        "by_whom": by_whom,
        "link": link,
    }
    inbox.write("levers", {"levers": rows("levers", [record])})
