"""Ids that a person pastes, and addresses made from ids.

An id is data: nothing here or later takes it for anything else.
"""

from itertools import pairwise
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

PLACES = ("traces", "sessions")
"""Parts of a Langfuse address behind which an id stands."""
IN_QUERY = ("observation", "peek")
"""Parameters of a Langfuse address that hold an id: the narrower one first."""


def wanted_id(text: str) -> str:
    """The id in what was pasted: the text itself, or the narrowest id of a Langfuse address.

    >>> wanted_id("  7f3a "), wanted_id("https://lf.example/project/p/traces/t-1?observation=o%2F1")
    ('7f3a', 'o/1')
    >>> wanted_id("https://lf.example/project/p/sessions/s%201")
    's 1'
    """
    clean = "".join(c for c in text if c.isprintable()).strip()
    if not any(f"{place}/" in clean or f"{place}?" in clean for place in PLACES):
        return clean
    try:
        parts = urlsplit(clean)
    except ValueError:
        return clean
    query = parse_qs(parts.query)
    path = parts.path.split("/")
    named = [query[name][0].strip() for name in IN_QUERY if name in query]
    named += [unquote(b).strip() for a, b in pairwise(path) if a in PLACES]
    return next((one for one in named if one), clean)


def trace_address(address: str, *, project_id: str, trace_id: str, observation_id: str) -> str:
    """Where Langfuse shows an observation in its trace.

    >>> trace_address("https://lf.example", project_id="p", trace_id="a/b", observation_id="o?")
    'https://lf.example/project/p/traces/a%2Fb?observation=o%3F'
    """
    path = f"{quote(project_id, safe='')}/traces/{quote(trace_id, safe='')}"
    return f"{address}/project/{path}?{urlencode({'observation': observation_id})}"
