"""Commands are the guide's, with what is ours beside it, and nothing in a plan escapes them."""

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.bench.commands import OURS, Command, bench_command, displayed, serve_command
from core.domain.bench.plan import Pair, Plan, Serve
from core.domain.bench.presets import guide_pairs, small
from core.domain.bench.runs import runs_of
from core.errors import BenchPlanError
from tests.domain.bench.plans import GUIDE, SMALL, plan_of

URL, FILE = "http://127.0.0.1:8000", Path("/runs/one/result.json")
COMMON = (
    "vllm bench serve --backend openai-chat --endpoint /v1/chat/completions --host 127.0.0.1 "
    "--port 8000 --model llama-3.1-70b --tokenizer /models/llama "
)
END = " --num-prompts 30 --max-concurrency 8 --request-rate inf"
PLAIN = "--dataset-name random --random-input-len 32768 --random-output-len 256 "
PURE = (
    "--dataset-name prefix_repetition --prefix-repetition-prefix-len 32768 "
    "--prefix-repetition-suffix-len 1024 --prefix-repetition-num-prefixes 1 "
    "--prefix-repetition-output-len 256"
)
POST = {
    ("A", "B"): COMMON + PLAIN + "--random-prefix-len 0" + END,
    ("C", "D"): COMMON + PURE + END,
    ("E", "F"): COMMON + PLAIN + "--random-prefix-len 32000" + END,
}
SWITCHES = {"--ignore-eos", "--save-result", "--save-detailed"}


def without_ours(arguments: list[str]) -> list[str]:
    """A command less our flags and their values."""
    kept, skip = [], False
    for argument in arguments:
        if argument in OURS:
            skip = argument not in SWITCHES
        elif skip:
            skip = False
        else:
            kept.append(argument)
    return kept


def test_the_six_commands_are_the_guides() -> None:
    """Less the flags listed as ours, each case at concurrency 8 is the guide's own command."""
    seen = {}
    for run in runs_of(GUIDE):
        if run.concurrency == 8:
            arguments = bench_command(GUIDE, run, URL, FILE).arguments
            assert set(OURS) <= set(arguments)
            seen[run.case] = without_ours(arguments)
    expected = {case: shlex.split(text) for cases, text in POST.items() for case in cases}
    assert seen == expected


def test_the_guides_variant_of_32000_can_be_had() -> None:
    """C/D with 32,000 shared tokens differs in that number alone."""
    plan = replace(GUIDE, pairs=guide_pairs(pure_prefix=32000))
    run = next(run for run in runs_of(plan) if run.case == "D" and run.concurrency == 8)
    expected = POST["C", "D"].replace("prefix-len 32768", "prefix-len 32000")
    assert without_ours(bench_command(plan, run, URL, FILE).arguments) == shlex.split(expected)


def test_the_server_flag_is_said_in_either_case() -> None:
    """OFF and ON servers of a pair differ by one argument, their port aside."""
    off, on = sorted(runs_of(SMALL)[:2], key=lambda run: run.caching)
    off_words = serve_command(SMALL, off, 9001).arguments
    on_words = serve_command(SMALL, on, 9001).arguments
    assert [pair for pair in zip(off_words, on_words, strict=True) if pair[0] != pair[1]] == [
        ("--no-enable-prefix-caching", "--enable-prefix-caching")
    ]
    assert on_words[:5] == [
        "vllm",
        "serve",
        "tiny-llama-model",
        "--served-model-name",
        "tiny-llama",
    ]
    assert on_words[on_words.index("--max-model-len") + 1] == "8192"


def test_a_hash_algorithm_is_given_to_both_servers() -> None:
    """A pair measured under one algorithm has it on both sides, so caching alone differs."""
    plan = replace(SMALL, hash_algorithms=("sha256", "xxhash"))
    seen = {(run.caching, *serve_command(plan, run, 1).arguments) for run in runs_of(plan)}
    named = {(one[0], one[one.index("--prefix-caching-hash-algo") + 1]) for one in seen}
    assert named == {(c, a) for c in (True, False) for a in plan.hash_algorithms}


def test_an_address_with_a_path_or_tls_stays_whole() -> None:
    """What is more than host and port goes as one base URL."""
    run = runs_of(GUIDE)[0]
    arguments = bench_command(GUIDE, run, "https://a.example/vllm/", FILE).arguments
    assert arguments[arguments.index("--base-url") + 1] == "https://a.example/vllm"
    assert "--host" not in arguments


HOSTILE = ["a\nb", "a\rb", "a\0b", "--help", "-x", " --help", "", "  ", "a\u2028b"]


@pytest.mark.parametrize("field", ["model", "tokenizer", "weights", "name"])
@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_strings_are_refused(field: str, value: str) -> None:
    """Line breaks, NUL and leading dashes never become an argument."""
    plan = replace(GUIDE, **{field: value})
    with pytest.raises(BenchPlanError, match=field):
        bench_command(plan, runs_of(GUIDE)[0], URL, FILE)
    with pytest.raises(BenchPlanError, match=field):
        serve_command(plan, runs_of(GUIDE)[0], 8000)


@pytest.mark.parametrize(
    "url",
    [
        *HOSTILE,
        "file:///etc/passwd",
        "127.0.0.1:8000",
        "http://",
        "http://a:b@c:1",
        "http://a b:1",
        "http://a:notaport",
        "http://a:1/?key=x",
    ],
)
def test_addresses_that_are_none_are_refused(url: str) -> None:
    """Only http addresses without credentials; and the credentials are not repeated."""
    with pytest.raises(BenchPlanError) as caught:
        bench_command(GUIDE, runs_of(GUIDE)[0], url, FILE)
    assert "a:b" not in str(caught.value)
    with pytest.raises(BenchPlanError):
        bench_command(replace(GUIDE, on_url=url), runs_of(GUIDE)[0], URL, FILE)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1))
def test_whatever_passes_stays_one_argument(text: str) -> None:
    """A model name that is accepted is one element of the list, unchanged, at its place."""
    plan = replace(GUIDE, model=text)
    run = runs_of(GUIDE)[0]
    try:
        arguments = bench_command(plan, run, URL, FILE).arguments
    except BenchPlanError:
        assert not text.strip() or text.lstrip().startswith("-")
        return
    usual = bench_command(GUIDE, run, URL, FILE).arguments
    assert [a for a, b in zip(arguments, usual, strict=True) if a != b] in ([text], [])


@pytest.mark.parametrize("file", ["/runs/--x", "/runs/a\nb", "-runs/a", "/runs/-a/\0"])
def test_result_files_are_no_options(file: str) -> None:
    """Neither the folder nor the name of a result can be taken for one."""
    with pytest.raises(BenchPlanError, match="result"):
        bench_command(GUIDE, runs_of(GUIDE)[0], URL, Path(file))


def test_shell_letters_are_letters() -> None:
    """`;` and `$(…)` reach the started program as they were written."""
    name = "m; touch /tmp/no $(touch /tmp/no) `id` && x | y"
    command = serve_command(replace(GUIDE, model=name), runs_of(GUIDE)[0], 1)
    assert command.arguments[2] == name
    echo = [sys.executable, "-c", "import sys; print(sys.argv[3])", *command.arguments]
    assert subprocess.check_output(echo, text=True).rstrip("\n") == name
    assert shlex.split(displayed(command))[2] == name


@pytest.mark.parametrize(
    "arguments",
    [
        ("--api-key", "x"),
        ("--api_key=x",),
        ("--hf-token", "x"),
        ("--port", "1"),
        ("--enable-prefix-caching",),
        ("--enable_prefix_caching",),
        ("--no-enable-prefix-cach",),
        ("--prefix-caching-hash-algo=xxhash",),
        ("--config", "a.yaml"),
        ("--uds", "a"),
        ("other-model",),
        ("--enforce-eager", "--", "x"),
        ("--x", "a\nb"),
    ],
)
def test_arguments_the_plan_owns_are_refused(arguments: tuple[str, ...]) -> None:
    """Not even abbreviated: the flag of the pair, the address and secrets are no extra."""
    plan = replace(GUIDE, serve=Serve(arguments))
    with pytest.raises(BenchPlanError, match=r"serve\.arguments"):
        serve_command(plan, runs_of(GUIDE)[0], 8000)


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PATH", "PYTHONPATH", "VLLM_API_KEY", "HF_TOKEN", "VLLM_X\n", "hf_home"]
)
def test_environments_stay_the_engines_own(name: str) -> None:
    """Neither secrets nor what would run other code is put into an environment."""
    run = runs_of(GUIDE)[0]
    with pytest.raises(BenchPlanError):
        serve_command(replace(GUIDE, serve=Serve(environment=((name, "1"),))), run, 8000)
    with pytest.raises(BenchPlanError):
        bench_command(replace(GUIDE, bench_environment=((name, "1"),)), run, URL, FILE)


@pytest.mark.parametrize(
    "plan",
    [
        replace(GUIDE, pairs=()),
        replace(GUIDE, pairs=(*GUIDE.pairs, *GUIDE.pairs)),
        replace(GUIDE, pairs=(Pair("../x", "y", GUIDE.pairs[0].workload),)),
        replace(GUIDE, concurrency=()),
        replace(GUIDE, concurrency=(0,)),
        replace(GUIDE, repeats=0),
        replace(GUIDE, seed=-1),
        replace(GUIDE, hash_algorithms=("md5",)),
        plan_of(Pair("A", "B", replace(GUIDE.pairs[0].workload, prompts=0))),
        plan_of(Pair("A", "B", replace(GUIDE.pairs[0].workload, prefix_tokens=-1))),
        plan_of(Pair("A", "B", replace(GUIDE.pairs[0].workload, prefixes=0))),
        plan_of(Pair("A", "B", replace(GUIDE.pairs[0].workload, prefixes=2))),
    ],
)
def test_plans_that_measure_nothing_are_refused(plan: Plan) -> None:
    """No pair, no concurrency, sizes below one, names that would be paths."""
    with pytest.raises(BenchPlanError):
        serve_command(plan, runs_of(GUIDE)[0], 1)


def test_secrets_are_not_displayed() -> None:
    """Keys, tokens, headers and credentials in an address are stars on the screen."""
    command = Command(
        ["vllm", "--api-key", "k1", "--hf-token=k2", "--header", "Authorization=k3", "h://u:k4@x"],
        {"VLLM_API_KEY": "k5", "HF_TOKEN": "k6", "HF_HOME": "/kept"},
    )
    shown = displayed(command)
    assert "/kept" in shown
    assert not any(f"k{n}" in shown for n in range(1, 7))


def test_what_is_displayed_can_be_typed() -> None:
    """The display form, split by a shell's rules, is the command again."""
    run = runs_of(SMALL)[0]
    command = serve_command(SMALL, run, 8000)
    words = shlex.split(displayed(command))
    assert words[len(command.environment) :] == command.arguments
    assert dict(word.split("=", 1) for word in words[: len(command.environment)]) == (
        command.environment
    )
    assert os.linesep not in displayed(command)


def test_names_of_weights_are_needed_only_where_they_differ() -> None:
    """Without weights of its own, a server loads what its model is called."""
    plan = small("tiny", "tok")
    assert serve_command(plan, runs_of(plan)[0], 1).arguments[:4] == [
        "vllm",
        "serve",
        "tiny",
        "--host",
    ]
