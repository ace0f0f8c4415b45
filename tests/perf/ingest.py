"""`make perf`: what reading a million raw samples costs, beside MetricRangeDataFrame.

Both sides get the same bytes of one Prometheus answer, in processes of their own and in
turn, so that a busy machine slows both. Prints CPU seconds and their ratio, pair by pair.
Ours ends with minute cells ready to be written; theirs with a DataFrame.
"""

import gc
import json
import statistics
import subprocess
import sys
import time
import warnings

SERIES, SAMPLES, SCRAPE_S, START = 200, 5000, 15, 1_796_000_040
PAIRS = 5


def answer() -> bytes:
    """A range answer of two counters of 100 engines."""
    result = []
    for i in range(SERIES):
        name = "vllm:prefix_cache_queries_total" if i % 2 else "vllm:prefix_cache_hits_total"
        labels = {
            "__name__": name,
            "cluster": "c",
            "namespace": "n",
            "pod": f"pod-{i // 2}",
            "engine": "0",
            "model_name": "m",
            "job": "vllm",
            "instance": f"10.0.0.{i // 2}:8000",
        }
        values = [[START + SCRAPE_S * k + 0.123, str((i + 1) * k * 16)] for k in range(SAMPLES)]
        result.append({"metric": labels, "values": values})
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data}).encode()


def ours(body: bytes) -> None:
    """Bytes to minute cells, as the collector does it."""
    from core.collect.advance import Slice, advance
    from core.collect.state import State
    from core.config import load_settings
    from core.sources.prometheus import _collector_paused, _decoder, _raw

    end = START + SCRAPE_S * SAMPLES + 60
    begun = time.process_time()
    with _collector_paused():
        envelope = _decoder.decode(body)
        raw = [_raw(series, START, end) for series in envelope.data.result]
    del envelope
    state = State(settled=START, backfill_from=START)
    done = advance(state, Slice(START, end, raw, []), settle_to=end, settings=load_settings())
    print(time.process_time() - begun, done.points)


def theirs(body: bytes) -> None:
    """Bytes to the client library's DataFrame."""
    from prometheus_api_client import MetricRangeDataFrame

    warnings.simplefilter("ignore")
    begun = time.process_time()
    frame = MetricRangeDataFrame(json.loads(body)["data"]["result"])
    print(time.process_time() - begun, len(frame))


def main() -> None:
    """Run both in turn and print the ratios."""
    if len(sys.argv) > 1:
        import pandas  # noqa: F401 - imports are not what is measured
        import pyarrow.pandas_compat  # noqa: F401

        body = answer()
        gc.collect()
        {"ours": ours, "theirs": theirs}[sys.argv[1]](body)
        return
    ratios = []
    for pair in range(1, PAIRS + 1):
        spent = {}
        for side in ("ours", "theirs"):
            done = subprocess.run(
                [sys.executable, __file__, side], capture_output=True, text=True, check=True
            )
            spent[side] = float(done.stdout.split()[0])
        ratios.append(spent["ours"] / spent["theirs"])
        print(
            f"pair {pair}: ours {spent['ours']:.2f} s CPU, "
            f"MetricRangeDataFrame {spent['theirs']:.2f} s CPU, ratio {ratios[-1]:.2f}"
        )
    print(
        f"a million samples: ratio median {statistics.median(ratios):.2f} "
        f"(min {min(ratios):.2f}, max {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()
