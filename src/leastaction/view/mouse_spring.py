"""Pulling on a body with the mouse: a spring from the point that was taken hold of to where the mouse is."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics import mass_matrix
from leastaction.kinematics.frame_jacobians import Placement
from leastaction.simulation.simulator import Simulator
from leastaction.typing import FloatArray

FREQUENCY = 10.0
"""Of the spring with the mass that it feels [rad/s]; it is critically damped, and mild enough for any usual step."""


class Pull:
    """A spring between a point of a body and a target, felt at each step of a simulation.

    Args:
        simulator: with this body among its `pushable` ones.
        body: its name.
        point: where it was taken hold of, in directions of the world [m], 3 numbers.
    """

    def __init__(self, simulator: Simulator, body: str, point: Any) -> None:
        self.simulator, self.body = simulator, body
        place = Placement(simulator.mechanism, simulator.q)
        X = place.pose(body)
        self.local = X[:3, :3].T @ (np.asarray(point, float) - X[:3, 3])
        self.target = np.array(point, float)
        # Inertia that the point shows, in the mean over directions; 1 / 0 where nothing can move.
        J = self._jacobian(place)
        M = mass_matrix(simulator.mechanism, simulator.q)
        give = np.trace(J @ np.linalg.lstsq(M, J.T, rcond=None)[0]) / 3.0
        self.mass = 1.0 / give if give > 0.0 else 0.0

    def at(self) -> FloatArray:
        """The point that is pulled, in the world [m], shape (3,)."""
        return self._point(Placement(self.simulator.mechanism, self.simulator.q))

    def push(self) -> None:
        """Let the spring act over the next step."""
        place = Placement(self.simulator.mechanism, self.simulator.q)
        x, v = self._point(place), self._jacobian(place) @ self.simulator.v
        force = self.mass * (FREQUENCY**2 * (self.target - x) - 2.0 * FREQUENCY * v)
        self.simulator.push(self.body, force, point=self.local)

    def _point(self, place: Placement) -> FloatArray:
        X = place.pose(self.body)
        return X[:3, :3] @ self.local + X[:3, 3]

    def _jacobian(self, place: Placement) -> FloatArray:
        """Of the velocity of the point, shape (3, nv)."""
        J = place.jacobian(self.body)
        r = place.pose(self.body)[:3, :3] @ self.local
        return J[3:] + np.cross(J[:3].T, r).T
