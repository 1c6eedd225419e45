"""Derivatives of one step and gradients through a whole rollout."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Integrator, Stepper
from leastaction.integration.linearizer import Linearizer, limits_of
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown
from leastaction.mechanism.arguments import FloatArray, configuration, state_vector, tangent
from leastaction.trajectory.run_checks import checked_record
from leastaction.trajectory.trajectory import Trajectory


def a_run(run: Any) -> Trajectory:
    """`run`, which must be one."""
    if not isinstance(run, Trajectory):
        raise IntegratorError(f"run: expected a Trajectory, such as leastaction.simulate gives, got {shown(run)}")
    return run


def stepper_that(what: str, mechanism: Mechanism, integrator: Integrator | None, dt: float) -> Stepper:
    """The stepper of an integrator, if it can do `what` of `leastaction.integration.integrators.CAPABILITIES`."""
    if not isinstance(integrator, Integrator):
        raise IntegratorError(f"expected an integrator such as leastaction.Galerkin(order=4), got {integrator!r}")
    stepper = integrator.prepare(mechanism, dt)
    if what not in stepper.can:
        stepper.refuse(what)
    return stepper


class KeptSteppers(threading.local):
    """Steppers of the last calls of `linearize`, of each thread its own, for they hold what they write.

    To prepare one takes longer than most derivatives: all of a robot is laid out for its kernels. One in use, or
    whose call has failed, is not among them.
    """

    def __init__(self) -> None:
        self.known: OrderedDict[Any, Linearizer] = OrderedDict()

    def take(self, mechanism: Mechanism, integrator: Integrator, dt: float) -> Linearizer:
        """The one of that very robot, or a new one."""
        try:
            return self.known.pop((id(mechanism), integrator, type(dt), dt))
        except (KeyError, TypeError):  # of what cannot be hashed
            return Linearizer(mechanism, stepper_that("linearize", mechanism, integrator, dt))

    def put(self, mechanism: Mechanism, integrator: Integrator, dt: float, linearizer: Linearizer) -> None:
        """Keep one for the next call."""
        try:
            self.known[id(mechanism), integrator, type(dt), dt] = linearizer
        except TypeError:
            return
        while len(self.known) > KEPT:
            self.known.popitem(last=False)


KEPT = 4
"""Steppers that each thread keeps."""

_kept = KeptSteppers()


def controls_of(mechanism: Mechanism, u: Any) -> tuple[FloatArray, FloatArray]:
    """The controls that act in a step, shape (nu,), zero by default, and 1 where they follow u, 0 beyond its limits.

    Of actuators with an activation, u is the activation, which has limits of its own.
    """
    u = np.zeros(mechanism.nu) if u is None else state_vector(mechanism, u, mechanism.nu, "u")
    lower, upper = limits_of(mechanism)
    acting = np.minimum(np.maximum(u, lower), upper)
    return acting, np.where(acting == u, 1.0, 0.0)


def linearize(
    mechanism: Mechanism,
    integrator: Integrator,
    q: ArrayLike,
    p: ArrayLike,
    u: ArrayLike | None = None,
    dt: float = 0.01,
    *,
    out: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the step (q, p, u) -> (q', p'), about momenta p and NOT velocities v.

    From velocities: `p = la.dynamics.mass_matrix(robot, q) @ v`; of a run or a simulator, its own `p`.

    Positions vary along the tangent of `Mechanism.integrate`: dq and dq' have nv entries, for ball and free joints a
    twist in the child's frame.

    Args:
        mechanism: the robot.
        integrator: `Galerkin(...)`, `Midpoint()`, `Maximal(...)` or `Minimal()`; with contact,
            `Maximal(smoothing=...)` makes the step a smooth function, else the derivatives are those of the contacts as
            they are.
        q: joint positions [rad or m], shape (nq,).
        p: discrete momenta [N m s or N s], shape (nv,); not velocities, see above.
        u: controls held over the step, shape (nu,); default zero. Beyond its limits a control changes nothing, as in
            `simulate`.
        dt: time step [s].
        out: arrays for A and B, which are filled and returned.

    Returns:
        A, shape (2 nv, 2 nv), of (q, p), and B, shape (2 nv, nu), of u.

    See also `Simulator.linearize`, at the state of a simulator.
    """
    linearizer = _kept.take(mechanism, integrator, dt)
    A, B = linearizer.at(configuration(mechanism, q), tangent(mechanism, p, "p"), u, out)
    _kept.put(mechanism, integrator, dt, linearizer)
    return A, B


def action_blocks(
    mechanism: Mechanism,
    integrator: Integrator,
    q: ArrayLike,
    p: ArrayLike,
    u: ArrayLike | None = None,
    dt: float = 0.01,
) -> tuple[FloatArray, FloatArray]:
    """Second derivatives of the discrete action with its forces, at the solved step: what an optimiser needs.

    Row (chi, i) is the derivative of the discrete action along control point chi (0 start ... s end) of degree of
    freedom i. Free joints count as translations in the joint's frame, then turns: (x, y, z, wx, wy, wz).

    Returns:
        D, shape (s + 1, nv, s + 1, nv): D^2 L_d + DF_d, zero where neither degree of freedom carries the other (unless
        a spring joins them); and C, shape (s + 1, nv, nu), by the controls.
    """
    stepper = stepper_that("residual", mechanism, integrator, dt)
    acting, follows = controls_of(mechanism, u)
    D, C = stepper.action_blocks(configuration(mechanism, q), tangent(mechanism, p, "p"), acting)
    return D, C * follows


def backpropagate(
    run: Trajectory, dq: ArrayLike, dp: ArrayLike, *, integrator: Integrator | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Gradient of an objective of a whole run, by one transposed solve per step (discrete adjoint).

    Args:
        run: of `Galerkin`, `Midpoint`, `Maximal` or `Minimal`.
        dq: gradient of the objective by the positions along the tangent, shape (steps + 1, nv).
        dp: gradient by the momenta, shape (steps + 1, nv).
        integrator: what made the run; needed only for one that was loaded from a file.

    Returns:
        Gradients by the initial positions (nv,), the initial momenta (nv,), and by the controls at the nodes of each
        step, shape (steps, nodes, nu); sum over the nodes for controls that are held over a step.
    """
    m = a_run(run).mechanism
    n = m.nv
    by_q, by_p = real_array(dq), real_array(dp)
    if by_q is None or by_p is None or by_q.shape != (len(run), n) or by_p.shape != (len(run), n):
        got = " and ".join("no numbers" if x is None else str(x.shape) for x in (by_q, by_p))
        raise IntegratorError(f"dq and dp must have shape ({len(run)}, {n}), got {got}")
    if not (np.isfinite(by_q).all() and np.isfinite(by_p).all()):
        raise IntegratorError("dq and dp must be finite numbers")
    stepper = stepper_that("linearize", m, run.integrator if integrator is None else integrator, run.dt)
    nodes = len(stepper.control_nodes)
    stepper.prepare_start(run.q[0])  # says which loop equations have multipliers
    record = checked_record(stepper, run)
    controls = run.stored.get("u", np.broadcast_to(np.zeros(m.nu), (run.steps, nodes, m.nu)))
    reversal = stepper.reverse(["controls"])
    reversal.piece(record, 0, 0, controls, by_q, by_p)
    found = reversal.finish(run.q[0])
    if reversal.kink:
        raise IntegratorError(reversal.kink)
    return found["q"], found["p"], found["controls"]
