"""Benchmarks as they are run: processes, servers, jobs and their folders; never a shell."""
