"""Benchmarks: the cases, what to expect of them, and what a run is evidence of."""
