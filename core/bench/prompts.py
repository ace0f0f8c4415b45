"""Prompts of a job made again by the Python of the configured `vllm`, and kept as numbers.

prompts.json of a job holds, for each workload and seed, what was asked for and what came of
it. What the program printed is thrown away: nobody can tell prompts from messages in it.
"""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.bench import made_again
from core.bench.jobs import MAKING, plan_of
from core.bench.processes import hold, write_json
from core.bench.programs import CLIENT_KEY, SERVER_KEY, environment_of, interpreter
from core.config import Settings
from core.domain.bench.commands import Command, prompt_arguments
from core.domain.bench.plan import Plan, Run, Target
from core.domain.bench.prompts import Prompts, Unmade
from core.domain.bench.runs import runs_of

FILE = "prompts.json"
LIMIT_S = 900.0
"""For all workloads of a job together; importing vLLM alone takes ten seconds."""
SAID = {made_again.NO_VLLM: Unmade.NO_VLLM}
TEMPLATE_FLAGS = ("--tokenizer", "--chat-template", "--default-chat-template-kwargs")


@dataclass(frozen=True)
class Asked:
    """One workload and seed: arguments of the benchmark, and whose tokenizer the server has."""

    arguments: tuple[str, ...]
    template: str
    prefixes: int


@dataclass(frozen=True)
class Kept:
    """What came of it."""

    asked: Asked
    prompts: Prompts | Unmade


def make_prompts(folder: Path, settings: Settings, *, pause: Callable[[], None]) -> None:
    """Make the prompts of a job again and keep their numbers in its folder.

    Parameters
    ----------
    pause : callable
        Waits a moment, or raises to end it all.

    Raises
    ------
    BenchmarkError
        It is no folder of a job, or its plan cannot be made into commands.
    """
    plan = plan_of(folder)
    asked = tuple(dict.fromkeys(_asked(plan, run) for run in runs_of(plan)))
    made = _made(asked, plan, folder / MAKING, settings, pause)
    write_json(folder / FILE, [Kept(*both) for both in zip(asked, made, strict=True)])


def prompts_of(folder: Path, plan: Plan, run: Run, *, version: str | None) -> Prompts | Unmade:
    """What is kept of a run's prompts in the folder of its job.

    Parameters
    ----------
    version : str or None
        Of the vLLM that the run was made with: another one may make other prompts.
    """
    try:
        kept = _kept(folder)
    except FileNotFoundError:
        return Unmade.NOT_MADE
    except (OSError, msgspec.DecodeError):
        return Unmade.BROKEN
    wanted = _asked(plan, run)
    found = next((one.prompts for one in kept if one.asked == wanted), Unmade.NOT_MADE)
    if isinstance(found, Prompts) and found.version != version:
        return Unmade.OTHER_VERSION
    return found


def take_prompts(folder: Path, job: Path) -> None:
    """Take the numbers of a folder that another job left into this one's, and nothing else."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        write_json(job / FILE, _kept(folder))


def _kept(folder: Path) -> tuple[Kept, ...]:
    return msgspec.json.decode((folder / FILE).read_bytes(), type=tuple[Kept, ...])


def _asked(plan: Plan, run: Run) -> Asked:
    template = plan.model if plan.weights is None else plan.weights
    if plan.target is Target.GIVEN:
        template = plan.tokenizer
    return Asked(tuple(prompt_arguments(plan, run)), template, run.pair.workload.prefixes)


def _has_own_template(plan: Plan) -> bool:
    """Whether a server was told of another tokenizer or template than its model's."""
    flags = [a.partition("=")[0].replace("_", "-") for a in plan.serve.arguments]
    return any(
        flag.startswith(owned) or owned.startswith(flag)
        for flag in flags
        if flag.startswith("--")
        for owned in TEMPLATE_FLAGS
    )


def _made(
    asked: tuple[Asked, ...],
    plan: Plan,
    folder: Path,
    settings: Settings,
    pause: Callable[[], None],
) -> Iterable[Prompts | Unmade]:
    if _has_own_template(plan):
        return [Unmade.TEMPLATE] * len(asked)
    python = interpreter(settings)
    if python is None:
        return [Unmade.NO_VLLM] * len(asked)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        write_json(folder / "asked.json", asked)
        failed = _run(python, plan, folder, settings, pause)
        return [failed] * len(asked) if failed else _read(folder / "made.json", len(asked))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    python: str, plan: Plan, folder: Path, settings: Settings, pause: Callable[[], None]
) -> Unmade | None:
    """Run the program to its end or its limit; what was wrong with it."""
    script = str(Path(made_again.__file__).resolve())
    files = [str((folder / name).resolve()) for name in ("asked.json", "made.json")]
    environment = environment_of(Command([], dict(plan.bench_environment)), settings)
    for key in (CLIENT_KEY, SERVER_KEY):
        environment.pop(key, None)
    # Modules beside the script are none that vLLM means by such names.
    environment["PYTHONSAFEPATH"] = "1"
    held = hold([python, script, *files], folder, name="made", environment=environment)
    end = time.monotonic() + LIMIT_S
    try:
        while held.ended is None and time.monotonic() < end:
            pause()
        in_time = held.ended is not None
    finally:
        ended = held.stop()
    if not in_time:
        return Unmade.TOO_LONG
    return None if ended.status == 0 else SAID.get(ended.status, Unmade.FAILED)


def _read(file: Path, count: int) -> list[Prompts | Unmade]:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        made = msgspec.json.decode(file.read_bytes(), type=list[Prompts | None])
        if len(made) == count:
            return [Unmade.FAILED if one is None else one for one in made]
    return [Unmade.BROKEN] * count
