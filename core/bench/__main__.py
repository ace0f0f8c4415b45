"""`python -m core.bench plan|run|judge|import`: a benchmark from the command line."""

import argparse
import logging
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from core.bench.allowed import refuse_unless_allowed
from core.bench.imported import take_in
from core.bench.jobs import Jobs, plan_of
from core.bench.judged import judge_job
from core.bench.launch import launch, run_here, serve_job
from core.bench.options import add_plan_options, plan_of_options
from core.bench.programs import has_xxhash
from core.bench.prompts import make_prompts
from core.bench.report import check_report, judgement_report
from core.bench.state import RunState, Step, read_state
from core.bench.watch import GLANCE_S
from core.config import Settings, load_settings
from core.domain.bench.check import Known, check
from core.domain.bench.plan import Plan
from core.domain.bench.plan_file import plan_of_text, plan_text
from core.errors import BenchPlanError, BenchResultError, DashboardError

DONE, FAILED, REFUSED = 0, 1, 2


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 1 failed, 2 refused."""
    args = _arguments().parse_args(argv)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    do: Callable[[argparse.Namespace, Settings], int] = args.do
    try:
        return do(args, load_settings())
    except DashboardError as error:
        sys.stderr.write(f"{error}\n{error.next_step}\n")
        return REFUSED


def _plan(args: argparse.Namespace, settings: Settings) -> int:
    plan = _asked(args) if args.file is None else _read(args.file)
    found = check(plan, Known(xxhash_installed=has_xxhash(settings)))
    sys.stderr.write(check_report(plan, found))
    text = plan_text(plan)
    if args.output is None:
        sys.stdout.write(text)
    else:
        args.output.write_text(text, encoding="utf-8")
    return DONE if found.can_start else REFUSED


def _run(args: argparse.Namespace, settings: Settings) -> int:
    if args.job is not None:
        return DONE if serve_job(args.job, settings).step is Step.DONE else FAILED
    if args.plan is None:
        raise BenchPlanError("no plan file is given")
    plan, token = _read(args.plan), args.token or uuid.uuid4().hex
    jobs = Jobs(settings)
    for job_id in jobs.sweep():
        sys.stderr.write(f"job {job_id}: its runner had died, it was finished as failed\n")
    if args.detach:
        job_id = launch(plan, token, settings=settings)
        folder = jobs.job(job_id)
        sys.stdout.write(f"{folder}\nto cancel: touch {folder / 'cancel'}\n")
        return DONE
    state = run_here(plan, token, settings=settings, tell=_tell)
    folder = jobs.job(state.job_id)
    judgement = judge_job(folder)
    sys.stdout.write(f"{folder}\n{judgement_report(judgement, state)}")
    return DONE if judgement.valid == len(state.runs) else FAILED


def _tell(run: RunState) -> None:
    reason = "" if run.reason is None else f" ({run.reason})"
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {run.run_id}: {run.step}{reason}\n")


def _judge(args: argparse.Namespace, settings: Settings) -> int:
    if args.prompts:
        refuse_unless_allowed(plan_of(args.folder), settings)
        make_prompts(args.folder, settings, pause=lambda: time.sleep(GLANCE_S))
    judgement, state = judge_job(args.folder), read_state(args.folder)
    sys.stdout.write(judgement_report(judgement, state))
    return DONE if state.ended and 0 < judgement.valid == len(judgement.runs) else FAILED


def _import(args: argparse.Namespace, settings: Settings) -> int:
    if not args.folder.is_dir():
        raise BenchResultError(f"{args.folder} is no folder")
    plan = plan_of(args.folder) if args.plan is None else _read(args.plan)
    job_id = take_in(args.folder, plan, settings, exit_code=args.exit_code)
    folder = Jobs(settings).job(job_id)
    judgement = judge_job(folder)
    sys.stdout.write(f"{folder}\n{judgement_report(judgement)}")
    return DONE if judgement.valid == len(judgement.runs) else FAILED


def _read(path: Path) -> Plan:
    try:
        return plan_of_text(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        raise BenchPlanError(f"{path} cannot be read: {error}") from error


def _asked(args: argparse.Namespace) -> Plan:
    if args.model is None or args.tokenizer is None:
        raise BenchPlanError("a preset needs --model and --tokenizer")
    return plan_of_options(args)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.bench",
        description="Prefix caching OFF and ON, measured by `vllm bench serve` and judged by "
        "evidence. Exit status: 0 done, 1 failed or not valid, 2 refused.",
    )
    commands = parser.add_subparsers(required=True, metavar="plan|run|judge|import")
    plan = commands.add_parser("plan", help="write a plan and check it; starts nothing")
    add_plan_options(plan)
    plan.set_defaults(do=_plan)
    run = commands.add_parser("run", help="run a plan to its end; Ctrl-C cancels")
    run.add_argument("plan", nargs="?", type=Path, metavar="PLAN.json")
    run.add_argument("--detach", action="store_true", help="let it go on by itself")
    run.add_argument("--token", help="launch once for each token (default: a new one)")
    run.add_argument("--job", help=argparse.SUPPRESS)
    run.set_defaults(do=_run)
    judge = commands.add_parser("judge", help="judge the folder of a job again")
    judge.add_argument("folder", type=Path)
    judge.add_argument(
        "--prompts",
        action="store_true",
        help="first make its prompts again with the configured vllm, where launching is allowed",
    )
    judge.set_defaults(do=_judge)
    take = commands.add_parser("import", help="judge results that exist; starts nothing")
    take.add_argument("folder", type=Path)
    take.add_argument("--plan", type=Path, help="what was run (default: plan.json of the folder)")
    take.add_argument(
        "--exit-code", type=int, help="of the benchmarks, where you know it and no file says it"
    )
    take.set_defaults(do=_import)
    return parser


if __name__ == "__main__":
    sys.exit(main())
