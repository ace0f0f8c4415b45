"""`python -m core.doctor`: look at the sources, print what to change."""

import argparse
import sys
import time

from core.cache.inbox import Inbox
from core.config import Settings, load_settings
from core.demo import demo_langfuse, demo_source, evaluators_of
from core.doctor import MOST_S, Finding, examine, write_findings
from core.doctor.harmless import Harmless
from core.doctor.report import COULD_NOT_RUN, as_json, as_text, exit_status
from core.errors import DashboardError
from core.sources.langfuse import LangfuseSource
from core.sources.prometheus import PrometheusSource

DEMO = """\
Nothing is configured, so the demo runs. To examine your own, set
  PREFIXWATCH_PROMETHEUS_URL                                     engines
  PREFIXWATCH_LANGFUSE_URL, ..._PUBLIC_KEY, ..._SECRET_KEY       requests
(one side alone is fine). What follows is about the simulated engines.

"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    args = _arguments().parse_args(argv)
    try:
        settings = load_settings()
    except DashboardError as error:
        sys.stderr.write(f"{error}\n{error.next_step}\n")
        return COULD_NOT_RUN
    now = time.time()
    begun = time.monotonic()
    try:
        findings = _examined(settings, now)
    except (DashboardError, OSError) as error:
        # A certificate file that is not there, or a data folder that cannot be written.
        sys.stderr.write(Harmless(settings).text(str(error)) + "\n")
        return COULD_NOT_RUN
    took_s = time.monotonic() - begun
    if args.write:
        write_findings(Inbox(settings.home / "inbox"), findings, now)
    elif args.json:
        sys.stdout.write(as_json(findings, now=now, took_s=took_s))
    else:
        sys.stdout.write(DEMO if settings.demo else "")
        sys.stdout.write(as_text(findings, took_s=took_s, most_s=MOST_S))
    return exit_status(findings)


def _examined(settings: Settings, now: float) -> list[Finding]:
    prometheus = langfuse = None
    try:
        if settings.demo:
            prometheus, langfuse = demo_source(settings), demo_langfuse(settings)
            settings = settings.model_copy(update={"evaluators": evaluators_of(settings)})
        if settings.prometheus_url is not None:
            prometheus = PrometheusSource(settings)
        if settings.langfuse_address is not None:
            langfuse = LangfuseSource(settings)
        return examine(settings, prometheus=prometheus, langfuse=langfuse, now=now)
    finally:
        for source in (prometheus, langfuse):
            if source is not None:
                source.close()


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.doctor",
        description="Examine Prometheus, Langfuse and how they fit; every finding names the "
        "setting or flag to change. Exit status: 0 nothing wrong, 1 warnings, 2 errors, 3 could "
        "not run.",
    )
    parser.add_argument(
        "--write", action="store_true", help="leave the findings in the inbox, for Data health"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a report")
    return parser


if __name__ == "__main__":
    sys.exit(main())
