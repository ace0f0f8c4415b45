"""A plan's file says the plan again, and is refused by name for anything else."""

import json
from dataclasses import replace
from typing import Any

import pytest

from core.domain.bench.plan import Plan, Serve, Target
from core.domain.bench.plan_file import plan_of_text, plan_text
from core.errors import BenchPlanError
from tests.domain.bench.plans import GUIDE, SMALL

GIVEN = replace(
    GUIDE,
    target=Target.GIVEN,
    off_url="http://a:1",
    on_url="http://b:2",
    hash_algorithms=("sha256",),
    serve=Serve(("--x", "y"), (("VLLM_A", "b"),), 8192),
    run_limit_s=12.5,
)


@pytest.mark.parametrize("plan", [GUIDE, SMALL, GIVEN], ids=lambda plan: plan.name)
def test_a_plan_comes_back_as_it_was(plan: Plan) -> None:
    """Every field, and the same text again."""
    text = plan_text(plan)
    assert plan_of_text(text) == plan
    assert plan_text(plan_of_text(text)) == text


def changed(*path: str | int, value: Any = None, drop: bool = False) -> str:
    """The small plan's file with one place changed or left out."""
    whole = json.loads(plan_text(SMALL))
    at = whole
    for step in path[:-1]:
        at = at[step]
    if drop:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "truncated"),
        ("[]", "expected"),
        ("{", "truncated"),
        (changed("colour", value=1), "colour"),
        (changed("serve", "colour", value=1), r"serve\.colour"),
        (changed("pairs", 1, "workload", "colour", value=1), r"pairs\[1\]\.workload\.colour"),
        (changed("pairs", 1, "colour", value=1), r"pairs\[1\]\.colour"),
        (changed("model", drop=True), "model"),
        (changed("model", value=3), "model"),
        (changed("repeats", value="3"), "repeats"),
        (changed("repeats", value=2.5), "repeats"),
        (changed("repeats", value=True), "repeats"),
        (changed("repeats", value=None), "repeats"),
        (changed("concurrency", value=4), "concurrency"),
        (changed("concurrency", value=[1, "2"]), "concurrency"),
        (changed("pairs", 0, "workload", "dataset", value="sonnet"), "dataset"),
        (changed("target", value="cloud"), "target"),
        (changed("run_limit_s", value=float("nan")), "malformed"),
        (changed("model", value="--help"), "model"),
        (changed("model", value="a\nb"), "model"),
        (changed("serve", "arguments", value=["--api-key", "x"]), "secret"),
    ],
)
def test_what_is_no_plan_is_refused_by_name(text: str, named: str) -> None:
    """Unknown keys, missing ones, other types and hostile strings, each with its place."""
    with pytest.raises(BenchPlanError, match=f"(?i){named}"):
        plan_of_text(text)


def test_defaults_need_not_be_written() -> None:
    """A file may leave out what a plan leaves out."""
    text = json.dumps(
        {key: value for key, value in json.loads(plan_text(GUIDE)).items() if key != "serve"}
    )
    assert plan_of_text(text) == GUIDE
