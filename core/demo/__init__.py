"""The demo: a simulated vLLM fleet and gateway behind the ordinary clients.

`fleet` says who exists and what happens to them, `traffic` what each engine does
then, `exports`, `completed`, `residency` and `configuration` what vLLM would export
for it. `simulate` makes samples of that, `transport` answers Prometheus queries from the samples,
and `source` joins it to the client.

The same traffic has a request side: `arrivals` draws the requests behind the
counters, `sessions` says whose they are, `quality` how good the answers are, `rows` and
`evaluators` keep what a gateway and its evaluators would know, `gateway` makes them cycle
by cycle, `proxy` exports their counters, and `langfuse` answers from them; `declared`
says what the evaluators measure, `truth` tells a test what a reader must find. From
there on, all goes the way of real answers.

The fleet's people try things out: `experiments` has their plans and what is true of them,
`graded` counts what they compare, `looks` says who looked and decided. What they enter goes
through the doors of a page, above this room.
"""

from pathlib import Path

from core.demo.arrivals import Kind
from core.demo.declared import evaluators_of
from core.demo.experiments import KNOWN, demo_log, demo_plans
from core.demo.fleet import demo_changes
from core.demo.langfuse import demo_langfuse, demo_requests
from core.demo.looks import DECISIONS, LOOKS, demo_look
from core.demo.quality import Evaluator
from core.demo.source import HISTORY_S, demo_source, fleet_epoch, is_over
from core.demo.truth import known_requests, known_scores

RECORDED_BENCHMARK = Path(__file__).with_name("recorded_benchmark")
"""A plan with its results, as a real `vllm bench serve` left them; nothing in it is simulated."""

__all__ = [
    "DECISIONS",
    "HISTORY_S",
    "KNOWN",
    "LOOKS",
    "RECORDED_BENCHMARK",
    "Evaluator",
    "Kind",
    "demo_changes",
    "demo_langfuse",
    "demo_log",
    "demo_look",
    "demo_plans",
    "demo_requests",
    "demo_source",
    "evaluators_of",
    "fleet_epoch",
    "is_over",
    "known_requests",
    "known_scores",
]
