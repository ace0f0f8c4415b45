"""Requests: pages of Langfuse, or files it exported, into rows of the inbox."""
