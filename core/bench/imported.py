"""Results that were made elsewhere, taken in as a judged job; nothing is launched.

A folder of ours is recognised by its runs/<run_id>/. Otherwise files are found by name, in
the folder or below it: for case D at concurrency 8 a result `D_c8.json` (`D_c8_r2.json` for a
repeat, or the run's own id), `D_c8_before.prom` and `D_c8_after.prom`, `D_c8.server.log`,
`server_D.log` or `server_on.log`, `D_c8.stdout.txt` and `.stderr.txt`; exit statuses in
`index*.jsonl` with `tag` and `exit_code`. What is not there stays unknown to the judge.
"""

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from core.bench import evidence
from core.bench.evidence import Seen, write_seen
from core.bench.jobs import Jobs
from core.bench.prompts import take_prompts
from core.bench.results import KEPT
from core.bench.server import LOG
from core.bench.state import Step
from core.config import Settings
from core.domain.bench.plan import Plan, Run
from core.domain.bench.runs import runs_of
from core.errors import BenchResultError
from core.sources.vllm_bench import strip_texts

OURS = (
    KEPT,
    evidence.FILE,
    evidence.BEFORE,
    evidence.AFTER,
    LOG,
    "bench.stdout",
    "bench.stderr",
    "command.txt",
)


def take_in(folder: Path, plan: Plan, settings: Settings, *, exit_code: int | None = None) -> str:
    """Make a job of results that lie in a folder; its id. The same files make one job.

    Parameters
    ----------
    exit_code : int or None
        Of every benchmark whose own is in no file; None: unknown.

    Raises
    ------
    BenchResultError
        No run of the plan has a result there, or a file is there twice.
    """
    found = {run.run_id: _files(folder, run) for run in runs_of(plan)}
    if not any(KEPT in files for files in found.values()):
        raise BenchResultError(f"{folder} holds no result of a run of this plan")
    codes = _exit_codes(folder)

    def fill(job: Path) -> dict[str, Step]:
        steps = {}
        take_prompts(folder, job)
        for run in runs_of(plan):
            files = found[run.run_id]
            if files:
                code = next((codes[s] for s in _stems(run) if s in codes), exit_code)
                _copy(files, job / "runs" / run.run_id, run, code)
            begun = Step.FAILED if files else Step.NOT_RUN
            steps[run.run_id] = Step.DONE if KEPT in files else begun
        return steps

    return Jobs(settings).take_in(plan, f"import-{_digest(found)}", fill=fill)


def _files(folder: Path, run: Run) -> dict[str, Path]:
    """Where the files of a run are, by the names they are kept under."""
    own = folder / "runs" / run.run_id
    if own.is_dir():
        return {name: own / name for name in OURS if (own / name).is_file()}
    for stem in _stems(run):
        result = _only(folder, f"{stem}.json")
        if result is not None:
            return {KEPT: result} | dict(_companions(folder, stem, run))
    return {}


def _companions(folder: Path, stem: str, run: Run) -> Iterator[tuple[str, Path]]:
    side = "server_on.log" if run.caching else "server_off.log"
    names = {
        evidence.BEFORE: (f"{stem}_before.prom",),
        evidence.AFTER: (f"{stem}_after.prom",),
        LOG: (f"{stem}.server.log", f"server_{run.case}.log", side),
        "bench.stdout": (f"{stem}.stdout.txt", f"{stem}.stdout"),
        "bench.stderr": (f"{stem}.stderr.txt", f"{stem}.stderr"),
    }
    for kept, candidates in names.items():
        there = (path for name in candidates if (path := _only(folder, name)) is not None)
        if (path := next(there, None)) is not None:
            yield kept, path


def _stems(run: Run) -> list[str]:
    stem = f"{run.case}_c{run.concurrency}"
    algorithm = "" if run.hash_algorithm is None else f"_{run.hash_algorithm}"
    repeats = [f"{stem}_r{run.repeat}{algorithm}"]
    return [run.run_id, *repeats, *([f"{stem}{algorithm}"] if run.repeat == 1 else [])]


def _only(folder: Path, name: str) -> Path | None:
    there = [p for p in folder.rglob(name) if p.is_file() and not p.is_symlink()]
    if len(there) > 1:
        raise BenchResultError(f"{name} is there {len(there)} times below {folder}")
    return there[0] if there else None


def _copy(files: dict[str, Path], to: Path, run: Run, exit_code: int | None) -> None:
    to.mkdir(parents=True)
    for name, path in files.items():
        shutil.copyfile(path, to / name)
    if KEPT in files:
        strip_texts(to / KEPT)
    if evidence.FILE not in files:
        seen = Seen(
            run.run_id,
            run.case,
            caching=run.caching,
            concurrency=run.concurrency,
            repeat=run.repeat,
            seed=run.seed,
            hash_algorithm=run.hash_algorithm,
            exit_status=exit_code,
        )
        write_seen(to, seen)


def _exit_codes(folder: Path) -> dict[str, int]:
    codes = {}
    for path in sorted(folder.rglob("index*.jsonl")):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError, TypeError, KeyError):
                row = json.loads(line)
                codes[str(row["tag"])] = int(row["exit_code"])
    return codes


def _digest(found: dict[str, dict[str, Path]]) -> str:
    digest = hashlib.sha256()
    for run_id, files in found.items():
        for name, path in files.items():
            digest.update(f"{run_id}/{name}:".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
