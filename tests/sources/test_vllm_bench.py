"""Files of a benchmark become records or named errors; what cannot be believed is no figure."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.domain.bench.result import KvLine
from core.errors import BenchResultError, SourceContract
from core.sources.vllm_bench import (
    read_metrics,
    read_result,
    read_results,
    read_server_log,
    strip_texts,
)

ROOT = Path(__file__).parents[1] / "recordings" / "vllm_bench"
GOOD = ROOT / "0.32.0" / "bench" / "D_c8.json"
DETAILED = ROOT / "0.32.0" / "bench" / "D_c4_detailed.json"
TEXT = "a sentence that a model made"


def written(folder: Path, **changes: Any) -> Path:
    """A recorded result with some keys changed; a value of ... leaves the key out."""
    whole = json.loads(DETAILED.read_text()) | changes
    file = folder / "result.json"
    file.write_text(json.dumps({k: v for k, v in whole.items() if v is not ...}))
    return file


def test_a_result_is_read_whole() -> None:
    """Counts, throughputs, latencies with the percentiles that were asked for."""
    result = read_result(GOOD)
    assert (result.completed, result.failed, result.num_prompts) == (30, 0, 30)
    assert (result.total_input_tokens, result.total_output_tokens) == (63_456, 480)
    assert result.ttft is not None
    assert result.ttft.median_ms == pytest.approx(214.9057)
    assert sorted(result.ttft.percentiles) == [50.0, 95.0, 99.0]
    assert result.e2el is not None
    assert result.requests is None
    assert result.input_throughput == pytest.approx(63_456 / result.duration_s)


@pytest.mark.parametrize("version", ["0.26.0/bench/D_c1_detailed", "0.32.0/bench/D_c4_detailed"])
def test_requests_are_read_from_detailed_files(version: str) -> None:
    """Of both versions, in the order they started."""
    result = read_result(ROOT / f"{version}.json")
    assert result.requests is not None
    order = list(result.requests.by_start())
    assert len(order) == 30
    starts = [result.requests.started_s[place] for place in order]
    assert starts == sorted(starts)
    assert all(result.requests.completed)
    assert set(result.requests.output_tokens) == {16}


def test_failed_requests_are_marked() -> None:
    """Their zeros are no times."""
    result = read_result(ROOT / "0.32.0" / "failures" / "engine_killed_mid_run.json")
    assert result.requests is not None
    assert sum(result.requests.completed) == result.completed == 24
    assert len(list(result.requests.by_start())) == 24


@pytest.mark.parametrize("name", ["server_down", "wrong_model_name", "all_prompts_too_long"])
def test_a_file_of_zeros_holds_no_figure(name: str) -> None:
    """Where nothing completed, 0.0 is no latency and no throughput."""
    result = read_result(ROOT / "0.32.0" / "failures" / f"{name}.json")
    assert (result.completed, result.failed) == (0, 8)
    assert [result.ttft, result.tpot, result.itl, result.e2el] == [None] * 4
    assert [result.request_throughput, result.output_throughput] == [None] * 2
    assert [result.total_token_throughput, result.input_throughput] == [None] * 2


def test_every_result_of_an_appended_file_is_read(tmp_path: Path) -> None:
    """One object a line; and such a file is not one result."""
    file = tmp_path / "many.json"
    file.write_text(GOOD.read_text() + "\n" + DETAILED.read_text() + "\n")
    assert [one.max_concurrency for one in read_results(file)] == [8, 4]
    with pytest.raises(BenchResultError, match="2 results"):
        read_result(file)


@pytest.mark.parametrize("length", [0, 1, 100, 2000, -1])
def test_a_file_that_was_cut_off_is_an_error(tmp_path: Path, length: int) -> None:
    """At any place, and when nothing is left."""
    file = tmp_path / "cut.json"
    file.write_text(GOOD.read_text()[:length])
    with pytest.raises(BenchResultError, match=r"cut\.json"):
        read_result(file)


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(BenchResultError, match="No such file"):
        read_result(tmp_path / "none.json")
    with pytest.raises(BenchResultError, match="directory"):
        read_result(tmp_path)


@pytest.mark.parametrize("text", ["[1]", "3", "null", '"a"', "\xff", "[" * 9000])
def test_other_json_is_an_error(tmp_path: Path, text: str) -> None:
    """Something that is no object, or no JSON at all."""
    file = tmp_path / "other.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(BenchResultError):
        read_result(file)


@pytest.mark.parametrize(
    "changes",
    [
        {"completed": ...},
        {"completed": "30"},
        {"completed": 30.5},
        {"completed": None},
        {"completed": True},
        {"completed": -1},
        {"total_input_tokens": -1},
        {"duration": 0.0},
        {"duration": float("nan")},
        {"duration": float("inf")},
        {"median_ttft_ms": float("nan")},
        {"median_ttft_ms": ...},
        {"median_ttft_ms": "5"},
        {"median_ttft_ms": -5.0},
        {"p99_ttft_ms": None},
        {"mean_e2el_ms": True},
        {"ttfts": [0.1]},
        {"ttfts": "many"},
        {"start_times": ...},
        {"output_lens": [1.5] * 30},
    ],
    ids=str,
)
def test_values_that_cannot_be_are_an_error(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Missing, of another type, not finite, below zero, or lists of other lengths."""
    with pytest.raises(BenchResultError):
        read_result(written(tmp_path, **changes))


def test_latencies_that_were_not_asked_for_are_none(tmp_path: Path) -> None:
    """Without e2el among the metrics there is no such latency, and no error."""
    gone = {f"{kind}_e2el_ms": ... for kind in ("mean", "median", "std", "p50", "p95", "p99")}
    assert read_result(written(tmp_path, **gone)).e2el is None


def test_generated_texts_are_cut_out_of_the_file(tmp_path: Path) -> None:
    """The file holds everything else as before, and nothing else lies beside it."""
    file = written(tmp_path, generated_texts=[TEXT] * 30)
    before = read_result(file)
    assert strip_texts(file)
    assert TEXT not in file.read_text()
    assert read_result(file) == before
    assert not strip_texts(file)
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


def test_texts_of_every_line_are_cut_out(tmp_path: Path) -> None:
    """Of a file that results were appended to."""
    file = written(tmp_path, generated_texts=[TEXT])
    file.write_text(f"{file.read_text()}\n{file.read_text()}")
    assert strip_texts(file)
    assert TEXT not in file.read_text()
    assert len(read_results(file)) == 2


def test_a_broken_file_keeps_no_text(tmp_path: Path) -> None:
    """Where texts cannot be told from figures, nothing is kept, and it is no result."""
    file = written(tmp_path, generated_texts=[TEXT])
    file.write_text(file.read_text()[:-20])
    assert strip_texts(file)
    assert file.read_text() == ""
    with pytest.raises(BenchResultError, match="empty"):
        read_result(file)
    with pytest.raises(BenchResultError):
        strip_texts(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("log", "lines", "version"),
    [
        ("0.26.0/logs/server_D.log", (KvLine("EngineCore", 65_536, 8.0),), "0.26.0"),
        (
            "0.32.0/logs/server_bench_prefix_caching_on.log",
            (KvLine("EngineCore", 65_536, 8.0),),
            "0.32.0",
        ),
        (
            "0.32.0/logs/server_data_parallel_2_api_servers_2.log",
            (KvLine("EngineCore_DP0", 19_200, 2.34), KvLine("EngineCore_DP1", 19_200, 2.34)),
            "0.32.0",
        ),
    ],
)
def test_kv_lines_of_both_versions_are_read(
    log: str, lines: tuple[KvLine, ...], version: str
) -> None:
    """One line or two, a line for each engine."""
    facts = read_server_log((ROOT / log).read_text())
    assert (facts.kv_lines, facts.version, facts.is_ready) == (lines, version, True)
    assert facts.caching is True


def test_prefix_lines_are_kept() -> None:
    """Resets and hit rates of the ON server's log; the last of them."""
    log = ROOT / "0.32.0/logs/server_bench_prefix_caching_on.log"
    facts = read_server_log(log.read_text())
    assert 0 < len(facts.prefix_lines) <= 20
    assert any("Prefix cache hit rate" in line for line in facts.prefix_lines)


def test_a_server_that_did_not_start_is_not_ready() -> None:
    """No KV line, no readiness."""
    log = ROOT / "0.32.0/logs/server_fail_kv_cache_too_small.log"
    facts = read_server_log(log.read_text())
    assert facts.kv_lines == ()
    assert not facts.is_ready
    off = ROOT / "0.32.0/logs/server_bench_prefix_caching_off.log"
    assert read_server_log(off.read_text()).caching is False
    assert read_server_log("").caching is None


def test_counters_of_every_engine_are_read() -> None:
    """Two engines behind two API servers, whose process start is hidden."""
    snapshot = read_metrics((ROOT / "0.32.0/metrics/two_engines.prom").read_text())
    assert {e: c.hits_tokens for e, c in snapshot.engines.items()} == {"0": 4960.0, "1": 4960.0}
    assert {e: c.finished_requests for e, c in snapshot.engines.items()} == {"0": 6.0, "1": 6.0}
    assert snapshot.configs["1"]["block_size"] == "32"
    assert snapshot.process_start_s is None


def test_a_counter_that_is_not_exported_is_none() -> None:
    """Missing is not zero."""
    snapshot = read_metrics('vllm:prompt_tokens_total{engine="0",model_name="m"} 5.0\n')
    assert snapshot.engines["0"].prompt_tokens == 5.0
    assert snapshot.engines["0"].hits_tokens is None
    assert snapshot.configs == {}
    idle = read_metrics('vllm:cache_config_info{engine="0",enable_prefix_caching="True"} 1.0\n')
    assert idle.engines == {}


def test_labels_may_hold_anything() -> None:
    """Quotes, braces, commas, backslashes and line breaks, as the format escapes them."""
    text = (
        'vllm:cache_config_info{engine="0",a="x\\"},{ \\\\ \\n y",b=""} 1.0\n'
        'vllm:prompt_tokens_total{ model_name="a,b=c" , engine="0" , } 1e3 1796040000000\n'
    )
    snapshot = read_metrics(text)
    assert snapshot.configs["0"] == {"a": 'x"},{ \\ \n y', "b": ""}
    assert snapshot.engines["0"].prompt_tokens == 1000.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>login</html>",
        "# TYPE vllm:prompt_tokens counter\n",
        "vllm:prompt_tokens_total 5.0\n",
        'vllm:prompt_tokens_total{engine="0"} NaN\n',
        'vllm:prompt_tokens_total{engine="0"} +Inf\n',
        'vllm:prompt_tokens_total{engine="0"} -1\n',
        'vllm:prompt_tokens_total{engine="0"} five\n',
        'vllm:prompt_tokens_total{engine="0"}\n',
        'vllm:prompt_tokens_total{engine="0" 5\n',
        "vllm:prompt_tokens_total{engine=0} 5\n",
    ],
)
def test_other_text_is_an_error(text: str) -> None:
    """A login page, a cut-off line, values that no counter has."""
    with pytest.raises(SourceContract):
        read_metrics(text)
