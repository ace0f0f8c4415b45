"""One module a page: a frozen dataclass with everything it shows, and its build()."""
