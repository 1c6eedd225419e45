"""Momentum and inertia of the whole robot about its centre of mass (Orin, Goswami and Lee, Auton. Robots 2013)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastaction.dynamics.api import body_poses, center_of_mass
from leastaction.kinematics.frame_jacobians import Placement
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


def centroidal_momentum_matrix(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Matrix A with A v the momentum (angular, linear) about the centre of mass [kg m^2/s, kg m/s], shape (6, nv)."""
    place, c = Placement(mechanism, q), center_of_mass(mechanism, q)
    A = np.zeros((6, mechanism.nv))
    for body, X in zip(mechanism.bodies, body_poses(mechanism, q), strict=True):
        R, J = X[:3, :3], place.jacobian(body.name, "origin")
        x = R @ np.array(body.inertia.com) + X[:3, 3]
        linear = body.inertia.mass * (J[3:] + np.cross(J[:3].T, x).T)
        A[:3] += R @ body.inertia.matrix @ R.T @ J[:3] + np.cross(x - c, linear.T).T
        A[3:] += linear
    return A


def centroidal_inertia(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Rotational inertia of all bodies about their centre of mass, in the world's directions [kg m^2], shape (3, 3)."""
    c, out = center_of_mass(mechanism, q), np.zeros((3, 3))
    for body, X in zip(mechanism.bodies, body_poses(mechanism, q), strict=True):
        R = X[:3, :3]
        d = R @ np.array(body.inertia.com) + X[:3, 3] - c
        out += R @ body.inertia.matrix @ R.T + body.inertia.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return out
