"""Postures in which a robot stands still on one foot."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics import body_poses
from leastaction.errors import ConvergenceError
from leastaction.mechanism import Mechanism
from leastaction.optimize.functions.kinematic_functions import BodyPose, CenterOfMass
from leastaction.optimize.functions.motion_functions import Place
from leastaction.typing import FloatArray


def balanced(mechanism: Mechanism, q: Any, body: str, over: Any, *, max_iterations: int = 100) -> FloatArray:
    """The configuration nearest to q with one body where it is at q and the centre of mass above a point.

    Args:
        mechanism: the robot.
        q: configuration (nq,).
        body: name of the body that stays.
        over: x and y of the point in the world [m].
        max_iterations: of Newton's method, projected on what is asked.

    Raises:
        ConvergenceError: there is none near q.
    """
    q = np.array(q, float)
    pose = BodyPose("stance", body=body, pose=body_poses(mechanism, q)[mechanism.body_index(body)])
    com = CenterOfMass("center of mass")
    for function in (pose, com):
        function.prepare(mechanism, 1)
    wanted, none = q.copy(), np.zeros((1, 0))
    for _ in range(max_iterations):
        place = Place(np.zeros(1, np.int64), np.zeros(1), q[None], none, none, 1.0)
        a, b = pose.evaluate(place, True), com.evaluate(place, True)
        assert a.q is not None
        assert b.q is not None
        h = np.concatenate([a.value[0], b.value[0, :2] - np.asarray(over, float)])
        J = np.concatenate([a.q[0], b.q[0, :2]])
        x = mechanism.difference(q, wanted)
        move = x - np.linalg.pinv(J) @ (h + J @ x)
        q = mechanism.integrate(q, move)
        if np.abs(h).max() < 1e-11 and np.abs(move).max() < 1e-9:
            return q
    raise ConvergenceError(f"{mechanism.name!r} cannot balance on {body!r} near this posture")
