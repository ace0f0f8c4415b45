"""The demo: a simulated vLLM fleet behind the ordinary Prometheus client.

`fleet` says who exists and what happens to them, `traffic` what each engine does
then, `exports` and `configuration` what vLLM would export for it. `simulate`
makes samples of that, `transport` answers Prometheus queries from the samples,
and `source` joins it to the client. From there on, samples go the way of real
ones.
"""

from core.demo.fleet import demo_changes
from core.demo.source import HISTORY_S, demo_langfuse, demo_source, fleet_epoch, is_over

__all__ = ["HISTORY_S", "demo_changes", "demo_langfuse", "demo_source", "fleet_epoch", "is_over"]
