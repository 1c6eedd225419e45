"""Collision filtering and resolution of initial penetration, for a mechanism in body coordinates."""

from __future__ import annotations

import numpy as np

from leastaction.contact import collision_filter
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.penetration import penetration_search as start_search
from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.maximal.contact_graph import as_transforms
from leastaction.maximal.coordinates.placement import place
from leastaction.maximal.maximal_records import BALL
from leastaction.maximal.model import Model
from leastaction.mechanism.closure import COUPLING
from leastaction.typing import FloatArray


def exclude_pairs(model: Model, table: ContactTable) -> ContactTable:
    """Exclude pairs by `contact.collision_filter.exclude_pairs`, with a warning that names them."""
    table = collision_filter.exclude_pairs(at_home(model), table)
    collision_filter.warn_of_remarks(table)
    return table


def starts_apart(model: Model, table: ContactTable) -> start_search.Search:
    """Search for poses without penetration, see `contact.penetration.penetration_resolution.clear_start`."""
    own = [c for c in model.coordinates if c.iq >= 0 and c.iv >= 0 and c.kind < BALL]
    limits = [(int(c.iq), int(c.iv), float(c.lower), float(c.upper)) for c in own]
    return start_search.Search(at_home(model), limits, table)


def at_home(model: Model) -> collision_filter.HomePose:
    """The mechanism of a model and its home configuration."""

    def twists(q: FloatArray, v: FloatArray) -> FloatArray:
        Z, V, _ = place(model, q, v)
        R = as_transforms(Z)[:, :9].reshape(-1, 3, 3)
        return np.hstack([np.einsum("bij,bj->bi", R, V[:, :3]), V[:, 3:]])

    links = [(x.a, x.b, x.iv, sum(p.nv for p in x.primitives)) for x in model.pieces]
    m = model.mechanism
    poses = collision_filter.Carriers(m, model.frames, len(model.bodies))
    return collision_filter.HomePose(m, m.home(), links, frozenset(immobile_freedoms(model)), poses, twists)


def immobile_freedoms(model: Model) -> set[int]:
    """Degrees of freedom that no force can move: prescribed ones, and those that an equation locks."""
    rows, coordinates = model.rows, model.coordinates
    own = rows[(rows.kind == COUPLING) & (rows.coordinate == rows.leader)]
    return {int(iv) for iv in coordinates.iv[own.coordinate]} | set(prescribed_freedoms(model.mechanism))
