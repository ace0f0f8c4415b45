"""The reader's clock over one fleet window."""

from dataclasses import dataclass
from datetime import datetime, tzinfo

from core.views.fleet import Fleet


@dataclass(frozen=True)
class TimeAxis:
    """The reader's clock over one fleet window."""

    fleet: Fleet
    zone: tzinfo
    zone_name: str

    def at(self, t: float) -> datetime:
        """A moment as the reader's wall clock shows it."""
        return datetime.fromtimestamp(t, self.zone).replace(tzinfo=None)

    @property
    def middles(self) -> list[datetime]:
        """Centres of the chart bins."""
        return [self.at(b + self.fleet.bin_s / 2) for b in self.fleet.bins]

    @property
    def span(self) -> list[datetime]:
        """Start and end of the window."""
        return [self.at(self.fleet.window.start), self.at(self.fleet.window.end)]

    @property
    def bin_ms(self) -> float:
        """Width of a chart bin, as Plotly measures time."""
        return self.fleet.bin_s * 1000.0
