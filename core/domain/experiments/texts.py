"""What people enter: strictly read, with one way to write it, strings bounded and visible.

Markup, quotes and SQL are let be: they are data wherever they go. Refused are control
characters, halves of surrogate pairs, and marks that turn the direction of reading.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationError,
)

from core.errors import EntryError

TURNING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
LONGEST_LABEL, LONGEST_LINE, LONGEST_TEXT = 200, 500, 4000
MOST_LINES = 20
MOST_REVISIONS = 50


def is_hidden(character: str) -> bool:
    r"""Whether a character would not be seen, or turn what is around it.

    >>> [is_hidden(c) for c in "a <\x00\u202e"]
    [False, False, False, True, True]
    """
    return character in TURNING or unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}


def _visible(text: str) -> str:
    return _refuse(text, allowed="")


def _readable(text: str) -> str:
    return _refuse(text, allowed="\n\t")


def _refuse(text: str, allowed: str) -> str:
    for character in text:
        if is_hidden(character) and character not in allowed:
            raise ValueError(f"holds the character U+{ord(character):04X}, which cannot be seen")
    return text


Label = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_LABEL),
    AfterValidator(_visible),
]
"""A value that is matched with the data, exactly as it is written."""
Line = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_LINE),
    AfterValidator(_visible),
]
Text = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT),
    AfterValidator(_readable),
]


def _pairs(given: object) -> object:
    """A mapping, or its pairs, in the order of the names; a name stands once."""
    pairs = tuple(given.items()) if isinstance(given, Mapping) else given
    if not isinstance(pairs, list | tuple) or not all(_is_pair(pair) for pair in pairs):
        raise ValueError("must map names to values")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError("names a value twice")
    if len(names) > MOST_REVISIONS:
        raise ValueError(f"holds more than {MOST_REVISIONS} names")
    return tuple(sorted(tuple(pair) for pair in pairs))


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list | tuple) and [type(part) for part in pair] == [str, str]


Revisions = Annotated[
    tuple[tuple[Label, Label], ...],
    BeforeValidator(_pairs),
    PlainSerializer(dict, return_type=dict[str, str]),
]
"""What is deployed, by name, in the order of the names."""


class Entered(BaseModel):
    """Base of what people enter: frozen, no field more or less, no type made to fit."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def checked(cls, **fields: Any) -> Self:
        """Make one from its fields.

        Raises
        ------
        EntryError
            With every field that cannot be used, and why.
        """
        try:
            return cls(**fields)
        except ValidationError as error:
            raise EntryError(_every_fault(error)) from error

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote, or what somebody else did.

        Raises
        ------
        EntryError
            With every field that cannot be used, and why; a name that stands twice, too.
        """
        try:
            json.loads(text, object_pairs_hook=_once)
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise EntryError(_every_fault(error)) from error
        except (ValueError, RecursionError) as error:
            raise EntryError(f"cannot be read as JSON: {error}") from error

    def to_json(self) -> str:
        """The one way to write it: names in order, no space, numbers in their shortest form."""
        fields = self.model_dump(mode="json")
        return json.dumps(
            fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )

    @property
    def digest(self) -> str:
        """SHA-256 of `to_json`, 64 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:LONGEST_LABEL]!r} stands twice")
    return found


def _every_fault(error: ValidationError) -> str:
    """One line with every field and its fault; values are not repeated."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        ".".join([*map(str, fault["loc"]), ""])[:-1][:LONGEST_LABEL]
        + (": " if fault["loc"] else "")
        + fault["msg"].removeprefix("Value error, ")
        for fault in faults
    )


def without_minus_zero(number: float) -> float:
    """The number, with one zero only: -0.0 would be written as another number."""
    return number + 0.0


Number = Annotated[float, AfterValidator(without_minus_zero)]
"""A finite number."""
Fraction = Annotated[Number, Field(gt=0, lt=1)]
"""Strictly between 0 and 1."""


class Signature(Entered):
    """Who did something."""

    by: Line
