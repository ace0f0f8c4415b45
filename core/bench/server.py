"""Servers of runs: one of its own start for each run, or two that are given."""

import contextlib
import re
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.bench.endpoint import Endpoint, Reset, Served
from core.bench.processes import Held, hold, write_json
from core.bench.programs import argument_list, environment_of
from core.bench.tails import last_words, scrub
from core.bench.watch import Watch
from core.config import Settings
from core.domain.bench.commands import displayed, serve_command
from core.domain.bench.plan import Plan, Run
from core.errors import BenchServerError

GRACE_S = 20.0
"""From TERM to KILL: a server with weights of many GB takes its time."""
LOG, ARGUMENTS = "server.log", "serve.arguments.json"
HASH = "prefix_caching_hash_algo"
KV_LINE = re.compile(rb"KV cache size: [\d,]+ tokens")


@dataclass(frozen=True)
class Ready:
    """A server that may be measured: what it is, and in which state its cache was found."""

    endpoint: Endpoint
    served: Served
    started_for_run: bool
    reset: Reset | None = None
    problem: Callable[[], str | None] = field(default=lambda: None)
    """Asked while it works: how it died; None: it lives, or nobody here can tell."""


@contextlib.contextmanager
def managed_server(
    plan: Plan, run: Run, folder: Path, *, settings: Settings, watch: Watch
) -> Iterator[Ready]:
    """Start the run's server, wait until it is ready and checked; nothing is left after.

    Raises
    ------
    BenchServerError
        It did not come up in time, ended, or is not the one that was asked for.
    CancelledError
        The job is to end.
    """
    port = _free_port()
    command = serve_command(plan, run, port)
    arguments = argument_list(command, settings)
    write_json(folder / ARGUMENTS, arguments)
    (folder / "serve.command.txt").write_text(displayed(command) + "\n", encoding="utf-8")
    held = hold(
        arguments,
        folder,
        name="server",
        environment=environment_of(command, settings),
        merged=True,
        grace_s=GRACE_S,
    )
    log = folder / LOG

    def problem() -> str | None:
        ended = held.ended
        return None if ended is None else f"the server ended with status {ended.status}"

    try:
        with Endpoint(f"http://127.0.0.1:{port}", settings) as endpoint:
            _wait_ready(endpoint, held, log, limit_s=plan.start_limit_s, watch=watch)
            served = endpoint.served()
            _check(served, run)
            yield Ready(endpoint, served, started_for_run=True, problem=problem)
    except BenchServerError as error:
        error.last_output = last_words(log, settings=settings)
        raise
    finally:
        held.stop()
        scrub(log, settings)


@contextlib.contextmanager
def given_server(plan: Plan, run: Run, *, settings: Settings) -> Iterator[Ready]:
    """The given server for one run, its cache emptied where that is allowed.

    Raises
    ------
    BenchServerError
        It does not answer, or is not what the plan takes it for.
    """
    with Endpoint(_url(plan, caching=run.caching), settings) as endpoint:
        served = endpoint.served()
        _check(served, run)
        reset = endpoint.reset() if run.caching else None
        yield Ready(endpoint, served, started_for_run=False, reset=reset)


def verify_given(plan: Plan, settings: Settings) -> None:
    """Refuse two given servers of which not one is OFF and the other ON.

    Raises
    ------
    BenchServerError
        Says what both are.
    """
    said = {}
    for caching in (False, True):
        with Endpoint(_url(plan, caching=caching), settings) as endpoint:
            said[caching] = endpoint.served()
    if said[False].caching or not said[True].caching:
        raise BenchServerError(
            f"prefix caching must be off at {said[False].url} and on at {said[True].url}, "
            f"but is {_word(said[False].caching)} and {_word(said[True].caching)}"
        )


def _url(plan: Plan, *, caching: bool) -> str:
    url = plan.on_url if caching else plan.off_url
    if url is None:
        raise BenchServerError(f"no {_word(caching)} server is given")
    return url


def _wait_ready(endpoint: Endpoint, held: Held, log: Path, *, limit_s: float, watch: Watch) -> None:
    """Until its own log shows the KV cache and /health says 200.

    The log tells it from a stranger who took the port first.
    """
    end = time.monotonic() + limit_s
    while not (_has_cache(log) and endpoint.healthy()):
        ended = held.ended
        if ended is not None:
            raise BenchServerError(
                f"the server ended with status {ended.status} before it was ready",
                exit_code=ended.status,
            )
        if time.monotonic() > end:
            raise BenchServerError(f"the server was not ready after {limit_s:g} s")
        watch.pause()


def _check(served: Served, run: Run) -> None:
    if served.caching is not run.caching:
        raise BenchServerError(
            f"wrong server: prefix caching is {_word(served.caching)} at {served.url}, "
            f"{_word(run.caching)} was asked for"
        )
    said = served.said(HASH)
    if run.hash_algorithm is not None and said != {run.hash_algorithm}:
        names = ", ".join(sorted(str(name) for name in said))
        raise BenchServerError(
            f"wrong server: {HASH} is {names} at {served.url}, not {run.hash_algorithm}"
        )


def _has_cache(log: Path) -> bool:
    return KV_LINE.search(log.read_bytes()) is not None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _word(caching: bool) -> str:  # noqa: FBT001 - a word for a flag
    return "on" if caching else "off"
