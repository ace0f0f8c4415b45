"""Prompts made again beside a fake vLLM: numbers or a reason, and no text."""

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.bench import prompts
from core.bench.__main__ import DONE, REFUSED, main
from core.bench.judged import judged
from core.bench.launch import launch, run_here
from core.bench.made_again import aligned, leading, numbers_of
from core.bench.prompts import make_prompts, prompts_of
from core.bench.stored import batch_of
from core.bench.watch import CancelledError
from core.domain.bench.plan import Plan, Serve
from core.domain.bench.plan_file import plan_text
from core.domain.bench.prompts import Prompts, Unmade
from core.domain.bench.result import RunEvidence
from core.domain.bench.runs import runs_of
from tests.bench.conftest import Home, until

RECORDED = Path(__file__).parents[1] / "recordings" / "vllm_bench" / "small-0.32.0"
TEXT = "a prompt "
MODULE = """
import json, os, sys, time, types
from pathlib import Path

def add_cli_args(parser):
    parser.add_argument("--tokenizer-mode", default="auto")
    for flag in ("model", "tokenizer", "dataset-name"):
        parser.add_argument("--" + flag)
    for flag in ("prefix-len", "suffix-len", "num-prefixes", "output-len"):
        parser.add_argument("--prefix-repetition-" + flag, type=int)
    for flag in ("num-prompts", "seed"):
        parser.add_argument("--" + flag, type=int)

class Tokenizer:
    def encode(self, text, add_special_tokens):
        return [ord(letter) for letter in text]
    def decode(self, tokens):
        return "".join(map(chr, tokens))
    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        return "<" + messages[0]["content"] + ">"

def get_tokenizer(name, tokenizer_mode="auto"):
    print("TEXT", name)
    return Tokenizer()

def get_samples(args, tokenizer):
    texts = ["TEXT" + chr(65 + n) * (n + 1) for n in range(args.num_prompts)]
    return [types.SimpleNamespace(prompt=text, prompt_len=len(text)) for text in texts]
""".replace("TEXT", TEXT)


@pytest.fixture
def fake(home: Home, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Puts a vLLM beside our Python: its benchmark makes texts with one beginning."""

    def put(more: str = "", version: str = "0.32.0") -> None:
        package = home.folder / "packages" / "vllm"
        (package / "benchmarks").mkdir(parents=True)
        (package / "__init__.py").write_text(f'__version__ = "{version}"')
        (package / "benchmarks" / "__init__.py").touch()
        (package / "benchmarks" / "serve.py").write_text(MODULE + more)
        monkeypatch.setenv("PYTHONPATH", str(package.parent))

    return put


def made(home: Home, plan: Plan, *, version: str | None = "0.32.0") -> Prompts | Unmade:
    """What is known of the prompts of a job with this plan."""
    folder = home.folder / "job"
    folder.mkdir()
    (folder / "plan.json").write_text(plan_text(plan))
    make_prompts(folder, home.settings, pause=lambda: None)
    assert {path.name for path in folder.iterdir()} == {"plan.json", "prompts.json"}
    assert TEXT not in (folder / "prompts.json").read_text()
    return prompts_of(folder, plan, runs_of(plan)[0], version=version)


def test_a_job_keeps_the_numbers_of_its_prompts(
    home: Home, plan: Plan, fake: Callable[..., None]
) -> None:
    """Once for both runs of a pair, in a file, the evidence and the cache; no text in any."""
    fake()
    state = run_here(plan, "one wish", settings=home.settings)
    folder = home.jobs.job(state.job_id)
    expected = Prompts("0.32.0", 6, len(TEXT) + 3, len(TEXT) + 8, len(TEXT) + 1, 6 * 11 + 21)
    assert [one.evidence.prompts for one in judged(folder).runs] == [expected] * 2
    assert len(json.loads((folder / "prompts.json").read_bytes())) == 1
    rows = batch_of(folder, digest="1", recorded=False, now=1.0)["bench_runs"]
    kept = [msgspec.json.decode(row["evidence"], type=RunEvidence) for row in rows]
    assert [one.prompts for one in kept] == [expected] * 2
    for path in folder.glob("**/*"):
        assert path.is_dir() or TEXT.encode() not in path.read_bytes(), path


def test_without_vllm_a_job_is_judged_all_the_same(home: Home, plan: Plan) -> None:
    """Our own Python has none: the runs are valid, their prompts unknown with that reason."""
    state = run_here(plan, "one wish", settings=home.settings)
    runs = judged(home.jobs.job(state.job_id)).runs
    assert [one.evidence.prompts for one in runs] == [Unmade.NO_VLLM] * 2
    assert all(one.verdict.is_valid for one in runs)


@pytest.mark.parametrize("program", ["#!/bin/sh\n", "\x7fELF", "#!/usr/bin/env python3\n"])
def test_a_command_whose_python_is_not_known_makes_none(
    home: Home, plan: Plan, program: str
) -> None:
    """Nothing is started that is not named as a Python by the command itself."""
    Path(home.settings.bench_vllm).write_text(program)
    assert made(home, plan) is Unmade.NO_VLLM


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("raise RuntimeError", Unmade.FAILED),
        ("def get_samples(*_): raise ValueError", Unmade.FAILED),
        ("def add_cli_args(parser): pass", Unmade.FAILED),
        ("def get_samples(*_): return []", Unmade.FAILED),
        ("os._exit(0)", Unmade.BROKEN),
        ("Path(sys.argv[2]).write_text('[{'); os._exit(0)", Unmade.BROKEN),
        ("Path(sys.argv[2]).write_text('[]'); os._exit(0)", Unmade.BROKEN),
        ('Path(sys.argv[2]).write_text(\'[{"version": "0.32.0"}]\'); os._exit(0)', Unmade.BROKEN),
    ],
)
def test_what_goes_wrong_is_a_reason(
    home: Home, plan: Plan, fake: Callable[..., None], more: str, reason: Unmade
) -> None:
    """A vLLM that fails, makes nothing, or writes what is none of ours gives no number."""
    fake(f"\n{more}\n")
    assert made(home, plan) is reason


def test_numbers_that_cannot_be_are_not_believed(
    home: Home, plan: Plan, fake: Callable[..., None]
) -> None:
    """More shared than the shortest prompt has."""
    numbers = {"requests": 1, "shortest": 2, "longest": 2, "shared_tokens": 3, "total_tokens": 2}
    text = json.dumps([numbers | {"version": "0.32.0"}])
    fake(f"\nPath(sys.argv[2]).write_text({text!r}); os._exit(0)\n")
    assert made(home, plan) is Unmade.BROKEN


def test_making_them_ends_at_its_limit(
    home: Home, plan: Plan, fake: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes too long is ended, and nothing of it is left."""
    monkeypatch.setattr(prompts, "LIMIT_S", 0.3)
    fake("\ntime.sleep(600)\n")
    assert made(home, plan) is Unmade.TOO_LONG
    assert home.left() == []


def test_a_cancel_ends_it(home: Home, plan: Plan, fake: Callable[..., None]) -> None:
    """Whoever waits may end it: nothing is kept and nothing is left."""
    fake("\ntime.sleep(600)\n")
    (home.folder / "plan.json").write_text(plan_text(plan))

    def pause() -> None:
        raise CancelledError

    with pytest.raises(CancelledError):
        make_prompts(home.folder, home.settings, pause=pause)
    assert not (home.folder / "prompts.json").exists()
    assert home.left() == []


def test_a_runner_killed_meanwhile_leaves_nothing_of_it(
    home: Home, plan: Plan, fake: Callable[..., None]
) -> None:
    """The next sweep ends the job, and what the program had printed is gone."""
    fake("\ntime.sleep(600)\n")
    job_id = launch(plan, "wish", settings=home.settings)
    folder = home.jobs.job(job_id)
    until((folder / "prompts" / "made.process.json").exists, most_s=30)
    runner = home.jobs.runner_of(job_id)
    assert runner is not None
    os.kill(runner.pid, signal.SIGKILL)
    until(lambda: home.jobs.sweep() == [job_id], most_s=30)
    assert {"plan.json", "runs"} < {path.name for path in folder.iterdir()}
    assert not (folder / "prompts").exists()
    until(lambda: home.left() == [])


def test_the_program_gets_no_key(home: Home, plan: Plan, fake: Callable[..., None]) -> None:
    """It asks no server."""
    fake("\nassert not {'OPENAI_API_KEY', 'VLLM_API_KEY'} & set(os.environ)\n")
    assert isinstance(made(home, plan), Prompts)


@pytest.mark.parametrize("version", ["0.26.0", None])
def test_another_version_makes_other_prompts(
    home: Home, plan: Plan, fake: Callable[..., None], version: str | None
) -> None:
    """Numbers count only for runs of the very version that made them."""
    fake()
    assert made(home, plan, version=version) is Unmade.OTHER_VERSION


@pytest.mark.parametrize(
    "argument", ["--chat-template=x.jinja", "--tokenizer", "--chat_template_content_format"]
)
def test_a_server_with_a_template_of_its_own_is_not_imitated(
    home: Home, plan: Plan, fake: Callable[..., None], argument: str
) -> None:
    """Nobody here knows what it makes of a message."""
    fake()
    told = replace(plan, serve=Serve((argument,)))
    assert made(home, told) is Unmade.TEMPLATE


def test_hostile_names_stay_one_argument(home: Home, plan: Plan, fake: Callable[..., None]) -> None:
    """No shell reads them, and vLLM gets them letter by letter."""
    name = "x';$(touch hacked)`touch hacked`|& \"<b>"
    fake(
        f"\ndef get_tokenizer(name, tokenizer_mode=''):\n    assert name == {name!r}\n"
        "    return Tokenizer()\n"
    )
    assert isinstance(made(home, replace(plan, model=name, tokenizer=name)), Prompts)
    assert not Path("hacked").exists()


def test_recorded_prompts_are_those_that_were_sent(home: Home) -> None:
    """Made again by the real vLLM: as many tokens as its server counted, and the planned prefix."""
    assert main(["import", str(RECORDED)]) == DONE
    (state,) = home.jobs.all()
    shared = {"A": 1, "B": 1, "C": 2048, "D": 2048, "E": 2001, "F": 2001}
    for one in judged(home.jobs.job(state.job_id)).runs:
        seen, again = one.evidence.increase(), one.evidence.prompts
        assert seen is not None
        assert isinstance(again, Prompts)
        assert again.total_tokens == seen.prompt_tokens
        assert again.shared_tokens == shared[one.run.case]


def test_judging_makes_prompts_only_where_launching_is_allowed(
    home: Home, plan: Plan, fake: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked to, `judge` makes them first; with launching off it is refused."""
    state = run_here(plan, "one wish", settings=home.settings)
    folder = home.jobs.job(state.job_id)
    fake()
    assert main(["judge", str(folder), "--prompts"]) == DONE
    assert isinstance(judged(folder).runs[0].evidence.prompts, Prompts)
    monkeypatch.setenv("PREFIXWATCH_BENCH_LAUNCH", "false")
    assert main(["judge", str(folder), "--prompts"]) == REFUSED


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=8),
)
def test_shared_tokens_are_the_fewest_of_any_two(tokens: list[list[int]]) -> None:
    """Of one prefix: what first and last in order share is what all pairs share at least."""
    pairs = [leading(one, other) for one in tokens for other in tokens]
    found = numbers_of(tokens, 1)
    assert found["shared_tokens"] == min(pairs)
    assert found["total_tokens"] == sum(map(len, tokens))


@given(st.lists(st.lists(st.integers(9, 11)), min_size=3, max_size=3), st.randoms())
def test_prompts_of_several_prefixes_are_told_apart(ends: list[list[int]], dice: object) -> None:
    """Shuffled requests of three prefixes share the shortest of them at least."""
    begins = ([1, 5, 5], [2, 5], [3, 5, 5, 5])
    tokens = [[*begin, *end] for begin in begins for end in ends]
    dice.shuffle(tokens)  # type: ignore[attr-defined]
    assert numbers_of(tokens, 3)["shared_tokens"] == 2 + min(
        leading(one, other) for one in ends for other in ends
    )


def test_prompts_are_cut_as_the_benchmark_cuts_them() -> None:
    """All of them, and only if the server counts the first one otherwise."""

    class Letters:
        def encode(self, text: str, *, add_special_tokens: bool) -> list[str]:
            assert not add_special_tokens
            return list(text)

        def decode(self, tokens: list[str]) -> str:
            return "".join(tokens)

    kept = [("abc", 3), ("abcd", 3)]
    assert aligned(kept, Letters()) == kept
    assert aligned([("abcd", 3), ("ab", 3), ("xyzz", 3)], Letters()) == [
        ("abc", 3),
        ("ab", 3),
        ("xyz", 3),
    ]
