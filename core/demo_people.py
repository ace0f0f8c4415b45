"""What the demo's people enter: plans, changes, looks and decisions, by the doors of a page.

Run as a process of its own on a new fleet, beside the collectors: it makes the fleet's first
hours once to look at them. Keys are made of content, so entering it all again adds nothing.
"""

import time

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.config import load_settings
from core.demo import DECISIONS, LOOKS, demo_log, demo_look, demo_plans, fleet_epoch
from core.demo.fleet import MINUTE_S
from core.demo.gateway import Gateway
from core.domain.experiments.look_record import TakenLook
from core.domain.experiments.versions import History, PlanVersion
from core.experiments import decide, record_look, register
from core.levers import enter


def is_entered(store: Store) -> bool:
    """Whether the cache has all of it: decisions come last."""
    found = store.read("experiment_decisions", {"experiment": None})
    seen = {(row.experiment, row.decided_by) for row in found}
    return all((one.experiment, one.by) in seen for one in DECISIONS)


def enter_all(inbox: Inbox, *, seed: int, epoch: int) -> None:
    """Enter everything of a fleet's first hours: plans and changes before looks."""
    versions = enter_plans(inbox, epoch=epoch)
    gateway = Gateway(seed=seed, epoch=epoch)
    looks = _enter_looks(inbox, versions, gateway)
    for one in DECISIONS:
        version = versions[one.experiment]
        decide(
            inbox,
            one.decision,
            version=version,
            look=looks[one.experiment][-1],
            by_whom=one.by,
            reason=one.reason,
            at=epoch + one.minute * MINUTE_S,
        )


def enter_plans(inbox: Inbox, *, epoch: int) -> dict[str, PlanVersion]:
    """Register the plans and enter what changed because of them; the versions by experiment."""
    versions = {}
    for one in demo_plans(epoch):
        number = register(inbox, one.plan, by_whom=one.by, at=one.at, known=History())
        versions[one.plan.experiment] = PlanVersion(
            number, one.plan, one.plan.plan_hash, one.at, one.by
        )
    for entry in demo_log(epoch):
        enter(inbox, kind=entry.kind, what=entry.what, by_whom=entry.by, link=None, at=entry.at)
    return versions


def _enter_looks(
    inbox: Inbox, versions: dict[str, PlanVersion], gateway: Gateway
) -> dict[str, list[TakenLook]]:
    taken: dict[str, list[TakenLook]] = {experiment: [] for experiment in versions}
    for one in LOOKS:
        mine, at = taken[one.experiment], gateway.epoch + one.minute * MINUTE_S
        record = demo_look(gateway, versions[one.experiment], mine, by=one.by, at=at)
        mine.append(TakenLook(record_look(inbox, record, at=at), at, record))
    return taken


def main() -> None:
    """Enter it for the home that the settings name."""
    settings = load_settings()
    epoch = fleet_epoch(settings, time.time())
    enter_all(Inbox(settings.home / "inbox"), seed=settings.demo_seed, epoch=epoch)


if __name__ == "__main__":
    main()
