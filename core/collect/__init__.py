"""Collectors: sources in, inbox batches out. A process of its own; no cache here."""
