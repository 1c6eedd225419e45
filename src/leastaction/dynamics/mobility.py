"""How much joints answer to impulses of their own, and how much of a damper's impulse they stand late in a step."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.api import body_jacobian, mass_matrix
from leastaction.forces.tendon_records import Acting, acting
from leastaction.mechanism import Mechanism
from leastaction.mechanism.elements import Attachment
from leastaction.mechanism.graph import WORLD
from leastaction.mechanism.servos import feedback
from leastaction.mechanism.tendons import pieces

FloatArray = NDArray[np.float64]

HOLDS = 2.0
"""Share of a joint's inertia at home that its damper's impulse at the end of a step is, per rate, at most. Half of what
dampers do acts at each end of a step; where that is far more than the joint's momentum, the joint would swing back and
forth from step to step, hardly less each time, and contacts would kick it on. What is beyond acts at the start."""

SHORT, MOST = 0.5, 8
"""Frequency times step at which a spring is followed closely; most that a step is halved for it."""

LEAST = 1e-9
"""Inertia of massless joints relative to the largest."""


def mobility_at_home(mechanism: Mechanism) -> FloatArray:
    """How much each degree of freedom answers to its own impulse at home, shape (nv,)."""
    M = mass_matrix(mechanism, mechanism.home())
    M[np.diag_indices_from(M)] += LEAST * M.diagonal().max(initial=0.0)
    return np.asarray(np.linalg.inv(M).diagonal(), float)


def path_mobilities(mechanism: Mechanism) -> FloatArray:
    """How much the lengths of springs, then cables, answer to impulses of their own at home at most, in any direction.

    Shape (springs + cables,) [1/kg]; of a chain of points as if all parts of it answered at once.
    """
    q = mechanism.home()
    M = mass_matrix(mechanism, q)
    M[np.diag_indices_from(M)] += LEAST * M.diagonal().max(initial=0.0)
    chains = [(s.start, s.end) for s in mechanism.springs] + [c.via for c in mechanism.cables]
    return np.array([_chain_mobility(mechanism, q, M, via) for via in chains])


def _chain_mobility(mechanism: Mechanism, q: FloatArray, M: FloatArray, via: Any) -> float:
    slopes = [
        np.zeros((3, len(M))) if a.body == WORLD else body_jacobian(mechanism, q, a.body, point=a.point)[3:]
        for a in via
    ]
    speed = 0.0
    for J, K in itertools.pairwise(slopes):
        D = K - J
        speed += float(np.sqrt(max(np.linalg.eigvalsh(D @ np.linalg.solve(M, D.T))[-1], 0.0)))
    return speed**2


def tendon_mobilities(mechanism: Mechanism) -> FloatArray:
    """How much the lengths of what `tendon_records.acting` lists answer to impulses of their own at home at most.

    Shape (tendons,); of paths as if all pieces of them answered at once, in any direction.
    """
    q = mechanism.home()
    M = mass_matrix(mechanism, q)
    M[np.diag_indices_from(M)] += LEAST * M.diagonal().max(initial=0.0)
    return np.array([_tendon_mobility(mechanism, q, M, part) for part in acting(mechanism)])


def _tendon_mobility(mechanism: Mechanism, q: FloatArray, M: FloatArray, part: Acting) -> float:
    row = np.zeros(len(M))
    for name, weight in part.joints:
        row[mechanism.velocity_index(name)] += weight
    speed = math.sqrt(max(float(row @ np.linalg.solve(M, row)), 0.0)) if row.any() else 0.0
    for divisor, start, around, end in pieces(part.stretches):
        middle = [] if around is None else [Attachment(around.body, around.pose.position)]
        speed += math.sqrt(_chain_mobility(mechanism, q, M, [start, *middle, end])) / divisor
    return speed**2


def own_springs(mechanism: Mechanism) -> FloatArray:
    """Stiffness of the joints' own springs, and of the servos of balls [N m/rad or N/m], shape (nv,)."""
    own = np.concatenate([np.zeros(0), *(joint.stiffness for joint in mechanism.joints)])
    return own + feedback(mechanism).turning


def parts_for(swings: float) -> int:
    """How many parts, a power of two, steps have that are short for springs with so large a (frequency x step)^2."""
    return 2 ** min(max(0, math.ceil(math.log2(math.sqrt(swings) / SHORT))), MOST) if swings > 0.0 else 1
