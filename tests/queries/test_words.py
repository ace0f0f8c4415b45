"""Texts: each one there, each one used, none of them claims more than was measured."""

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from core import errors
from core.bench.state import Step
from core.catalogue import METRICS
from core.domain.bench.check import Level as BenchLevel
from core.domain.bench.checklist import Look
from core.domain.bench.comparison import Speed
from core.domain.bench.conclusion import Conclusion
from core.domain.bench.conclusion import Kind as BenchKind
from core.domain.bench.judge import Note, Rule, Verdict
from core.domain.bench.plan import Target
from core.domain.bench.prompts import Sharing, Unmade
from core.domain.bench.result import ScrapeState
from core.domain.completion import Basis, State
from core.domain.evaluations import Level, RecordStatus
from core.domain.experiments.changes import ChangeReason
from core.domain.experiments.checks import Check
from core.domain.experiments.comparison import NotExcluded
from core.domain.experiments.levers_guide import LEVERS, QualityCheck
from core.domain.experiments.looks import LOOK_SPENDS_NOTHING
from core.domain.experiments.revisions import RevisionReason
from core.domain.experiments.rules import RuleState
from core.domain.experiments.versions import REGISTERED_AFTER_DATA
from core.domain.exporters import Contract
from core.domain.levers import LeverKind
from core.domain.reading import Reason
from core.domain.scope import LABELS, RANGES, Compare
from core.domain.statistics.holds import HoldReason
from core.domain.unknowns import Unknown
from core.domain.usage import Status, Why
from core.domain.windows import Preempt, Unsure
from core.messages import TEXTS, say
from core.named_queries import cache_queries, prometheus_queries
from core.views.experiment_rules import Action

ROOT = Path(__file__).resolve().parents[2]
FORBIDDEN = re.compile(
    r"\baccura(cy|te|cies)\b|\bTTLs?\b|\btime.to.live\b"
    r"|\bpreempted (requests?|calls?|attempts?)\b"
    r"|\b(requests?|calls?|attempts?) (that |which )?((was|were|is|are|got) )?preempted\b"
    r"|\b(saved|saving|wasted) (GPU|compute|money)\b|\bGPU.(time|hours?|seconds?) saved\b"
    r"|\bsaves? (GPU|compute|money)\b",
    re.IGNORECASE,
)
CAUSAL = re.compile(
    r"\b(because of|caused? by|causes|caused|due to|thanks to|leads? to|led to|results? in|"
    r"resulted in|owing to|has no effect|(?<!not an )effects? of|impacts?( of| on)|affects?|"
    r"affected by|improve[sd]?(?! by another path)|boosts?|degrade[sd]?|harm(s|ed)|hurts?|"
    r"worsens?|speeds up|slows down|proves|guarantees?|makes? \w+ (faster|slower|better|worse))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Use:
    """One call of `say`: its whole key, or how the key begins."""

    where: str
    key: str
    whole: bool
    values: frozenset[str] | None


def program() -> list[Path]:
    core = [p for p in sorted((ROOT / "core").rglob("*.py")) if p.name != "messages.py"]
    return [*core, *sorted((ROOT / "pages").glob("*.py")), ROOT / "app.py"]


def uses() -> Iterator[Use]:
    for path in program():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _is_say(node.func):
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                names = [word.arg for word in node.keywords]
                values = None if None in names else frozenset(n for n in names if n)
                yield from _use(where, node.args[0], values)


def _is_say(func: ast.expr) -> bool:
    return (isinstance(func, ast.Name) and func.id == "say") or (
        isinstance(func, ast.Attribute) and func.attr == "say"
    )


def _use(where: str, key: ast.expr, values: frozenset[str] | None) -> Iterator[Use]:
    if isinstance(key, ast.Constant):
        yield Use(where, key.value, whole=True, values=values)
    elif isinstance(key, ast.JoinedStr):
        first = key.values[0]
        assert isinstance(first, ast.Constant), f"{where}: a key must begin with its topic"
        yield Use(where, first.value, whole=False, values=values)
    elif isinstance(key, ast.IfExp):
        yield from _use(where, key.body, values)
        yield from _use(where, key.orelse, values)


def constants() -> set[str]:
    """Every string in the program: keys also travel in tables and arguments."""
    return {
        node.value
        for path in program()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def placeholders(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_every_key_that_is_said_exists() -> None:
    """No page can ask for a text that is not there."""
    found = list(uses())
    assert len(found) > 100
    for use in found:
        if use.whole:
            assert use.key in TEXTS, use.where
        else:
            assert any(key.startswith(use.key) for key in TEXTS), use.where


def test_every_text_is_said() -> None:
    """No text is left over from a page that is gone."""
    strings = constants()
    beginnings = {use.key for use in uses() if not use.whole}
    beginnings |= {text for text in strings if re.fullmatch(r"[a-z]+\.", text)}
    unused = {key for key in TEXTS if key not in strings and not key.startswith(tuple(beginnings))}
    assert unused == set()


def test_every_text_is_given_its_values() -> None:
    """A text with places for values is never said without them, nor with others."""
    for use in uses():
        if use.whole and use.values is not None:
            assert placeholders(TEXTS[use.key]) == use.values, f"{use.where}: {use.key}"


def kinds_of_source_errors() -> Iterator[str]:
    waiting = [errors.SourceError]
    while waiting:
        found = waiting.pop()
        yield found.kind
        waiting += found.__subclasses__()


@pytest.mark.parametrize(
    "key",
    [
        *(f"{topic}.{reason}" for reason in Reason for topic in ("reason", "why")),
        *(f"lever.{kind}" for kind in LeverKind),
        *(f"compare.{compare}" for compare in Compare),
        *(f"range.{name}" for name in RANGES),
        *(f"scope.{name}" for name in (*LABELS, "arm", "range", "compare", "from", "to")),
        *(f"state.{kind}" for kind in kinds_of_source_errors()),
        *(f"state.{state}" for state in ("following", "backfilling", "up", "down", "unknown")),
        *(f"completion.{state}" for state in State),
        *(f"basis.{basis}" for basis in Basis),
        *(f"usage.{status}" for status in Status),
        *(f"usagewhy.{why}" for why in Why),
        *(f"contract.{contract}" for contract in Contract),
        *(f"level.{level}" for level in Level if level is not Level.OTHER),
        *(f"evaluation.{status}" for status in RecordStatus),
        *(f"unknown.{item}" for item in Unknown),
        *(f"unsure.{why}" for why in Unsure),
        *(f"window.{state}" for state in Preempt),
        *(f"exposure.{w}_{p}" for w in ("engine", "pod", "pool") for p in Preempt),
        *(f"lever_{topic}.{lever}" for lever in LEVERS for topic in ("path", "watch")),
        *(f"lever_quality.{check}" for check in QualityCheck),
        *(f"cannot_exclude.{one}" for one in NotExcluded),
        *(f"evidence.{reason}" for reason in (*HoldReason, *ChangeReason, *RevisionReason)),
        *(f"evidence.{reason}" for reason in (REGISTERED_AFTER_DATA, LOOK_SPENDS_NOTHING)),
        *(f"check.{check}" for check in Check),
        *(f"rule_state.{state}" for state in RuleState),
        *(f"rule_action.{action}" for action in Action),
        *(f"bench_verdict.{verdict}" for verdict in Verdict),
        *(f"bench_rule.{rule}" for rule in Rule),
        *(f"bench_note.{note}" for note in Note),
        *(f"bench_scraped.{state}" for state in ScrapeState),
        *(f"bench_conclusion.{conclusion}" for conclusion in Conclusion),
        *(f"bench_kind.{kind}" for kind in BenchKind),
        *(f"bench_speed.{speed}" for speed in (*Speed, "none")),
        *(f"bench_look.{look}" for look in Look),
        *(f"bench_prompts.{said}" for said in (*Sharing, *Unmade)),
        *(f"bench_step.{step}" for step in Step),
        *(f"bench_level.{level}" for level in BenchLevel),
        *(f"bench.target_{target}" for target in Target),
        *(f"bench_origin.{origin}" for origin in ("launched", "imported", "recorded")),
        *(f"page.{path.stem}" for path in (ROOT / "pages").glob("*.py")),
    ],
)
def test_every_kind_has_its_words(key: str) -> None:
    """Whatever the program can name, a page can say, without a value to fill in."""
    assert say(key).strip()
    assert placeholders(TEXTS[key]) == frozenset()


def told() -> Iterator[tuple[str, str]]:
    """Every text that people read, but for what a number is not.

    Those of pages, of the catalogue, of the doctor, of errors, and of query headers.
    """
    yield from TEXTS.items()
    for path in (*sorted((ROOT / "core" / "doctor").glob("*.py")), ROOT / "core" / "errors.py"):
        for line, text in sentences(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for query in (*cache_queries().values(), *prometheus_queries().values()):
        yield query.where, query.prose
    for metric in METRICS.values():
        for field in fields(metric):
            value = getattr(metric, field.name)
            if field.name != "not_read_as":
                for text in value if isinstance(value, tuple) else (value,):
                    yield f"{metric.key}.{field.name}", text


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """String literals of several words, those of f-strings with a word for each value."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
            parts = (p.value if isinstance(p, ast.Constant) else "it" for p in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif (
            isinstance(node, ast.Constant)
            and id(node) not in inside
            and isinstance(node.value, str)
            and " " in node.value
        ):
            yield node.lineno, node.value


def test_no_text_uses_a_word_that_means_something_else() -> None:
    """Scores are not accuracy, windows are not requests, tokens are not GPU time."""
    wrong = {where: found[0] for where, text in told() if (found := FORBIDDEN.search(text))}
    assert wrong == {}


def test_no_text_claims_a_cause() -> None:
    """What goes together is not said to follow from one another."""
    wrong = {where: found[0] for where, text in told() if (found := CAUSAL.search(text))}
    assert wrong == {}


@pytest.mark.parametrize(
    "text",
    [
        *("Judge accuracy", "an accurate answer", "idle TTL", "TTLs of blocks", "time to live"),
        *("a preempted request", "preempted requests", "this request was preempted"),
        *("requests preempted here", "requests that were preempted", "preempted calls"),
        *("saved GPU time", "this saves GPU hours", "GPU time saved", "saved money"),
    ],
)
def test_forbidden_words_are_seen(text: str) -> None:
    """The pattern finds what it is meant to find."""
    assert FORBIDDEN.search(text)


@pytest.mark.parametrize(
    "text",
    [
        *("throttled, inaccurately settled", "preempted by requests", "tokens, not GPU time"),
        "this engine preempted something while the request ran",
    ],
)
def test_other_words_are_let_be(text: str) -> None:
    """What only sounds alike is not complained about."""
    assert not FORBIDDEN.search(text)
    assert not CAUSAL.search(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Lower because of the cache", "this improves TTFT", "errors due to preemption"),
        *("preemption caused this", "it leads to timeouts", "the effect of routing"),
        *("reuse makes prefill faster", "this hurts quality", "it affects the score"),
        *("impact on latency", "a gap degrades it", "the cache has no effect"),
    ],
)
def test_causal_words_are_seen(text: str) -> None:
    """The pattern finds what it is meant to find, and lets a reason for unknown be."""
    assert CAUSAL.search(text)
    assert not CAUSAL.search("unknown, because nothing was scraped")
    assert not CAUSAL.search("an association and not an effect")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('title = "A preempted request"', ["A preempted request"]),
        ('detail = f"{n} preempted requests of {m}"', ["it preempted requests of it"]),
        ('name = "one"', []),
    ],
)
def test_texts_of_programs_are_read(source: str, found: list[str]) -> None:
    """A sentence is found in a literal and in an f-string; a single word is none."""
    assert [text for _, text in sentences(source)] == found
    assert all(FORBIDDEN.search(text) for text in found)


def test_a_link_is_no_markup() -> None:
    """Texts hold no HTML: what is shown is what is written."""
    assert not [key for key, text in TEXTS.items() if re.search(r"<[a-z/]", text)]
