"""How much joints answer to impulses of their own, and how much of a damper's impulse they stand late in a step."""

from __future__ import annotations

import numpy as np

from leastaction.dynamics.api import mass_matrix
from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.servos import feedback
from leastaction.typing import FloatArray

HOLDS = 2.0
"""Share of a joint's inertia at home that its damper's impulse at the end of a step is, per rate, at most. Half of what
dampers do acts at each end of a step; where that is far more than the joint's momentum, the joint would swing back and
forth from step to step, hardly less each time, and contacts would kick it on. What is beyond acts at the start."""

LEAST = 1e-9
"""Inertia of massless joints relative to the largest."""


def mobility_at_home(mechanism: Mechanism) -> FloatArray:
    """How much each degree of freedom answers to its own impulse at home, shape (nv,)."""
    M = mass_matrix(mechanism, mechanism.home())
    M[np.diag_indices_from(M)] += LEAST * M.diagonal().max(initial=0.0)
    return np.asarray(np.linalg.inv(M).diagonal(), float)


def own_springs(mechanism: Mechanism) -> FloatArray:
    """Stiffness of the joints' own springs, and of the servos of balls [N m/rad or N/m], shape (nv,)."""
    own = np.concatenate([np.zeros(0), *(joint.stiffness for joint in mechanism.joints)])
    return own + feedback(mechanism).turning
