"""What metadata says about a request: an allow-list of keys, and nothing else of it.

Metadata reaches us as a JSON object whose values are strings, numbers or objects;
older servers nest `attributes`, `resourceAttributes` and `scope`, newer ones join
them with dots. Values stay undecoded until a profile asks for their key, so that a
prompt under another key is never parsed.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import msgspec

NESTED = ("attributes", "resourceAttributes", "scope")
LONGEST_ID = 200
LONGEST_OBJECT = 20_000
"""Bytes of a JSON value that is still looked into."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a decoder raises over JSON that is none, is of another shape or too deep."""

_by_rank = itemgetter(0)
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


class Fields:
    """Where a profile looks for each field, by what lies there: metadata or tags."""

    def __init__(self, paths: Mapping[str, Iterable[str]]) -> None:
        self.by_key: dict[str, list[tuple[int, str, Place]]] = {}
        self.by_tag: list[tuple[int, str, Place]] = []
        for name, found in paths.items():
            for rank, place in enumerate(places(found)):
                self.by_key.setdefault(place.key, []).append((rank, name, place))
                if place.tag is not None:
                    self.by_tag.append((rank, name, place))
        self.tags = tuple(place.tag for _, _, place in self.by_tag if place.tag is not None)


class Metadata:
    """Values of one row's metadata, decoded when asked for."""

    def __init__(self, raw: msgspec.Raw, tags: Iterable[object]) -> None:
        self.values = _flattened(raw)
        self._tags = [tag for tag in tags if isinstance(tag, str)]
        self._looked_into: dict[str, Any] = {}

    def named(self, fields: Fields) -> dict[str, str]:
        """Fields that have a short name in one of their places: in the first such place."""
        where = [one for key in fields.by_key.keys() & self.values for one in fields.by_key[key]]
        if any(tag.startswith(fields.tags) for tag in self._tags):
            where += fields.by_tag
        found: dict[str, str] = {}
        for _, name, place in sorted(where, key=_by_rank):
            if name not in found and (text := self._text(place)) is not None:
                found[name] = text
        return found

    def first(self, where: Iterable[Place]) -> str | None:
        """The first of some places that holds a short name."""
        return next((text for one in where if (text := self._text(one)) is not None), None)

    def _text(self, place: Place) -> str | None:
        if place.key in self.values:
            return short_text(self.at(place))
        return None if place.tag is None else short_text(self._tag(place.tag))

    def at(self, place: Place) -> object:
        """What lies at a place."""
        key = place.key
        if key not in self._looked_into:
            raw = self.values.get(key)
            self._looked_into[key] = None if raw is None else _decoded(raw)
        found = self._looked_into[key]
        for name in place.inner:
            found = found.get(name) if isinstance(found, dict) else None
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
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        if type(value) not in (int, float):
            return None
        value = str(value)
    text = value.strip()
    return text if 0 < len(text) <= LONGEST_ID else None


def _flattened(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        values = _object.decode(raw)
    except UNREADABLE:
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
    except (*UNREADABLE, ValueError):
        return None
    return value


def _object_in(text: str) -> object:
    """An object in a string: JSON, or as Python prints it, which quotes with '."""
    try:
        return _any.decode(text)
    except UNREADABLE:
        if "'" not in text[:3]:
            return text
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
