"""Meaning, free of machinery: no clock, no files, no network, no database."""
