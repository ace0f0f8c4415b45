"""Fields of a benchmark plan, filled from what it starts from until somebody types."""

import shlex
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import streamlit as st

from core import runtime
from core.domain.bench.plan import Dataset, Plan, Target
from core.domain.bench.refusals import HASH_ALGORITHMS
from core.messages import say
from core.views.bench_form import Asked, sizes_of

RUN_PX, NUMBER_PX = 52, 74


def fields(base: Plan, base_id: str, *, named: str) -> Asked:
    """Draw all fields; `base_id` keys them, `named` those that every preset shares."""
    model, tokenizer, weights = _names(base, named)
    concurrency, repeats, seed = _numbers(base, base_id)
    target, off_url, on_url = _target(base, base_id)
    length, arguments = _server(base, base_id)
    algorithms = st.multiselect(
        say("bench.hash"),
        HASH_ALGORITHMS,
        base.hash_algorithms,
        key=f"bench_{base_id}_hash",
        help=say("bench.hash_help"),
    )
    return Asked(
        model=model,
        tokenizer=tokenizer,
        weights=weights,
        sizes=_sizes(base, base_id),
        concurrency=concurrency,
        repeats=repeats,
        seed=seed,
        hash_algorithms=algorithms,
        max_model_len=length,
        serve_arguments=arguments,
        target=target,
        off_url=off_url,
        on_url=on_url,
    )


def _names(base: Plan, named: str) -> tuple[str, str, str]:
    one, two, three = st.columns(3)
    model = one.text_input(say("bench.model"), base.model, key=f"bench_{named}_model")
    tokenizer = two.text_input(
        say("bench.tokenizer"), base.tokenizer, key=f"bench_{named}_tokenizer"
    )
    weights = three.text_input(
        say("bench.weights"),
        base.weights or "",
        key=f"bench_{named}_weights",
        help=say("bench.weights_help"),
    )
    return model, tokenizer, weights


def _numbers(base: Plan, base_id: str) -> tuple[str, int, int]:
    one, two, three = st.columns(3)
    concurrency = one.text_input(
        say("bench.concurrency"),
        ", ".join(map(str, base.concurrency)),
        key=f"bench_{base_id}_concurrency",
        help=say("bench.concurrency_help"),
    )
    repeats = two.number_input(
        say("bench.repeats"),
        1,
        99,
        base.repeats,
        key=f"bench_{base_id}_repeats",
        help=say("bench.repeats_help"),
    )
    seed = three.number_input(say("bench.seed"), 0, None, base.seed, key=f"bench_{base_id}_seed")
    return concurrency, repeats, seed


def _server(base: Plan, base_id: str) -> tuple[int | None, str]:
    one, two = st.columns([1, 2])
    length = one.number_input(
        say("bench.max_len"),
        1,
        None,
        base.serve.max_model_len,
        key=f"bench_{base_id}_max_len",
        placeholder=say("bench.max_len_none"),
    )
    arguments = two.text_input(
        say("bench.serve"),
        shlex.join(base.serve.arguments),
        key=f"bench_{base_id}_serve",
        help=say("bench.serve_help"),
    )
    return length, arguments


def _target(base: Plan, base_id: str) -> tuple[Target, str | None, str | None]:
    """Where the servers come from: what the settings allow, and what a loaded plan says."""
    allowed = runtime.running().settings.bench_targets
    urls = [one for one in allowed if one != Target.MANAGED]
    urls += [url for url in (base.off_url, base.on_url) if url is not None and url not in urls]
    options = [one for one in Target if one is Target.MANAGED or len(urls) > 1]
    one, two, three = st.columns(3)
    chosen = one.selectbox(
        say("bench.target"),
        options,
        options.index(base.target) if base.target in options else 0,
        key=f"bench_{base_id}_target",
        format_func=lambda target: say(f"bench.target_{target}"),
        help=say("bench.no_targets"),
    )
    if chosen is not Target.GIVEN:
        return Target.MANAGED, None, None
    off = two.selectbox(
        say("bench.off_url"), urls, _place(urls, base.off_url, 0), key=f"bench_{base_id}_off"
    )
    on = three.selectbox(
        say("bench.on_url"), urls, _place(urls, base.on_url, 1), key=f"bench_{base_id}_on"
    )
    return Target.GIVEN, off, on


def _place(urls: Sequence[str], wanted: str | None, usual: int) -> int:
    return urls.index(wanted) if wanted in urls else usual


def _sizes(base: Plan, base_id: str) -> list[dict[str, Any]]:
    """The pairs as a table to edit: those that are ticked."""
    st.caption(say("bench.cases"))
    number = {
        name: st.column_config.NumberColumn(
            say(f"bench.col_{name}"), min_value=0, step=1, required=True, width=NUMBER_PX
        )
        for name in ("prefix", "suffix", "output", "prompts", "prefixes")
    }
    edited = st.data_editor(
        pa.Table.from_pylist([{"run": True} | row for row in sizes_of(base)]),
        key=f"bench_{base_id}_cases",
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        column_config=number
        | {
            "run": st.column_config.CheckboxColumn(
                say("bench.col_run"), default=True, width=RUN_PX
            ),
            "off": st.column_config.TextColumn(say("bench.col_off"), max_chars=24, width=RUN_PX),
            "on": st.column_config.TextColumn(say("bench.col_on"), max_chars=24, width=RUN_PX),
            "dataset": st.column_config.SelectboxColumn(
                say("bench.col_dataset"), options=[one.value for one in Dataset]
            ),
        },
    )
    return [row for row in edited.to_pylist() if row.pop("run")]
