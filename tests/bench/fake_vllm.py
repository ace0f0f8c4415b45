"""A stand-in for the `vllm` command: `serve` and `bench serve` as the launcher sees them.

A file `fake.json` beside it says what goes wrong: it is read at each start.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WRONG = {}
ARGUMENTS = sys.argv[1:]
CACHING = "enable_prefix_caching"
AT_EXIT = "".join(
    [
        "nanobind: leaked 64 types!\n",
        *(f' - leaked type "triton._C.libtriton.ir.t{n}"\n' for n in range(30)),
        " - ... skipped remainder\n",
        "See https://nanobind.readthedocs.io/en/latest/refleaks.html",
    ]
)
"""Said by the CPU build whenever one of its programs ends."""


def value(flag, default=None):
    return ARGUMENTS[ARGUMENTS.index(flag) + 1] if flag in ARGUMENTS else default


class Engine(BaseHTTPRequestHandler):
    caching = True
    hits = queries = prompt = requests = output = 0

    def log_message(self, *_):
        pass

    def answer(self, body, status=200):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        if self.path == "/health":
            self.answer("")
        elif self.path == "/version":
            self.answer(json.dumps({"version": "0.32.0"}))
        elif self.path == "/metrics":
            self.answer(self.metrics())
        else:
            self.answer("", 404)

    def do_POST(self):
        kind = type(self)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/reset_prefix_cache":
            answers = {"true": ('{"success":true}', 200), "false": ('{"success":false}', 200)}
            self.answer(*answers.get(WRONG.get("reset", "true"), ("", 404)))
            return
        told = json.loads(body)
        kind.prompt += told["tokens"]
        kind.requests += told["requests"]
        kind.output += told["output"]
        if kind.caching:
            kind.queries += told["tokens"]
            kind.hits += told["hits"]
        if WRONG.get("die_in_run"):
            os._exit(9)
        self.answer("{}")

    def metrics(self):
        kind = type(self)
        caching = WRONG.get("caching", str(kind.caching))
        algorithm = value("--prefix-caching-hash-algo", "sha256")
        labels = 'model_name="m",engine="0"'
        numbers = {
            "prefix_cache_queries_total": kind.queries,
            "prefix_cache_hits_total": kind.hits,
            "prompt_tokens_total": kind.prompt,
            "prompt_tokens_cached_total": kind.hits,
            "generation_tokens_total": kind.output,
            "num_preemptions_total": 0,
            "request_prefill_time_seconds_sum": 0.5 * kind.requests,
            "request_prefill_time_seconds_count": kind.requests,
        }
        config = {"block_size": 32, CACHING: caching, "engine": 0, "num_gpu_blocks": 2048}
        config["prefix_caching_hash_algo"] = algorithm
        told = ",".join(f'{name}="{text}"' for name, text in config.items())
        lines = [f"vllm:cache_config_info{{{told}}} 1.0"]
        lines += [f"vllm:{name}{{{labels}}} {float(number)}" for name, number in numbers.items()]
        for reason, number in (("length", kind.requests), ("abort", 0)):
            success = f'vllm:request_success_total{{{labels},finished_reason="{reason}"}}'
            lines.append(f"{success} {float(number)}")
        return "\n".join(lines) + "\n"


def serve():
    if WRONG.get("child"):  # an engine process, deaf to TERM, perhaps of a session of its own
        deaf = "import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"
        child = subprocess.Popen(
            [sys.executable, "-c", deaf], start_new_session=not WRONG.get("near")
        )
        Path(WRONG["child"]).write_text(str(child.pid))
    if WRONG.get("dies_at_start"):
        print("ValueError: To serve at least one request, more KV cache is needed")
        print("the key is", os.environ.get("VLLM_API_KEY"))
        print("Traceback (most recent call last):")
        print('  File "core_client.py", line 7, in wait\n    raise failed\n' * 20, end="")
        print("RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
        sys.exit(1)
    if WRONG.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if WRONG.get("never_ready"):
        time.sleep(600)
    Engine.caching = "--enable-prefix-caching" in ARGUMENTS
    server = ThreadingHTTPServer(("127.0.0.1", int(value("--port"))), Engine)
    size = "CPU KV cache size: 65,536 tokens, Maximum concurrency for 8,192 tokens per request: 8x"
    print(f"(EngineCore pid=7) INFO [kv_cache_utils.py:1] {size}")
    print("INFO:     Application startup complete.", flush=True)
    server.serve_forever()


def bench():
    print("Namespace(...)\nthe key is", os.environ.get("OPENAI_API_KEY"), flush=True)
    print("\r 10%\r 50%", end="", file=sys.stderr, flush=True)
    if WRONG.get("bench_hangs", "no such run") in value("--result-dir"):
        time.sleep(600)
    if WRONG.get("bench_exits"):
        print("ValueError: tokenizer not found", file=sys.stderr)
        print(AT_EXIT, end="", file=sys.stderr)
        sys.exit(WRONG["bench_exits"])
    random = value("--dataset-name") == "random"
    kind = "--random-" if random else "--prefix-repetition-"
    prefix = int(value(f"{kind}prefix-len"))
    suffix = int(value("--random-input-len" if random else f"{kind}suffix-len"))
    output = int(value(f"{kind}output-len"))
    prompts = int(value("--num-prompts"))
    tokens = prompts * (prefix + suffix)
    told = {
        "tokens": tokens,
        "requests": prompts,
        "output": prompts * output,
        "hits": (prompts - 1) * (prefix // 32 * 32),
    }
    address = f"http://{value('--host')}:{value('--port')}/tell"
    try:
        urllib.request.urlopen(address, json.dumps(told).encode(), timeout=5).read()
    except OSError:
        time.sleep(WRONG.get("lingers_s", 0))
    concurrency = int(value("--max-concurrency"))
    time.sleep(WRONG.get("bench_s", 0))
    result = {
        "date": "20261130-121239",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": None,
        "model_id": value("--model"),
        "tokenizer_id": value("--tokenizer"),
        "num_prompts": prompts,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": concurrency,
        "duration": 1.5,
        "completed": prompts,
        "failed": 0,
        "total_input_tokens": tokens,
        "total_output_tokens": prompts * output,
        "request_throughput": prompts / 1.5,
        "request_goodput": None,
        "output_throughput": prompts * output / 1.5,
        "total_token_throughput": (tokens + prompts * output) / 1.5,
        "max_output_tokens_per_s": 10.0,
        "max_concurrent_requests": concurrency,
        "rtfx": 0.0,
        "input_lens": [prefix + suffix] * prompts,
        "output_lens": [output] * prompts,
        "ttfts": [0.1 + 0.001 * n for n in range(prompts)],
        "itls": [[0.01] * (output - 1)] * prompts,
        "start_times": [100.0 + n for n in range(prompts)],
        "generated_texts": ["WRITTEN BY THE MODEL"] * prompts,
        "errors": [""] * prompts,
    }
    for metric in ("ttft", "tpot", "itl", "e2el"):
        for part in ("mean", "median", "std", "p50", "p95", "p99"):
            result[f"{part}_{metric}_ms"] = 100.0
    text = json.dumps(result)
    if WRONG.get("truncated"):
        text = text[: len(text) // 2]
    (Path(value("--result-dir")) / value("--result-filename")).write_text(text)


if __name__ == "__main__":
    WRONG |= json.loads((Path(__file__).resolve().parent / "fake.json").read_text())
    if ARGUMENTS[:1] == ["serve"]:
        serve()
    elif ARGUMENTS[:2] == ["bench", "serve"]:
        bench()
    else:
        sys.exit(2)
