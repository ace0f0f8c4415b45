"""What metadata says about a request: an allow-list of keys, and nothing else of it.

Metadata reaches us as a JSON object whose values are strings, numbers or objects;
older servers nest `attributes`, `resourceAttributes` and `scope`, newer ones join
them with dots. Values stay undecoded until a profile asks for their key, so that a
prompt under another key is never parsed.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

NESTED = ("attributes", "resourceAttributes", "scope")
LONGEST_ID = 200
LONGEST_OBJECT = 20_000
"""Bytes of a JSON value that is still looked into."""

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_any = msgspec.json.Decoder()


@dataclass(frozen=True)
class Place:
    """Where a value may lie: a key of the metadata and a way inside, or a tag's prefix."""

    key: str
    inner: tuple[str, ...] = ()
    tag: str | None = None


def places(paths: Iterable[str]) -> tuple[Place, ...]:
    """Paths of a profile, taken apart once; see `Exporter.paths`."""
    found = []
    for path in paths:
        key, *inner = path.split("/")
        tag = f"{path[4:]}:" if path.startswith("tag:") else None
        found.append(Place(key, tuple(inner), tag))
    return tuple(found)


class Metadata:
    """Values of one row's metadata, decoded when asked for."""

    def __init__(self, raw: msgspec.Raw, tags: Iterable[object]) -> None:
        self.values = _flattened(raw)
        self._tags = [tag for tag in tags if isinstance(tag, str)]

    def first(self, where: Iterable[Place]) -> str | None:
        """The first of some places that holds a short name."""
        values, tags = self.values, self._tags
        for place in where:
            if place.key in values:
                text = short_text(self.at(place))
            elif place.tag is not None and tags:
                text = short_text(self._tag(place.tag))
            else:
                continue
            if text is not None:
                return text
        return None

    def at(self, place: Place) -> object:
        """What lies at a place."""
        raw = self.values.get(place.key)
        found = None if raw is None else _decoded(raw)
        for name in place.inner:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _tag(self, start: str) -> str | None:
        """What stands behind the last tag of a prefix: attempts add theirs at the end."""
        found = [tag[len(start) :] for tag in self._tags if tag.startswith(start)]
        return found[-1] if found else None


def short_text(value: object) -> str | None:
    """A value as a short name; empty, long and compound ones are none.

    >>> short_text(3), short_text(""), short_text(True), short_text(["stop"])
    ('3', None, None, 'stop')
    """
    if not isinstance(value, str):
        if isinstance(value, list) and len(value) == 1:
            return short_text(value[0])
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        value = str(value)
    text = value.strip()
    return text if 0 < len(text) <= LONGEST_ID else None


def _flattened(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        values = _object.decode(raw)
    except msgspec.DecodeError:
        return {}
    for name in NESTED:
        if name in values:
            inner = _flattened(values[name])
            values |= {f"{name}.{key}": value for key, value in inner.items()}
    return values


def _decoded(raw: msgspec.Raw) -> Any:
    """A value; one that was sent as the text of an object is looked into as well."""
    if len(memoryview(raw)) > LONGEST_OBJECT:
        return None
    try:
        value = _any.decode(raw)
        if isinstance(value, str) and value[:1] in "{[":
            return _object_in(value)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value


def _object_in(text: str) -> object:
    """An object in a string: JSON, or as Python prints it."""
    try:
        return _any.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
