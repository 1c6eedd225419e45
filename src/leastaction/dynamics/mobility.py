"""How much joints answer to impulses of their own."""

from __future__ import annotations

import numpy as np

from leastaction.dynamics.api import mass_matrix
from leastaction.mechanism import Mechanism
from leastaction.typing import FloatArray

LEAST = 1e-9
"""Inertia of massless joints relative to the largest."""


def mobility_at_home(mechanism: Mechanism) -> FloatArray:
    """How much each degree of freedom answers to its own impulse at home, shape (nv,)."""
    M = mass_matrix(mechanism, mechanism.home())
    M[np.diag_indices_from(M)] += LEAST * M.diagonal().max(initial=0.0)
    return np.asarray(np.linalg.inv(M).diagonal(), float)
