"""The cache: an inbox of immutable batches, and one DuckDB file with one owner."""
