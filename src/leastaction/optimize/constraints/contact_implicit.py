"""Contact without a schedule: forces where points touch, found with the motion (Fan 2018, Section 6; Manchester and
Kuindersma, Variational contact-implicit trajectory optimization, ISRR 2017).

At each control point a contact has a normal force n >= 0, friction b_i >= 0 along directions d_i of a pyramid, and a
slip speed c >= 0. With the gap g and the slip velocity s until the next control point,

    g >= 0,   mu n - sum b >= 0,   d_i . s + c >= 0,
    n (g + g_next + t) <= e,   c (mu n - sum b) + sum b_i (d_i . s + c) <= e:

a point that pushes touches level ground (t: how far it is from level) and does so still at the next control point
(impacts are plastic; the last control point has its own gap alone), it slides only at the edge of the pyramid, and
friction opposes sliding. The relaxation e is driven to zero over a few solves (`complementarity_relaxation`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown, suggestion
from leastaction.mechanism.closure import CLOSURE_ROW, ROLL, SHIFT
from leastaction.optimize.constraints.complementarity_rows import Complementarity, Gap, LastComplementarity, Slip
from leastaction.optimize.constraints.reaction_constraints import ForceLimits, PointPiece
from leastaction.optimize.constraints.reactions import Reaction, evaluate, patterns
from leastaction.optimize.constraints.terrain import Terrain
from leastaction.typing import FloatArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Touch:
    """A point or small ball of a body that may touch the ground; see `touch`."""

    name: str
    body: str
    point: tuple[float, float, float]
    radius: float
    friction: float


def touch(body: str, *, point: ArrayLike = (0.0, 0.0, 0.0), radius: float = 0.0, friction: float = 0.8) -> Touch:
    """A point of a body that may touch the ground, or a ball about it.

    Args:
        body: its name.
        point: in the body's frame [m].
        radius: of the ball [m]; 0 is a point.
        friction: Coulomb coefficient.
    """
    place = real_array(point)
    if place is None or place.shape != (3,) or not np.isfinite(place).all():
        raise ProblemError(f"touch {body!r}: point must be 3 finite numbers [m], got {shown(point)}")
    for name, value in (("radius", radius), ("friction", friction)):
        if not isinstance(value, int | float | np.number) or not (np.isfinite(value) and value >= 0.0):
            raise ProblemError(f"touch {body!r}: {name} must be a finite number, not negative, got {value!r}")
    x, y, z = (float(coordinate) for coordinate in place)
    return Touch(body, body, (x, y, z), float(radius), float(friction))


class ContactReaction(Reaction):
    """Forces of one contact.

    Attributes:
        touch: the point.
        terrain: the ground.
        axes: rows of the place in x, y and z, -1 where nothing moves it.
        constant: x [m], where nothing moves it.
        slides: rows along which it slips.
        rolls: whether it is a ball, whose rows have no values.
        early: whether forces act before the point touches.
    """

    touch: Touch
    terrain: Terrain
    axes: IntArray
    constant: float
    slides: IntArray
    rolls: bool
    early: bool

    @property
    def count(self) -> int:
        """Number of friction forces."""
        return 2 * len(self.slides)

    def pieces(self, relaxation: float) -> list[PointPiece]:
        """Constraints of the contact."""
        n, mu = self.count, self.touch.friction

        def edge(f: FloatArray) -> tuple[FloatArray, FloatArray]:
            J = np.zeros((len(f), 1, f.shape[1]))
            J[:, 0, 0], J[:, 0, 1 : 1 + n] = mu, -1.0
            return np.einsum("pmf,pf->pm", J, f), J

        out: list[PointPiece] = [Gap(self), ForceLimits(self, ("friction",), edge)]
        if n:
            out.append(Slip(self))
        return [*out, Complementarity(self, relaxation), LastComplementarity(self, relaxation)]


def contact_reaction(mechanism: Mechanism, touch: Touch, terrain: Terrain, points: IntArray, early: bool) -> Any:
    """The forces of a contact at control points."""
    frame = mechanism.tree.bodies[mechanism.body_index(touch.body)]
    rolls = touch.radius > 0.0
    rows: Any = np.zeros(5 if rolls else 3, CLOSURE_ROW).view(np.recarray)
    for k, row in enumerate(rows):
        row.kind = SHIFT if k < 3 else ROLL
        row.a, row.b, row.n = -1, int(frame.node), np.eye(3)[k % 3]
        row.pb = frame.p + frame.R.reshape(3, 3) @ np.array(touch.point)
        row.radius = touch.radius
    moved: Any = patterns(mechanism, rows, np.zeros(0))[0].any(axis=1)
    if not moved[2]:
        raise ProblemError(f"contact {touch.name!r}: nothing moves {touch.body!r} up or down")
    taken = np.flatnonzero(moved)
    number = np.full(len(rows), -1)
    number[taken] = np.arange(len(taken))
    slides = [number[k] for k in ((3, 4) if rolls else (0, 1)) if moved[k]] if touch.friction > 0.0 else []
    names = [sign + name for name in ("x", "y")[: len(slides)] for sign in "+-"]
    labels = ("normal", *names, *(("slip",) if slides else ()))
    drives = np.zeros((len(taken), len(labels)))
    drives[number[2], 0] = 1.0
    for k, row in enumerate(slides):
        drives[row, 1 + 2 * k], drives[row, 2 + 2 * k] = 1.0, -1.0
    zero, free = np.zeros(len(labels)), np.full(len(labels), np.inf)
    out = ContactReaction(f"contact {touch.name}", rows[taken], points, labels, zero, free, drives, holds=False)
    out.touch, out.terrain, out.rolls, out.early = touch, terrain, rolls, early
    out.axes, out.slides = number[:3], np.array(slides, int)
    from leastaction.dynamics.workspace import Workspace

    out.constant = evaluate(Workspace(mechanism), rows, np.zeros(0), mechanism.neutral()[None], False)[0][0, 0]
    return out


def touches(mechanism: Mechanism, points: tuple[Any, ...]) -> list[Touch]:
    """Contacts from what `Problem.contact` is given; those of the mechanism where it is given nothing."""
    if not points:
        found = [Touch(c.name, c.body, c.point, c.radius, c.friction) for c in mechanism.contacts]
        if not found:
            raise ProblemError(f"contact: {mechanism.name!r} has no contact points; name some with optimize.touch")
        return found
    out: list[Touch] = []
    for each in points:
        if not isinstance(each, Touch):
            raise ProblemError(f"contact: expected contacts such as optimize.touch('foot'), got {each!r}")
        if each.body not in mechanism.body_names:
            hint = suggestion(each.body, mechanism.body_names)
            raise ProblemError(f"contact: there is no body {each.body!r} in {mechanism.name!r}{hint}")
        same = sum(other.body == each.body for other in out)
        out.append(Touch(f"{each.body} {same + 1}", *_rest(each)) if same else each)
    return out


def _rest(t: Touch) -> tuple[Any, ...]:
    return t.body, t.point, t.radius, t.friction
