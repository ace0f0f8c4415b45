"""What a runner saw of one run, kept beside the run's files for whoever judges it."""

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from core.bench.endpoint import Reset, Served
from core.bench.processes import write_json
from core.bench.results import KEPT
from core.bench.server import LOG
from core.domain.bench.result import BenchResult, RunEvidence, Scraped, Snapshot
from core.errors import BenchResultError, SourceContract
from core.sources.vllm_bench import read_metrics, read_result, read_server_log

FILE = "evidence.json"
BEFORE, AFTER = "metrics_before.prom", "metrics_after.prom"


@dataclass(frozen=True)
class Seen:
    """One run as it went; None where it never came so far.

    Parameters
    ----------
    bench_arguments, serve_arguments : tuple of str or None
        Commands as they were started; secrets go by the environment and are never in them.
    exit_status : int or None
        Of `vllm bench serve`; negative: ended by that signal.
    stopped, cancelled, over_time : bool
        We ended it: because somebody wished so, at its limit, or its server had died.
    warm : bool or None
        Whether its prompts may have been in the cache; None: nobody here can tell.
    failure, last_output : str or None
        Why there is no result, and the last lines that say more.
    prometheus : Scraped or None
        What Prometheus counted over the run; None: nobody asked it.
    """

    run_id: str
    case: str
    caching: bool
    concurrency: int
    repeat: int
    seed: int
    hash_algorithm: str | None
    bench_arguments: tuple[str, ...] | None = None
    serve_arguments: tuple[str, ...] | None = None
    served: Served | None = None
    served_after: Served | None = None
    reset: Reset | None = None
    warm: bool | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_status: int | None = None
    stopped: bool = False
    cancelled: bool = False
    over_time: bool = False
    failure: str | None = None
    last_output: str | None = None
    prometheus: Scraped | None = None


def write_seen(folder: Path, seen: Seen) -> None:
    """Keep what was seen of a run in its folder."""
    write_json(folder / FILE, seen)


def read_seen(folder: Path) -> Seen | None:
    """What was seen of a run; None where its runner never came to say.

    Raises
    ------
    BenchResultError
        The file is none of ours.
    """
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=Seen)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise BenchResultError(f"{folder.name}/{FILE} cannot be read: {error}") from error


def evidence_of(folder: Path, run_id: str) -> RunEvidence:
    """Everything that the files of a run say; what a file does not say stays None.

    Raises
    ------
    BenchResultError
        What was seen of the run is no record of ours.
    """
    seen = read_seen(folder)
    result, trouble = _result(folder)
    log = folder / LOG
    found = RunEvidence(
        run_id,
        exit_code=None,
        result=result,
        result_error=trouble,
        before=_snapshot(folder / BEFORE),
        after=_snapshot(folder / AFTER),
        log=read_server_log(log.read_text("utf-8", errors="replace")) if log.exists() else None,
    )
    if seen is None:
        return found
    return replace(
        found,
        exit_code=seen.exit_status,
        version=None if seen.served is None else seen.served.version,
        serve_arguments=seen.serve_arguments,
        bench_arguments=seen.bench_arguments,
        warm=seen.warm,
        started_at=seen.started_at,
        ended_at=seen.ended_at,
        cancelled=seen.cancelled,
        time_limit_hit=seen.over_time,
        last_output=seen.last_output,
        prometheus=seen.prometheus,
    )


def _result(folder: Path) -> tuple[BenchResult | None, str | None]:
    if not (folder / KEPT).exists():
        return None, "no result file was written"
    try:
        return read_result(folder / KEPT), None
    except BenchResultError as error:
        return None, error.detail


def _snapshot(path: Path) -> Snapshot | None:
    """A scrape; None where there is none or it is none, which is missing evidence alike."""
    try:
        return read_metrics(path.read_text("utf-8"))
    except (FileNotFoundError, UnicodeError, SourceContract):
        return None
