"""`python -m core.report`: the review as a file, without a browser; for a weekly job."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from core.cache.inbox import Inbox
from core.cache.store import Store
from core.config import Settings, load_settings
from core.domain.scope import LABELS, RANGES, Compare, Scope, from_query, to_query
from core.errors import CacheBusyError, DashboardError, ReportError
from core.report.make import Format, Made, document_of, written
from core.report.orders import ReportOrders
from core.views.review import USUAL_COMPARE, USUAL_RANGE

MADE, FAILED, USAGE, COULD_NOT_RUN = 0, 1, 2, 3
GLANCE_S = 0.2
WAIT_S = 300.0


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _arguments()
    args = parser.parse_args(argv)
    scope = _scope(args, parser.error)
    try:
        settings = load_settings()
        wanted = _Wanted(scope, args.experiment, Format(args.format), args.wait)
        made = _made(settings, wanted)
        _write(made, args.out)
    except CacheBusyError as error:
        _say(f"{error}\n{error.next_step}")
        return COULD_NOT_RUN
    except DashboardError as error:
        _say(f"{error}\n{error.next_step}")
        return FAILED
    except OSError as error:
        _say(f"The file cannot be written: {error}")
        return FAILED
    return MADE


class _Wanted(NamedTuple):
    """What was asked for, and how long to wait for it."""

    scope: Scope
    experiment: str | None
    format: Format
    wait_s: float


def _made(settings: Settings, wanted: _Wanted) -> Made:
    """The file out of our own hands, or out of the app's where it holds the cache."""
    path = settings.home / "cache.duckdb"
    if not path.exists():
        raise ReportError(
            f"there is no cache at {path}",
            next_step="Start the app, or collect with `python -m core.collect --merge`; "
            "PREFIXWATCH_DATA_DIR names the folder.",
        )
    try:
        store = Store(path)
    except CacheBusyError as busy:
        return _asked(settings, wanted, busy)
    try:
        store.merge_waiting(Inbox(settings.home / "inbox"))
        document = document_of(
            store, settings, wanted.scope, experiment=wanted.experiment, now=time.time()
        )
        return written(document, wanted.format)
    finally:
        store.close()


def _asked(settings: Settings, wanted: _Wanted, busy: CacheBusyError) -> Made:
    wait_s = wanted.wait_s
    orders = ReportOrders(settings.home / "reports")
    order = orders.place(to_query(wanted.scope), wanted.format, experiment=wanted.experiment)
    _say(f"{busy.detail}; asked it to make the review, waiting up to {wait_s:g} s.")
    until = time.monotonic() + wait_s
    try:
        while time.monotonic() < until:
            answer = orders.answered(order)
            if answer is not None and answer.data is not None and answer.name is not None:
                return Made(answer.name, answer.data)
            if answer is not None:
                raise ReportError(
                    f"{answer.title}: {answer.detail}", next_step=answer.next_step or ""
                )
            time.sleep(GLANCE_S)
    finally:
        orders.withdraw(order)
    raise CacheBusyError(
        f"{busy.detail}, and it did not answer within {wait_s:g} s",
        next_step="Only a running app answers. Wait for the process to end, give it more time "
        "with --wait, or see the log of the app.",
    )


def _write(made: Made, out: Path | None) -> None:
    """Write the file where it was asked for: aside first, so that no half of one is seen."""
    if out == Path("-"):
        sys.stdout.buffer.write(made.data)
        sys.stdout.buffer.flush()
        return
    path = Path(made.name) if out is None else out / made.name if out.is_dir() else out
    aside = path.with_name(f".{path.name}.part")
    aside.write_bytes(made.data)
    aside.replace(path)
    _say(f"wrote {path}")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def _scope(args: argparse.Namespace, refuse: Callable[[str], object]) -> Scope:
    """The scope as a URL would have it, so that both are read by the same rules."""
    names = (*LABELS, "arm", "range", "compare", "from", "to")
    given = {name: value for name in names if (value := getattr(args, name)) is not None}
    fixed = {"from", "to"} & given.keys()
    if args.experiment is not None and given:
        refuse("the plan of an experiment fixes its period and scope: give --experiment alone")
    if fixed and "range" in given:
        refuse("give --range, or --from and --to")
    if not fixed:
        given.setdefault("range", USUAL_RANGE)
    scope, wrong = from_query(given)
    if wrong:
        refuse(f"cannot read {', '.join(wrong)}: --from and --to are two moments, ISO 8601")
    return scope


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.report",
        description="Write the review of a period or an experiment: what changed, efficiency, "
        "quality, decisions, coverage. Reads the cache; where the app holds it, the app is asked. "
        "Exit status: 0 written, 1 it could not be made, 2 wrong arguments, 3 the cache is held "
        "and nobody answered.",
    )
    parser.add_argument(
        "--experiment", metavar="NAME", help="review this experiment instead of a period"
    )
    period = parser.add_argument_group("period")
    period.add_argument("--range", choices=list(RANGES), help=f"until now (default: {USUAL_RANGE})")
    period.add_argument("--from", metavar="TIME", help="start, ISO 8601; UTC without a zone")
    period.add_argument("--to", metavar="TIME", help="end")
    period.add_argument(
        "--compare",
        choices=[one.value for one in Compare if one is not Compare.NONE],
        help=f"the other period: the one before, or the same a day or week earlier "
        f"(default: {USUAL_COMPARE})",
    )
    scope = parser.add_argument_group("scope")
    for name in (*LABELS, "arm"):
        scope.add_argument(f"--{name}", help="only this; default: all")
    parser.add_argument("--format", choices=[one.value for one in Format], default="html")
    parser.add_argument(
        "--out",
        type=Path,
        help="file or folder to write to, - for standard output (default: a file here)",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=WAIT_S,
        metavar="S",
        help=f"seconds to wait for the app to answer (default: {WAIT_S:g})",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
