"""Shapes that are made to overlap, that cannot part or that may be parted, of a mechanism in body coordinates."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from leastaction.contact import by_design
from leastaction.contact.parting import Movable
from leastaction.contact.shapes import ContactTable
from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.maximal.coordinates.placement import place
from leastaction.maximal.layout import as_transforms
from leastaction.maximal.model import Model
from leastaction.maximal.records import BALL
from leastaction.mechanism.closure import COUPLING


def leave_out(model: Model, table: ContactTable) -> ContactTable:
    """See `contact.by_design.leave_out`."""
    return by_design.leave_out(at_home(model), table)


def at_home(model: Model) -> by_design.AtHome:
    """The mechanism of a model in its home configuration."""
    home = model.mechanism.home()

    def poses() -> NDArray[np.float64]:
        return poses_of(model, home)

    def twists(v: NDArray[np.float64]) -> NDArray[np.float64]:
        Z, V, _ = place(model, home, v)
        R = as_transforms(Z)[:, :9].reshape(-1, 3, 3)
        return np.hstack([np.einsum("bij,bj->bi", R, V[:, :3]), V[:, 3:]])

    links = [(x.a, x.b, x.iv, sum(p.nv for p in x.primitives)) for x in model.pieces]
    return by_design.AtHome(model.mechanism, links, frozenset(held_freedoms(model)), poses, twists)


def poses_of(model: Model, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Poses (n, 12) of the rigid bodies at q: rotation row by row, then position [m]."""
    return as_transforms(place(model, q, np.zeros(model.mechanism.nv))[0])


def movable(model: Model) -> Movable:
    """The mechanism of a model for `contact.parting`."""
    own = [c for c in model.coordinates if c.iq >= 0 and c.iv >= 0 and c.kind < BALL]
    limits = [(int(c.iq), int(c.iv), float(c.lower), float(c.upper)) for c in own]
    return Movable(at_home(model), partial(poses_of, model), limits)


def held_freedoms(model: Model) -> set[int]:
    """Degrees of freedom that nothing can push: prescribed ones, and those that an equation holds in place."""
    rows, coordinates = model.rows, model.coordinates
    own = rows[(rows.kind == COUPLING) & (rows.coordinate == rows.leader)]
    return {int(iv) for iv in coordinates.iv[own.coordinate]} | set(prescribed_freedoms(model.mechanism))
