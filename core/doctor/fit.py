"""What requests and engines say about each other; each side may be missing."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from core.doctor.checks import Unanswered
from core.doctor.langfuse import NOT_SET as NO_LANGFUSE
from core.doctor.langfuse import SET_IT as SET_LANGFUSE
from core.doctor.langfuse import LangfuseProbe
from core.doctor.prometheus import NOT_SET as NO_PROMETHEUS
from core.doctor.prometheus import SET_IT as SET_PROMETHEUS
from core.doctor.prometheus import PrometheusProbe
from core.doctor.sample import Sample, SampledRow
from core.doctor.seen import SeenEngine
from core.errors import DashboardError

UNNAMED_PLACE = "engines that the rows do not name"


@dataclass(frozen=True)
class Fit:
    """Both sources, as far as they are connected."""

    requests_side: LangfuseProbe | None
    engines_side: PrometheusProbe | None

    @property
    def langfuse(self) -> LangfuseProbe:
        """The side of requests.

        Raises
        ------
        Unanswered
            It is not connected.
        """
        if self.requests_side is None:
            raise Unanswered(NO_LANGFUSE, SET_LANGFUSE)
        return self.requests_side

    @property
    def sample(self) -> Sample:
        """Newest requests; there is at least one."""
        return self.langfuse.requests()

    def engines(self) -> tuple[SeenEngine, ...]:
        """Engines; there is at least one.

        Raises
        ------
        Unanswered
            Prometheus is not connected, or has none.
        """
        if self.engines_side is None:
            raise Unanswered(NO_PROMETHEUS, SET_PROMETHEUS)
        return self.engines_side.engines()

    def pods(self) -> Mapping[str, str]:
        """Pod by scraped address, as far as Prometheus is there to say."""
        try:
            found = self.engines()
        except (Unanswered, DashboardError):
            return {}
        return {
            e.target.instance: e.labels.pod
            for e in found
            if e.target.instance is not None and e.labels.pod is not None
        }


def place_of(row: SampledRow, pods: Mapping[str, str]) -> str:
    """Where a request was answered: pod and address, as far as they are told."""
    address, pod = row.record["address"], row.record["pod"]
    pod = pod or pods.get(address or "")
    if pod is not None and address is not None and pod != address:
        return f"{pod} ({address})"
    return pod or address or row.record["deployment"] or UNNAMED_PLACE


def shares(rows: Iterable[SampledRow], of: Iterable[SampledRow]) -> str:
    """How many of some rows are so, by exporter and model."""
    so, every = _groups(rows), _groups(of)
    return ", ".join(f"{group} {so[group]} of {n}" for group, n in sorted(every.items())[:8])


def _groups(rows: Iterable[SampledRow]) -> Counter[str]:
    return Counter(f"{row.exporter}/{row.record['model'] or 'no model'}" for row in rows)
