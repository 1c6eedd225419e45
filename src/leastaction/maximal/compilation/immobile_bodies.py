"""Bodies that constraints leave no freedom: they follow prescribed motions, or do not move.

An example is an arm of five joints whose hand is welded to a prescribed body. Impulses of contacts between two such
bodies, and of limits and dry friction of joints between them, change no motion, so they are undetermined, and a solver
finds ever larger ones as a gap closes that nothing can open. So limits and dry friction of these joints are omitted, as
for prescribed joints, and contacts as long as they are open (`contact.contact_setup`).
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
"""Number of configurations tested for locked bodies, their distance from home [rad or m], and velocity that is zero."""

CLOSED, CLOSING = 1e-12, 100
"""Violation of loops that counts as closed in these configurations [m or rad], and most iterations to close them."""


@kept_with_mechanism
def locked_names(m: Mechanism) -> frozenset[str]:
    """Names of immobile bodies, from closed configurations near home, since arms may be singular at home itself."""
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
    """Indices of immobile bodies."""
    return {model.frames[name][0] for name in locked_names(model.mechanism)} - {-1}


def free_locked(model: Model) -> Model:
    """The model without limits and dry friction of joints between immobile bodies."""
    held, coordinates = [-1, *locked_bodies(model)], model.coordinates
    if len(held) > 1:
        own = np.isin(coordinates.a, held) & np.isin(coordinates.b, held)
        coordinates.lower[own], coordinates.upper[own], coordinates.friction[own] = -np.inf, np.inf, 0.0
    return model
