"""Outside systems, one a file: bytes in, records out."""
