"""Options of the command line that make a plan from a preset."""

import argparse
import shlex
from dataclasses import replace
from pathlib import Path

from core.domain.bench.plan import Plan, Serve, Target
from core.domain.bench.presets import PURE_PREFIXES, guide, guide_pairs, small
from core.errors import BenchPlanError

PRESETS = ("small", "guide")


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """What a plan may be asked for."""
    parser.add_argument("--file", type=Path, help="check this plan instead of making one")
    parser.add_argument("--output", type=Path, help="write the plan here (default: print it)")
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--model", help="the model as the server names it")
    parser.add_argument("--tokenizer", help="where the client finds the tokenizer")
    parser.add_argument("--weights", help="what a managed server loads, where it is not --model")
    parser.add_argument("--pairs", nargs="+", metavar="A/B", help="only these pairs")
    parser.add_argument("--concurrency", nargs="+", type=int)
    parser.add_argument("--repeats", type=int, help="a speed verdict needs at least 3")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--hash-algorithms", nargs="+")
    parser.add_argument("--max-model-len", type=int)
    parser.add_argument("--serve-arguments", metavar="TEXT", help="for `vllm serve`, as one text")
    parser.add_argument("--off-url", help="a given server with prefix caching off, and")
    parser.add_argument("--on-url", help="one with it on; without both, servers are managed")
    parser.add_argument(
        "--pure-prefix", type=int, choices=PURE_PREFIXES, help="prefix tokens of the guide's C/D"
    )


def plan_of_options(args: argparse.Namespace) -> Plan:
    """The preset with what was asked for in its place.

    Raises
    ------
    BenchPlanError
        An option says nothing that this preset has.
    """
    make = small if args.preset == "small" else guide
    plan = make(args.model, args.tokenizer, weights=args.weights)
    if args.pure_prefix is not None:
        if args.preset != "guide":
            raise BenchPlanError("--pure-prefix is for the preset guide")
        plan = replace(plan, pairs=guide_pairs(pure_prefix=args.pure_prefix))
    if args.pairs:
        others = set(args.pairs) - {pair.name for pair in plan.pairs}
        if others:
            raise BenchPlanError(f"no pair of this preset is called {', '.join(sorted(others))}")
        plan = replace(plan, pairs=tuple(p for p in plan.pairs if p.name in args.pairs))
    asked = {
        "concurrency": tuple(args.concurrency) if args.concurrency else None,
        "repeats": args.repeats,
        "seed": args.seed,
        "hash_algorithms": tuple(args.hash_algorithms) if args.hash_algorithms else None,
        "off_url": args.off_url,
        "on_url": args.on_url,
        "target": Target.GIVEN if args.off_url or args.on_url else None,
    }
    plan = replace(plan, **{name: value for name, value in asked.items() if value is not None})
    return replace(plan, serve=_serve(plan, args))


def _serve(plan: Plan, args: argparse.Namespace) -> Serve:
    serve = plan.serve
    if args.max_model_len is not None:
        serve = replace(serve, max_model_len=args.max_model_len)
    if args.serve_arguments is not None:
        try:
            serve = replace(serve, arguments=tuple(shlex.split(args.serve_arguments)))
        except ValueError as error:
            raise BenchPlanError(f"--serve-arguments: {error}") from error
    return serve
