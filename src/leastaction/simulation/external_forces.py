"""Pushes on bodies from outside, given from step to step: a hand, a gust, a mouse.

A body that can be pushed gets six thrusters beside the actuators of the robot, one for each entry of a wrench in its
frame. Every integrator that knows thrusters so knows pushes, and the robot without them stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import instances, shown, suggestion, vector
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.drives.actuators import Actuator, BodyActuator, JointActuator
from leastaction.spatial import cross


class Pushes:
    """Wrenches that act on bodies of a robot over the next step.

    Args:
        mechanism: the robot.
        bodies: names of those that can be pushed, one name, or True for all that move.

    Attributes:
        whole: the robot with thrusters for pushes behind its own actuators.
        controls: of these thrusters, shape (6 bodies,).
    """

    def __init__(self, mechanism: Mechanism, bodies: Any) -> None:
        frames = mechanism.tree.frames
        if bodies is True:
            bodies = [body.name for body in mechanism.bodies if frames[body.name][0] >= 0]
        bodies = (bodies,) if isinstance(bodies, str) else instances(bodies, str, "pushable")
        self._at: dict[str, int] = {}
        thrusters: list[Actuator] = []
        for name in dict.fromkeys(bodies):
            if mechanism.body_index(name) < 0 or frames[name][0] < 0:
                raise MechanismError(f"pushable: body {name!r} cannot move")
            self._at[name] = len(thrusters)
            thrusters += [BodyActuator(f"push {k} of {name}", name, tuple(row)) for k, row in enumerate(np.eye(6))]
        own = list(mechanism.actuators)
        if not own:  # controls of a robot without actuators are forces along its freedoms
            own = [JointActuator(f"force along {name}", name) for name in mechanism.velocity_names]
        self.mechanism = mechanism
        self.whole = mechanism.replace(actuators=tuple(own + thrusters))
        self.controls: FloatArray = np.zeros(len(thrusters))

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of those that can be pushed."""
        return tuple(self._at)

    def add(self, q: FloatArray, body: str, force: Any, torque: Any, point: Any) -> None:
        """Add a push; arguments as of `Simulator.push`, with q the configuration [rad or m], shape (nq,)."""
        if not isinstance(body, str) or body not in self._at:
            there = suggestion(body, list(self._at)) if self._at else ": none is; see the argument `pushable`"
            raise IntegratorError(f"push: {shown(body)} is no body that can be pushed{there}")
        F, M = vector(force, 3, "push: force"), vector(torque, 3, "push: torque")
        com = self.mechanism.bodies[self.mechanism.body_index(body)].inertia.com
        at = com if point is None else vector(point, 3, "push: point")
        from leastaction.kinematics.frame_jacobians import Placement

        R = Placement(self.mechanism, q).pose(body)[:3, :3]
        f = R.T @ F
        k = self._at[body]
        self.controls[k : k + 3] += R.T @ M + np.array(cross(tuple(at), tuple(f)))
        self.controls[k + 3 : k + 6] += f


def prepared_stepper(integrator: Any, mechanism: Mechanism, whole: Mechanism, dt: float) -> Any:
    """The stepper of the whole, a mechanism with pushes; says where it is these that the integrator does not know."""
    try:
        return integrator.prepare(whole, dt)
    except IntegratorError as error:
        if whole is not mechanism:
            integrator.prepare(mechanism, dt)  # what is wrong without pushes comes first
            name = type(integrator).__name__
            raise IntegratorError(f"pushable: bodies cannot be pushed in {name}; use leastaction.Maximal") from error
        raise
