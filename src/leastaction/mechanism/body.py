"""Rigid bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

from leastaction.mechanism import _check
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.shapes import Shape


@dataclass(frozen=True)
class Body:
    """A rigid body.

    Attributes:
        name: unique among the bodies; "world" is taken.
        inertia: its mass distribution in the body frame.
        shapes: for pictures and contact, fixed to the body frame.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    shapes: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        what = f"body {_check.label(self.name, 'body')!r}"
        _check.instance(self.inertia, Inertia, f"{what}: inertia")
        object.__setattr__(self, "shapes", _check.instances(self.shapes, Shape, f"{what}: shapes"))
