"""How often finished requests were preempted, in a table by engine."""

from core import format as fmt
from core.charts import short_list
from core.domain.reading import Reason
from core.domain.request_preemptions import Between
from core.messages import say
from core.ui.request import lines
from core.ui.tables import Cell, Column, table
from core.views.preemption import PreemptionView
from core.views.request_preemptions import PreemptedLine


def request_preemptions_table(shown: PreemptionView) -> None:
    """One row per engine and one for all; bounds where only bounds are known."""
    found = shown.preempted
    columns = [
        Column(say("col.engine")),
        Column(say("col.finished"), numeric=True),
        Column(say("col.mean_preemptions"), numeric=True),
        Column(say("col.two_or_more"), numeric=True),
        Column(say("col.exactly_one"), numeric=True),
        Column(say("col.at_least_one"), numeric=True),
    ]
    rows = [_row(line, line.name) for line in found.engines]
    if len(rows) > 1:
        rows.insert(0, _row(found.all, say("preempt.all")))
    table("request_preemptions", columns, rows, empty=say("preempt.no_engines"))
    lines([say("preempt.histogram_note")])
    if found.silent:
        lines([say("preempt.silent", names=short_list(found.silent))])


def _row(line: PreemptedLine, name: str) -> list[Cell]:
    if line.requests is None:
        why = line.mean.reason if line.mean.reason is not None else Reason.NOT_EXPORTED
        return [name, say(f"reason.{why}"), line.mean, *[line.two_or_more] * 3]
    return [
        name,
        fmt.quantity(line.requests),
        line.mean,
        line.two_or_more,
        _between(line.exactly_one),
        _between(line.any),
    ]


def _between(count: Between | None) -> Cell:
    if count is None:
        return None
    if count.exact:
        return fmt.quantity(count.low)
    return say("preempt.between", low=fmt.quantity(count.low), high=fmt.quantity(count.high))
