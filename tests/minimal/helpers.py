"""What the tests of variational integrators share: methods, orders by slope, the symplectic form."""

import numpy as np

import leastaction as la
from leastaction.mechanism.joints import Motion

ORDERS = (2, 4, 6, 8)
JOINTS = ("midpoint", *ORDERS)
"""Rules that interpolate joint coordinates."""
METHODS = (*JOINTS, *(f"bodies {order}" for order in (2, 4, 6)))
"""And those that interpolate bodies; with steps that show the order of joints, order 8 of bodies is often exact."""


def method(order, **settings):
    """Galerkin of an order, or the midpoint rule, solved to round-off unless told otherwise."""
    settings = {"tolerance": 1e-13} | settings
    if on_bodies(order):
        return la.Galerkin(order=number(order), interpolation="bodies", **settings)
    # One solver, so that the tests compile one kernel; the others are compared in test_newton.
    settings = {"solver": "sparse"} | settings
    if order == "midpoint":
        return la.Midpoint(**settings)
    return la.Galerkin(order=order, interpolation="joints", **settings)


def on_bodies(order):
    """Whether a method interpolates bodies."""
    return isinstance(order, str) and order.startswith("bodies")


def number(order):
    """The order as a number."""
    return int(order.split()[1]) if on_bodies(order) else 2 if order == "midpoint" else order


def error_norms(robot, run, reference, every):
    """Errors of q, v and p of a run at all states of a reference (q, v) but the first."""
    q, v = (np.asarray(x)[1:] for x in reference)
    p = np.array([la.dynamics.mass_matrix(robot, a) @ b for a, b in zip(q, v, strict=True)])
    rows = slice(every, None, every)
    return np.array(
        [
            np.linalg.norm(robot.difference(q, run.q[rows])),
            np.linalg.norm(run.v[rows] - v),
            np.linalg.norm(run.p[rows] - p),
        ]
    )


def slopes(robot, integrator, reference, duration, counts, **options):
    """Observed orders of q, v and p, from runs of two numbers of steps, against states at even times.

    `reference`: (q, v) at len(q) even times from 0 to `duration`; the counts are multiples of len(q) - 1.
    """
    q, v = reference
    errors = []
    for count in counts:
        run = la.simulate(robot, q[0], v[0], dt=duration / count, steps=count, integrator=integrator, **options)
        errors.append(error_norms(robot, run, reference, count // (len(q) - 1)))
    return np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])


def assert_order(robot, order, reference, duration, counts, within=0.15, **options):
    """The error at fixed times falls as dt^order, in q, v and p."""
    # Errors of high orders are so small that what Newton leaves within a tolerance of 1e-14 would show.
    observed = slopes(robot, method(order, tolerance=1e-15), reference, duration, counts, **options)
    assert np.abs(observed - number(order)).max() <= within, observed


def skew(a):
    """Cross product matrix."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def symplectic_form(robot, p):
    """Matrix of dtheta, theta = <p, dq>, on tangents (dq, dp).

    With dq of ball and free joints in the child's frame,
    dtheta(1, 2) = dp1 dq2 - dp2 dq1 - <p, [dq1, dq2]>: the bracket of left-invariant fields appears.
    """
    n = robot.nv
    bracket = np.zeros((n, n))
    for node in robot.tree.nodes:
        k = int(node.iv)
        if node.kind in (Motion.SPHERICAL, Motion.FREE):
            bracket[k : k + 3, k : k + 3] = -skew(p[k : k + 3])
        if node.kind == Motion.FREE:
            bracket[k : k + 3, k + 3 : k + 6] = bracket[k + 3 : k + 6, k : k + 3] = -skew(p[k + 3 : k + 6])
    one, zero = np.eye(n), np.zeros((n, n))
    return np.block([[-bracket, -one], [one, zero]])
