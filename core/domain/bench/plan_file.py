"""A plan as the text of a JSON file, and back: what is not known there is refused by name."""

from typing import Any

import msgspec

from core.domain.bench.plan import Plan
from core.domain.bench.refusals import refuse
from core.errors import BenchPlanError


def plan_text(plan: Plan) -> str:
    """The plan as JSON with an indent, in the order of its fields, so that two can be compared."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2).decode() + "\n"


def plan_of_text(text: str) -> Plan:
    """The plan that a file's text holds.

    Raises
    ------
    BenchPlanError
        For text that is no JSON, a key that no plan has, a missing key or a value of another
        type (each named), and for everything a plan may not say.

    >>> plan_of_text('{"name": 3}')
    Traceback (most recent call last):
    core.errors.BenchPlanError: ...refused: Expected `str`, got `int` - at `$.name`
    """
    try:
        plan = msgspec.json.decode(text, type=Plan)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BenchPlanError(str(error)) from error
    _no_other_keys(msgspec.json.decode(text), msgspec.to_builtins(plan), "$")
    refuse(plan)
    return plan


def _no_other_keys(said: Any, known: Any, at: str) -> None:
    if isinstance(said, dict) and isinstance(known, dict):
        for key, value in said.items():
            if key not in known:
                raise BenchPlanError(f"a plan has no {at}.{key}")
            _no_other_keys(value, known[key], f"{at}.{key}")
    elif isinstance(said, list):
        for place, (one, other) in enumerate(zip(said, known, strict=True)):
            _no_other_keys(one, other, f"{at}[{place}]")
