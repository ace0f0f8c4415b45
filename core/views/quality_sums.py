"""Which score of which requests, and its sums per session out of the cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from core.cache.store import Row, Store
from core.config import EvaluatorSettings
from core.domain.quality import Dimension, SessionSums
from core.domain.records import Floats, Ints
from core.domain.scope import Scope, Window
from core.domain.windows import WINDOW_S, Rule
from core.views.engine_windows import scrape_intervals, tolerance_of
from core.views.fleet import Fleet
from core.views.requests import request_params
from core.views.window_rule import WindowRule

LATE_SCORES_S = 86_400
"""A score may be a day later than the request it is about."""
BLOCKS_S = (900, 3600, 6 * 3600, 86_400, 7 * 86_400)
MOST_BLOCKS = 12


@dataclass(frozen=True)
class Bins:
    """Inner edges of the bins, fixed beforehand; a value on an edge belongs to the bin above it."""

    idle_gap_s: tuple[float, ...] = (10.0, 60.0, 300.0, 1800.0)
    input_tokens: tuple[float, ...] = (1024.0, 4096.0, 16_384.0, 65_536.0)
    turn_position: tuple[float, ...] = (2.0, 4.0, 8.0)
    running: tuple[float, ...] = (2.0, 8.0, 32.0)


@dataclass(frozen=True)
class Series:
    """One score of one evaluator and version: never mixed with another."""

    name: str
    evaluator: str
    evaluator_version: str | None
    data_type: str
    level: str = "observation"
    source: str | None = None
    records: int = 0
    errors: int = 0
    sampled: bool = False
    """Whether its records say probabilities: one without is left out then, and never weighs 1."""
    skips: bool = False
    """Whether it leaves requests out by design: one without a record is not missing then."""
    mapping: EvaluatorSettings = field(default_factory=lambda: EvaluatorSettings(score=""))

    @property
    def key(self) -> str:
        """Name in links: unlike those of other series."""
        version = "" if self.evaluator_version is None else self.evaluator_version
        return f"{self.name}|{self.evaluator}|{version}|{self.data_type}"

    @property
    def gradable(self) -> bool:
        """Whether its values say pass or fail."""
        return (
            self.data_type == "BOOLEAN"
            or (self.data_type == "NUMERIC" and self.mapping.pass_at is not None)
            or (self.data_type == "CATEGORICAL" and bool(self.mapping.pass_labels))
        )

    @property
    def estimable(self) -> bool:
        """Whether its values have a pass rate or a mean: categories without pass labels do not."""
        return self.gradable or self.rated

    @property
    def rated(self) -> bool:
        """Whether its values have a mean of their own; that of a boolean is its pass rate."""
        return self.data_type == "NUMERIC"


@dataclass(frozen=True)
class Asked:
    """A question to the requests: one series, two dimensions, and which requests."""

    series: Series
    by: Dimension
    across: Dimension = Dimension.NOTHING
    only: tuple[tuple[Dimension, str], ...] = ()
    alone: bool = False
    """Requests without a session stand alone: independence assumed."""
    bins: Bins = field(default_factory=Bins)
    window_s: int = WINDOW_S
    """Length of the preemption windows."""

    @property
    def turned(self) -> bool:
        """Whether the place of a request in its session matters."""
        used = {self.by, self.across, *(dimension for dimension, _ in self.only)}
        return not used.isdisjoint((Dimension.IDLE_GAP, Dimension.TURN_POSITION))


ONLY = {
    Dimension.TASK_TYPE: "only_task_type",
    Dimension.TEMPLATE_VERSION: "only_template_version",
    Dimension.INPUT_LENGTH: "only_input_length",
    Dimension.TURN_POSITION: "only_turn_position",
    Dimension.LOAD: "only_load",
}
"""Dimensions a page can be narrowed to beside the scope, with the parameter of each."""


def score_series(
    store: Store, window: Window, evaluators: Sequence[EvaluatorSettings]
) -> tuple[Series, ...]:
    """Every series with records about the window, those of single requests and coarser ones."""
    params = request_params(Scope(), Window(window.start, window.end + LATE_SCORES_S))
    mappings = {one.score: one for one in evaluators}
    return tuple(_series(row, mappings) for row in store.read("score_series", params))


def _series(row: Row, mappings: Mapping[str, EvaluatorSettings]) -> Series:
    mapping = mappings.get(row.name) or EvaluatorSettings(score=row.name)
    return Series(
        name=row.name,
        evaluator=row.evaluator,
        evaluator_version=row.evaluator_version,
        data_type=row.data_type,
        level=row.level,
        source=row.source,
        records=row.records,
        errors=row.errors,
        sampled=row.sampled > 0 and row.whole < row.records,
        skips=row.whole < row.sampled,
        mapping=mapping,
    )


def session_sums(
    store: Store, fleet: Fleet, asked: Asked, *, window: Window | None = None
) -> SessionSums:
    """Sums per session of a question, for the fleet's window or another one."""
    params = quality_params(store, fleet, asked, window=window)
    return sums_of(store.columns("quality_sums", params))


def quality_params(
    store: Store, fleet: Fleet, asked: Asked, *, window: Window | None = None
) -> dict[str, Any]:
    """Parameters of the queries over graded requests."""
    period = window or fleet.window
    series, mapping = asked.series, asked.series.mapping
    return (
        request_params(fleet.scope, period)
        | _rule(store, fleet, asked.window_s)
        | {
            "by": asked.by.value,
            "across": asked.across.value,
            "score": series.name,
            "evaluator": series.evaluator,
            "evaluator_version": series.evaluator_version,
            "data_type": series.data_type,
            "pass_at": mapping.pass_at,
            "pass_labels": list(mapping.pass_labels),
            "sampled": series.sampled,
            "skips": series.skips,
            "task_types": list(mapping.task_types) or None,
            "last_of_turn": mapping.calls == "last_of_turn",
            "turned": asked.turned,
            "alone": asked.alone,
            "idle_edges": list(asked.bins.idle_gap_s),
            "input_edges": list(asked.bins.input_tokens),
            "turn_edges": list(asked.bins.turn_position),
            "load_edges": list(asked.bins.running),
            "block_s": block_s(period),
        }
        | dict.fromkeys(ONLY.values())
        | {ONLY[dimension]: value for dimension, value in asked.only}
    )


def block_s(window: Window) -> int:
    """Length of the stretches of time that requests are grouped by.

    >>> block_s(Window(0, 3600)), block_s(Window(0, 86_400))
    (900, 21600)
    """
    return next((b for b in BLOCKS_S if window.length_s <= b * MOST_BLOCKS), BLOCKS_S[-1])


def _rule(store: Store, fleet: Fleet, window_s: int) -> dict[str, object]:
    interval = max(scrape_intervals(store, fleet).values(), default=None)
    read_to = None if fleet.prometheus is None else fleet.prometheus.read_to
    rule = WindowRule(Rule(window_s), read_to, tolerance_of(fleet, interval))
    return rule.windows | rule.overlap


def sums_of(found: pa.Table) -> SessionSums:
    """The answer of `quality_sums` as arrays."""
    by, by_names = codes(found["by_value"])
    across, across_names = codes(found["across_value"])
    session = places(found["session"])
    others = found.column_names[3:]
    return SessionSums(
        by_names, across_names, by, across, session, {name: floats(found[name]) for name in others}
    )


def codes(column: pa.ChunkedArray) -> tuple[Ints, tuple[str, ...]]:
    """Places in the list of different values, -1 for null, and that list as text."""
    coded = column.combine_chunks().dictionary_encode()
    return _places(coded), tuple(str(one) for one in coded.dictionary.to_pylist())


def places(column: pa.ChunkedArray) -> Ints:
    """Places in the list of different values, -1 for null."""
    return _places(column.combine_chunks().dictionary_encode())


def _places(coded: pa.DictionaryArray) -> Ints:
    found = np.full(len(coded), -1, dtype=np.int64)
    found[coded.is_valid().to_numpy(zero_copy_only=False)] = coded.indices.drop_null()
    return found


def floats(column: pa.ChunkedArray) -> Floats:
    """Numbers, NaN for null."""
    values: Floats = column.cast(pa.float64()).to_numpy()
    return values
