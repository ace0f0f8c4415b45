"""The doctor: looks at both sources and how they fit, and names the setting to change.

`examine` gives findings; the command line prints them, the collector leaves them
in the cache. Nothing is changed anywhere, and no prompt or answer is read.
"""

import time
from collections.abc import Callable

from core.config import Settings
from core.doctor import langfuse as requests_side
from core.doctor import prometheus as engines_side
from core.doctor.arrivals import ARRIVALS
from core.doctor.checks import MOST_S, TimeLimit, not_connected, run_checks
from core.doctor.engines import ENGINES
from core.doctor.findings import Finding, Level, write_findings
from core.doctor.fit import Fit
from core.doctor.flags import FLAGS
from core.doctor.harmless import Harmless
from core.doctor.identity import IDENTITY
from core.doctor.scrapes import SCRAPES
from core.doctor.usage import USAGE
from core.sources.langfuse import LangfuseSource
from core.sources.prometheus import PrometheusSource

__all__ = ["MOST_S", "Finding", "Level", "examine", "write_findings"]

OF_PROMETHEUS = (*engines_side.CONNECTION, *ENGINES, *SCRAPES, *FLAGS)
OF_LANGFUSE = (*requests_side.CONNECTION, *ARRIVALS)
OF_BOTH = (*USAGE, *IDENTITY)
LAST = requests_side.LIMITS


def examine(
    settings: Settings,
    *,
    prometheus: PrometheusSource | None,
    langfuse: LangfuseSource | None,
    now: float,
    clock: Callable[[], float] = time.time,
    most_s: float = MOST_S,
) -> list[Finding]:
    """Look at everything once; nothing raises, and what cannot be told is unknown.

    Parameters
    ----------
    prometheus, langfuse : source or None
        None where it is not connected.
    now : float
        Moment to look at, seconds since the epoch.
    clock : callable
        Our own clock, which that of Prometheus is compared with.
    most_s : float
        No question is begun later than this; one that runs ends by its own timeout.
    """
    limit = TimeLimit(most_s)
    engines = requests = None
    if prometheus is not None:
        engines = engines_side.PrometheusProbe(
            settings, prometheus, now=now, clock=clock, limit=limit
        )
        found = run_checks(OF_PROMETHEUS, engines)
    else:
        found = not_connected(OF_PROMETHEUS, engines_side.NOT_SET, engines_side.SET_IT)
    if langfuse is not None:
        requests = requests_side.LangfuseProbe(settings, langfuse, now=now, limit=limit)
        found += run_checks(OF_LANGFUSE, requests)
    else:
        found += not_connected(OF_LANGFUSE, requests_side.NOT_SET, requests_side.SET_IT)
    found += run_checks(OF_BOTH, Fit(requests, engines))
    if requests is not None:
        found += run_checks(LAST, requests)
    harmless = Harmless(settings)
    return [harmless.finding(one) for one in found]
