"""What Prometheus counted over a run beside the engine's own counters, in words."""

from core.domain.bench.judge import PROMETHEUS, Row
from core.messages import say
from core.views.benchmarks import RunLine


def prometheus_words(line: RunLine) -> str:
    """Whether Prometheus counted what the engine did, or why it cannot say."""
    scraped = line.prometheus
    if scraped is None or line.verdict is None:
        return say("bench.prometheus_not_asked")
    state = say(f"bench_scraped.{scraped.state}")
    if scraped.detail is not None:
        return say("bench.prometheus_detail", state=state, detail=scraped.detail)
    rows = [row for row in line.verdict.rows if row.rule in PROMETHEUS.values()]
    noted = [_counter(row) for row in rows if row.note is not None]
    if noted:
        return say("bench.prometheus_differs", state=state, counters="; ".join(noted))
    return say("bench.prometheus_agrees", state=state, n=len(rows)) if rows else state


def _counter(row: Row) -> str:
    return say(
        "bench.prometheus_counter",
        rule=say(f"bench_rule.{row.rule}"),
        here=_tokens(row.expected),
        there=_tokens(row.seen),
        note=say(f"bench_note.{row.note}"),
    )


def _tokens(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) else say("cell.unknown")
