"""Pages of a wave turned into the tables of one batch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
import pyarrow as pa

from core.cache.inbox import rows
from core.collect.notes import utc
from core.collect.requests.observations import ObservationReader, newest
from core.collect.requests.scan import Scan
from core.collect.requests.scores import ScoreReader, newest_scores
from core.collect.requests.violations import Violation, violation_rows
from core.config import Settings
from core.domain.evaluations import Evaluators
from core.domain.exporters import Exporters
from core.domain.records import stable_id

SOURCE = "langfuse"


def whole_ms(at: datetime) -> datetime:
    """As the API was asked: a score of the cut-off part was not looked for."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


class Readers:
    """The readers of rows, as the settings want them."""

    def __init__(self, settings: Settings) -> None:
        keys = {name: key for name, key in settings.keys.model_dump().items() if key}
        self.exporters = Exporters(settings.exporters, keys)
        self.observations = ObservationReader(self.exporters, settings.deployments)
        self.scores = ScoreReader(Evaluators(settings.evaluators))


@dataclass
class Batch:
    """What will be written together."""

    readers: Readers
    observations: list[dict[str, Any]] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    scans: list[dict[str, Any]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    def add_observations(
        self, raw: Iterable[msgspec.Raw], sessions: Mapping[str, str] | None = None
    ) -> None:
        """Read rows of observations."""
        for row in raw:
            read = self.readers.observations.read(row, sessions)
            self.violations += read.violations
            if read.record is not None:
                self.observations.append(read.record)

    def add_scores(self, raw: Iterable[msgspec.Raw], seen_at: float | None) -> None:
        """Read rows of scores, seen when their scan began, or (None) when they were written."""
        for row in raw:
            read = self.readers.scores.read(row, None if seen_at is None else utc(seen_at))
            self.violations += read.violations
            if read.record is not None:
                self.scores.append(read.record)

    def end_scan(self, scan: Scan) -> None:
        """Note that a stretch of scores has been read as a whole."""
        self.scans.append(
            {
                "scan_key": stable_id("scan", scan.start, scan.end),
                "start_at": whole_ms(utc(scan.start)),
                "end_at": whole_ms(utc(scan.end)),
                "scanned_at": utc(scan.began_at),
            }
        )

    def tables(self, seen_at: datetime) -> dict[str, pa.Table]:
        """The tables of the batch; each id once."""
        return {
            "observations": rows("observations", newest(self.observations)),
            "scores": rows("scores", newest_scores(self.scores)),
            "score_scans": rows("score_scans", self.scans),
            "violations": violation_rows(self.violations, SOURCE, seen_at),
        }
