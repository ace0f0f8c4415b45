"""The offered PromQL under `promtool test rules`: resets and gaps, by hand."""

import json
import subprocess
from pathlib import Path

import pytest

from core.named_queries import render_promql

pytestmark = pytest.mark.prometheus


def run_rules(
    promtool: str, folder: Path, series: dict[str, str], expected: dict[str, float | None]
) -> None:
    """Evaluate the hit ratio of 5 minutes over samples every 15 s, at given times."""
    query = render_promql("hit_ratio", matchers={"pod": "a"}, window="5m")
    rule = {"record": "ratio", "expr": query}
    (folder / "rules.yml").write_text(json.dumps({"groups": [{"name": "g", "rules": [rule]}]}))
    tests = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": s, "values": v} for s, v in series.items()],
                "promql_expr_test": [
                    {
                        "expr": "ratio",
                        "eval_time": at,
                        "exp_samples": []
                        if value is None
                        else [{"labels": "ratio", "value": value}],
                    }
                    for at, value in expected.items()
                ],
            }
        ],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(tests))
    done = subprocess.run(
        [promtool, "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def counter(name: str, pod: str = "a") -> str:
    return f'vllm:prefix_cache_{name}_total{{pod="{pod}"}}'


def test_the_hit_ratio_survives_a_reset_and_a_gap(promtool: str, tmp_path: Path) -> None:
    """Half of all lookups hit: also across a restart and a hole, and another pod is left out."""
    series = {
        # 5 min steady, restart at 5:15, 5 min steady, 3 min hole, 5 min steady
        counter("queries"): "0+100x20 0+100x20 _x12 3300+100x20",
        counter("hits"): "0+50x20 0+50x20 _x12 1650+50x20",
        counter("queries", "b"): "0+1000x80",
        counter("hits", "b"): "0+1000x80",
    }
    run_rules(
        promtool,
        tmp_path,
        series,
        {"5m": 0.5, "6m": 0.5, "10m": 0.5, "12m": 0.5, "14m": 0.5, "18m": 0.5},
    )


def test_no_samples_is_no_answer(promtool: str, tmp_path: Path) -> None:
    """A window inside a long hole answers nothing, and not 0."""
    series = {
        counter("queries"): "0+100x8 _x40 5000+100x8",
        counter("hits"): "0+50x8 _x40 2500+50x8",
    }
    run_rules(promtool, tmp_path, series, {"2m": 0.5, "10m": None})
