"""Forward kinematics and loop equations, written once more from the definition of a joint."""

import numpy as np

from leastaction import dynamics
from leastaction.mechanism import Motion
from leastaction.mechanism.joints import perpendicular


def _cross(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _rotation(axis, angle):
    K = _cross(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def _of_quaternion(q):
    w, u = q[0], np.asarray(q[1:])
    return np.eye(3) + 2 * w * _cross(u) + 2 * _cross(u) @ _cross(u)


def _motion(primitive, q):
    X = np.eye(4)
    axis = np.array(primitive.axis)
    if primitive.motion in (Motion.REVOLUTE, Motion.SCREW):
        X[:3, :3] = _rotation(axis, q[0])
        X[:3, 3] = primitive.pitch * q[0] * axis
    elif primitive.motion == Motion.PRISMATIC:
        X[:3, 3] = q[0] * axis
    elif primitive.motion == Motion.SPHERICAL:
        X[:3, :3] = _of_quaternion(q)
    else:
        X[:3, 3], X[:3, :3] = q[:3], _of_quaternion(q[3:])
    return X


def poses(robot, q):
    """World from body, (4, 4), by name of the body."""
    X = {"world": np.eye(4)}
    i = 0
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        Y = X[joint.parent] @ joint.pose.matrix
        for primitive in joint.primitives:
            Y = Y @ _motion(primitive, q[i : i + primitive.nq])
            i += primitive.nq
        X[body.name] = Y @ joint.child_pose.matrix
    return X


def point(robot, q, body, p):
    """Position in the world of a point of a body."""
    return (poses(robot, q)[body] @ np.array([*p, 1.0]))[:3]


def loop_residual(robot, q):
    """All loop equations, each zero when its loop is closed [m, and sines of angles]."""
    X = poses(robot, q)
    rows = []
    for loop in robot.loops:
        here = X[loop.parent] @ loop.pose.matrix
        there = X[loop.child] @ np.linalg.inv(loop.child_pose.matrix)
        Y = np.linalg.inv(here) @ there
        slides = [p.axis for p in loop.primitives if p.motion == Motion.PRISMATIC]
        if slides:
            rows += list(np.linalg.svd(np.array(slides))[2][len(slides) :] @ Y[:3, 3])
        else:
            rows += list(Y[:3, 3])
        turns = [p for p in loop.primitives if p.motion in (Motion.REVOLUTE, Motion.SPHERICAL)]
        if turns and turns[0].motion == Motion.REVOLUTE:
            axis = np.array(turns[0].axis)
            rows += [np.array(v) @ Y[:3, :3] @ axis for v in perpendicular(turns[0].axis)]
    return np.array(rows)


def loop_jacobian(robot, q, step=1e-6):
    """Derivative of `loop_residual` along the velocities, by central differences."""
    columns = []
    for e in np.eye(robot.nv) * step:
        ahead, behind = (loop_residual(robot, robot.integrate(q, d)) for d in (e, -e))
        columns.append((ahead - behind) / (2 * step))
    return np.array(columns).T


def rank(J):
    """Rank of a Jacobian that central differences gave."""
    s = np.linalg.svd(J, compute_uv=False)
    return int((s > 1e-7 * s[0]).sum())


def constrained_acceleration(robot, q, v):
    """Accelerations of the closed mechanism under its own forces (multipliers by least squares)."""
    J = loop_jacobian(robot, q)
    step = 1e-4
    ahead, here, behind = (loop_residual(robot, robot.integrate(q, s * v)) for s in (step, 0.0, -step))
    Jdot_v = (ahead - 2 * here + behind) / step**2
    M = dynamics.mass_matrix(robot, q)
    force = dynamics.passive_forces(robot, q, v) - dynamics.bias_forces(robot, q, v)
    n, m = robot.nv, len(J)
    K = np.block([[M, J.T], [J, np.zeros((m, m))]])
    return np.linalg.lstsq(K, np.concatenate([force, -Jdot_v]), rcond=1e-12)[0][:n]
