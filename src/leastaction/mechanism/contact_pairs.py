"""`ContactPair`: what holds between two shapes alone, whatever each of them says."""

from __future__ import annotations

from dataclasses import dataclass

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.shapes import COEFFICIENTS, check_surface


@dataclass(frozen=True)
class ContactPair:
    """Contact between two bodies, or two of their shapes.

    Attributes:
        first, second: names of two bodies; one may be "world".
        friction, restitution, spinning, rolling, static_friction, compliance, relaxation_time: between them, see
            `Shape`; None leaves it to the shapes.
        shapes: names of one shape of each, in the same order; an empty name stands for all shapes of the body.
        always: whether they touch whatever their groups say, and although a joint connects the bodies, as `<pair>` of
            MJCF does.
    """

    first: str
    second: str
    friction: float | None = None
    restitution: float | None = None
    spinning: float | None = None
    rolling: float | None = None
    shapes: tuple[str, str] = ("", "")
    always: bool = False
    static_friction: float | None = None
    compliance: float | None = None
    relaxation_time: float | None = None

    def __post_init__(self) -> None:
        names = [_check.label(name, "contact pair") for name in (self.first, self.second)]
        what = f"contact pair {names[0]!r} and {names[1]!r}"
        shapes = tuple(_check.text(name, f"{what}: shapes") for name in _check.pair(self.shapes, f"{what}: shapes"))
        object.__setattr__(self, "shapes", shapes)
        object.__setattr__(self, "always", _check.flag(self.always, f"{what}: always"))
        for name in COEFFICIENTS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check.nonnegative(getattr(self, name), f"{what}: {name}"))
        check_surface(self, what)
        if self.first == self.second:
            raise MechanismError(
                f"{what}: name two bodies" if self.first != WORLD else "the world never touches itself"
            )

    @property
    def name(self) -> str:
        """Both sides in words."""
        sides = zip((self.first, self.second), self.shapes, strict=True)
        return " and ".join(repr(f"{body}/{shape}" if shape else body) for body, shape in sides)
