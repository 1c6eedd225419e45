"""Bodies that equations leave no motion of their own: they go where prescribed motions take them, or nowhere.

An arm of five joints whose hand is welded to a prescribed body is such, all of it. Impulses of contacts between two of
them, and of the limits and dry friction of joints between them, change nothing: they may be anything, and the method
that looks for them finds ever larger ones as a gap closes that nothing can open. So those of joints are omitted, as
those of prescribed joints are, and contacts as long as they are open (`contact.contact_setup`).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

from leastaction.dynamics.api import body_jacobian
from leastaction.dynamics.loops import closed_but_for, loop_jacobian, prescribed_freedoms
from leastaction.errors import ConvergenceError
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism
from leastaction.mechanism.kept import kept_with_mechanism

ASIDE, FAR, NO_MOTION = 2, 0.1, 1e-7
"""So many configurations, so far from home [rad or m], show what equations lock; and velocities that are none there."""

CLOSED, CLOSING = 1e-12, 100
"""Violation of loops that counts as closed there [m or rad], and most iterations for it."""


@kept_with_mechanism
def locked_names(m: Mechanism) -> frozenset[str]:
    """Names of such bodies, found where loops are closed, beside home, where no arm is stretched by chance."""
    if not m.loops or (not m.prescribed and all(loop.primitives for loop in m.loops)):
        return frozenset()
    random, given, found = np.random.default_rng(0), np.eye(m.nv)[prescribed_freedoms(m)], set(m.body_names)
    for _ in range(ASIDE):
        q = m.integrate(m.home(), random.uniform(-FAR, FAR, m.nv))
        try:
            q = closed_but_for(m, q, [], CLOSED, CLOSING)
        except ConvergenceError:
            return frozenset()
        N = null_space(np.concatenate([loop_jacobian(m, q)[1], given]), rcond=NO_MOTION)
        moved = {name: np.abs(body_jacobian(m, q, name, frame="origin") @ N).max(initial=0.0) for name in found}
        found = {name for name, most in moved.items() if most <= NO_MOTION}
    return frozenset(found)


def locked_bodies(model: Model) -> set[int]:
    """Indices of such bodies."""
    return {model.frames[name][0] for name in locked_names(model.mechanism)} - {-1}


def free_locked(model: Model) -> Model:
    """The model without limits and dry friction of joints between such bodies."""
    held, coordinates = [-1, *locked_bodies(model)], model.coordinates
    if len(held) > 1:
        own = np.isin(coordinates.a, held) & np.isin(coordinates.b, held)
        coordinates.lower[own], coordinates.upper[own], coordinates.friction[own] = -np.inf, np.inf, 0.0
    return model
