"""Which requests belong to the baseline and which to the new arm."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from core.domain.experiments.texts import Entered, Label

EARLIEST, LATEST = 946_684_800, 4_102_444_800
"""2000 and 2100: what lies outside was not meant."""
Instant = Annotated[int, Field(ge=EARLIEST, lt=LATEST)]
"""Seconds since the epoch."""


class Arm(StrEnum):
    """One side of a comparison; a difference is new minus base."""

    NEW = "new"
    BASE = "base"


class Dimension(StrEnum):
    """Attribute of a request that says to which arm it belongs: a column of `requests`."""

    ARM = "arm"
    TEMPLATE_VERSION = "template_version"
    MODEL = "model"
    NAMESPACE = "namespace"
    CLUSTER = "cluster"


OWN_ENGINES = (Dimension.NAMESPACE, Dimension.MODEL, Dimension.CLUSTER)
"""Arms told apart by one of these are served by engines of their own."""


class Period(Entered):
    """Half open: [start, end), seconds since the epoch."""

    start: Instant
    end: Instant

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.start < self.end:
            raise ValueError("must end after its start")
        return self

    @property
    def length_s(self) -> int:
        """Length in seconds."""
        return self.end - self.start

    def holds(self, at: float) -> bool:
        """Whether a moment lies in it.

        >>> Period(start=1_790_000_000, end=1_790_003_600).holds(1_790_003_600)
        False
        """
        return self.start <= at < self.end

    def overlaps(self, other: "Period") -> bool:
        """Whether the two have a moment in common."""
        return self.start < other.end and other.start < self.end


class ByAttribute(Entered):
    """Arms at one time, told apart by a value that each request carries."""

    by: Literal["attribute"] = "attribute"
    dimension: Dimension
    base: Label
    new: Label

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.base == self.new:
            raise ValueError("both arms have the same value")
        return self


class ByTime(Entered):
    """Arms one after the other."""

    by: Literal["time"] = "time"
    base: Period
    new: Period

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.base.overlaps(self.new):
            raise ValueError("the periods of the two arms overlap")
        return self


class Arms(Entered):
    """How the arms are split, and labels that every request of both must carry.

    Parameters
    ----------
    split : ByAttribute or ByTime
        What tells one arm from the other.
    cluster, namespace, model : str or None
        Restriction of both arms; None: all.
    """

    split: Annotated[ByAttribute | ByTime, Field(discriminator="by")]
    cluster: Label | None = None
    namespace: Label | None = None
    model: Label | None = None

    @model_validator(mode="after")
    def _not_both(self) -> Self:
        dimension = self.dimension
        if dimension is not None and getattr(self, dimension.value, None) is not None:
            raise ValueError(f"{dimension} tells the arms apart, so it cannot restrict both")
        return self

    @property
    def dimension(self) -> Dimension | None:
        """Attribute that tells the arms apart; None: time does."""
        return self.split.dimension if isinstance(self.split, ByAttribute) else None

    @property
    def have_engines(self) -> bool:
        """Whether engines can be told apart by arm: by their labels, or by time."""
        return self.dimension is None or self.dimension in OWN_ENGINES

    def value_of(self, arm: Arm) -> str | None:
        """Value of the attribute in one arm; None: time tells the arms apart."""
        if isinstance(self.split, ByTime):
            return None
        return self.split.new if arm is Arm.NEW else self.split.base

    def label_of(self, arm: Arm, name: str) -> str | None:
        """What a cluster, namespace or model must be in one arm; None: anything.

        >>> split = ByAttribute(dimension=Dimension.NAMESPACE, base="blue", new="green")
        >>> arms = Arms(split=split, model="m")
        >>> arms.label_of(Arm.NEW, "namespace"), arms.label_of(Arm.NEW, "model")
        ('green', 'm')
        """
        if self.dimension is not None and self.dimension.value == name:
            return self.value_of(arm)
        restriction: str | None = getattr(self, name)
        return restriction
