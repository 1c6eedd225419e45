"""Lengths of tendons, and how joints change them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray, configuration, robot
from leastaction.mechanism.drives.control_forces import tendon_forces, tendon_length


def tendon_lengths(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Lengths of all tendons [m; along joints rad or m], shape (tendons,), in the order of `mechanism.drives.tendons`.

    Args:
        mechanism: the robot.
        q: joint positions, shape (nq,).
    """
    q = configuration(robot(mechanism), q)
    return np.array([tendon_length(mechanism, q, tendon) for tendon in mechanism.tendons])


def tendon_jacobian(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Derivatives of the lengths by the degrees of freedom, shape (tendons, nv): the moment arms of what drives them.

    Args:
        mechanism: the robot.
        q: joint positions, shape (nq,).
    """
    q = configuration(robot(mechanism), q)
    out = np.zeros((len(mechanism.tendons), mechanism.nv))
    for row, tendon in zip(out, mechanism.tendons, strict=True):
        tendon_forces(mechanism, q, tendon, 1.0, row)
    return out
