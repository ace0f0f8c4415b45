"""The KV residency page: states, distributions with their quantiles, turn gaps, match units."""

import streamlit as st

from core import charts, runtime
from core import format as fmt
from core.charts import short_list
from core.messages import say
from core.ui.frame import chart, heading, no_number, time_axis
from core.ui.request import lines
from core.ui.style import plain
from core.ui.tables import Cell, Column, table
from core.ui.tiles import reading_tiles
from core.views.block_histograms import Distribution, Residency
from core.views.kv_residency import PROMPTS, KvResidencyView

TITLES = {
    "block_idle_s": "kv.idle",
    "block_reuse_gap_s": "kv.gap",
    "block_lifetime_s": "kv.lifetime",
}
SHOWN_APART = tuple(state for state in Residency if state is not Residency.MEASURED)


def residency_summary(view: KvResidencyView) -> None:
    """What stands behind the numbers: n, medians, sampling, restarts, and broken contracts."""
    for found in view.distributions:
        if found.broken:
            what = say(TITLES[found.metric])
            st.error(plain(say("kv.broken", names=short_list(found.broken), what=what)))
    if view.too_many_gaps:
        st.error(plain(say("kv.too_many_gaps", names=short_list(view.too_many_gaps))))
    heading(say("kv.summary"), "sampled_evictions")
    medians = [found.quantiles[0].bucket for found in view.distributions]
    reading_tiles(view.fleet, [view.evictions, *medians])
    lines(
        [
            " ".join([say("kv.not_living"), say("kv.not_independent")]),
            _sampling_rate(view),
            say("kv.wiped", restarts=view.restarts, resets=view.resets),
        ]
    )


def _sampling_rate(view: KvResidencyView) -> str:
    rate = runtime.running().settings.kv_sample_rate
    if rate is not None:
        return say("kv.rate_setting", rate=f"{rate:g}")
    if view.sample_rates:
        return say("kv.rate_labels", rates=", ".join(view.sample_rates))
    return say("kv.rate_unknown")


def residency_states(view: KvResidencyView) -> None:
    """Engines that tell nothing, each with what to do; and what else can be done."""
    source = view.fleet.prometheus
    if source is not None and source.read_to is not None and not view.fleet.engines:
        st.info(say("kv.no_engine"))
    found = [
        say(f"kv.state_{state}", names=short_list(view.states[state]))
        for state in SHOWN_APART
        if state in view.states
    ]
    if found:
        lines([say("kv.states")])
        lines(found, "pw-list")
    if not view.measured:
        lines([say("kv.else")])


def distribution_panel(found: Distribution) -> None:
    """One histogram with its quantiles, or why there is none."""
    heading(say(TITLES[found.metric]), found.metric)
    if not found.n:
        no_number(found.quantiles[0].bucket)
        return
    chart(found.metric, charts.distribution(found))
    table(
        found.metric,
        [
            Column(say("col.quantile")),
            Column(say("col.quantile_bucket"), numeric=True),
            Column(say("col.sampled"), numeric=True),
        ],
        [
            [
                f"p{one.q * 100:g}",
                one.bucket,
                say("kv.no_interval", n=found.n) if one.sampled is None else one.sampled,
            ]
            for one in found.quantiles
        ],
    )
    st.caption(plain(" ".join(_notes(found))))


def _notes(found: Distribution) -> list[str]:
    """How many stand behind it, what lies beyond the last edge, and who is left out."""
    gaps = found.metric == "block_reuse_gap_s"
    many = len(found.engines)
    engines = say("kv.n_engine") if many == 1 else say("kv.n_engines", n=many)
    what = say("kv.n_gaps") if gaps else say("kv.n_blocks")
    notes = [say("kv.n", n=f"{found.n:,}", what=what, engines=engines) + "."]
    if found.beyond is not None and found.beyond.reported:
        part = fmt.part_of(found.beyond.reported, found.beyond.requests)
        notes.append(say("kv.beyond", part=part, edge=fmt.edge(found.top)))
    if found.left_out:
        notes.append(say("kv.left_out", names=short_list(found.left_out)))
    return notes


def distributions_note() -> None:
    """How the bars are to be read."""
    st.caption(say("kv.counts"))


def residency_over_time(view: KvResidencyView) -> None:
    """Median bucket by engine and time, with the number behind each."""
    heading(say("kv.over_time"), "block_idle_s", "sampled_evictions")
    notes = {
        name: ["" if n is None else say("note.evictions", n=fmt.quantity(n)) for n in line]
        for name, line in view.evictions_over_time.items()
    }
    axis = time_axis(view.fleet)
    chart("idle_heat", charts.heat(axis, view.medians, charts.idle_scale(view.medians), notes))


def residency_engines(view: KvResidencyView) -> None:
    """Engines: what each tells, and its medians."""
    heading(say("kv.engines"), "sampled_evictions", "block_idle_s")
    columns = [
        Column(say("col.engine")),
        Column(say("col.state")),
        Column(say("col.evictions"), numeric=True),
        Column(say("col.idle_p50"), numeric=True),
        Column(say("col.gap_p50"), numeric=True),
        Column(say("col.lifetime_p50"), numeric=True),
    ]
    rows: list[list[Cell]] = [
        [one.name, say(f"residency.{one.state}"), one.evictions, *one.medians]
        for one in view.engines
    ]
    table("residency", columns, rows)


def turn_gaps_panel(view: KvResidencyView) -> None:
    """Idle gaps between turns, alone: how many are known, and why others are not."""
    heading(say("kv.turns"), "turn_idle_gap_s")
    found = view.turn_gaps
    if not found.n and not found.unknown:
        st.caption(say("kv.turns_off"))
        return
    if found.n:
        chart("turn_gaps", charts.turn_gaps(found))
    unknown = [
        say("kv.turns_unknown", n=f"{n:,}", reason=say(f"idle.{reason}"))
        for reason, n in found.unknown.items()
    ]
    words = ", ".join(unknown) if unknown else say("kv.turns_none_unknown")
    st.caption(say("kv.turns_n", n=f"{found.n:,}", unknown=words))


def match_units_table(view: KvResidencyView) -> None:
    """Blocks of each engine, and what a prompt of some lengths can get back at most."""
    heading(say("kv.match"), "possible_hit_tokens")
    columns = [
        Column(say("col.engine")),
        Column(say("col.block_size"), numeric=True),
        Column(say("col.match_unit"), numeric=True),
        Column(say("col.blocks"), numeric=True),
        *(Column(say("col.possible", n=f"{n:,}"), numeric=True) for n in PROMPTS),
    ]
    rows: list[list[Cell]] = [
        [
            one.name,
            one.block_size,
            one.match_unit if one.match_unit is not None else _as_block(one.block_size),
            one.blocks,
            *one.possible,
        ]
        for one in view.match_units
    ]
    table("match_units", columns, rows)
    st.caption(say("kv.match_note"))


def _as_block(size: int | None) -> str | None:
    return None if size is None else say("cell.as_block")
