"""Classical rigid-body dynamics of a mechanism's tree in joint coordinates.

Functions take the mechanism first, then q [rad or m], shape (nq,), and v [rad/s or m/s], shape (nv,). The forces of
the mechanism's own springs, dampers and constant wrenches are in `passive_forces`; inverse and forward dynamics
leave them to the caller, as Pinocchio's and MuJoCo's do. Loops are not closed here: these are the dynamics of the tree.

Results are new arrays, or `out` where that is given: an array of floats of the same shape, which is returned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction._tuples import plain
from leastaction.dynamics import entries
from leastaction.dynamics.legendre import quantities
from leastaction.dynamics.origin_shift import free_trees, near_origin
from leastaction.dynamics.spline_quantities import spline_momenta
from leastaction.dynamics.workspace import Calls, Workspace, calls, given
from leastaction.errors import MechanismError
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.kinematics.reduced.state import State
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown, vector
from leastaction.mechanism.arguments import FloatArray, configuration, robot, tangent

FRAMES = {"world": entries.WORLD, "body": entries.BODY, "origin": entries.ORIGIN}
"""Of the rows of a Jacobian."""


def _kinematics(mechanism: Mechanism, q: Any, v: Any = None) -> Calls:
    """Poses of all bodies, screws and twists of the nodes."""
    own = calls(mechanism)
    if not own.take(q, v) or not own.body_poses():
        own.at_any(own.body_poses, q, v)
    return own


def body_poses(mechanism: Mechanism, q: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Poses of all bodies: world from body, shape (bodies, 4, 4), in the order of `mechanism.body_names`."""
    if has_splines(mechanism):
        return given(State(mechanism, q, chart="exponential").body_poses(), out)
    return given(_kinematics(mechanism, q).poses, out)


def body_twists(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Twists (angular, linear) of all bodies [rad/s, m/s], each in its own body frame, shape (bodies, 6)."""
    if has_splines(mechanism):
        return State(mechanism, q, v, chart="exponential").body_twists()
    own = _kinematics(mechanism, q, v)
    w, X = own.work, own.poses
    V = np.zeros((len(X), 6))
    carried = w.tree.bodies.node >= 0
    V[carried] = w.links.v[w.tree.bodies.node[carried]]
    R = X[:, :3, :3].transpose(0, 2, 1)
    linear = V[:, 3:] + np.cross(V[:, :3], X[:, :3, 3])
    return np.concatenate([np.einsum("bij,bj->bi", R, V[:, :3]), np.einsum("bij,bj->bi", R, linear)], axis=1)


def body_jacobian(
    mechanism: Mechanism,
    q: ArrayLike,
    body: str,
    *,
    point: ArrayLike = (0, 0, 0),
    frame: str = "world",
    out: FloatArray | None = None,
) -> FloatArray:
    """Jacobian of a body's twist, shape (6, nv): twist = J v.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        body: name of the body.
        point: point of the body whose velocity the linear rows give, in the body's frame [m].
        frame: "world": linear velocity of the point and angular velocity, in directions of the world;
            "body": the same in directions of the body; "origin": the spatial twist about the world's origin.
    """
    i = robot(mechanism).body_index(body)
    if not isinstance(frame, str) or frame not in FRAMES:
        raise MechanismError(f"frame must be 'world', 'body' or 'origin', got {shown(frame)}")
    point = np.array(vector(point, 3, "point"))
    if has_splines(mechanism):
        state = State(mechanism, q, chart="exponential")
        tree, poses = state.coordinates.tree, state.body_poses()
        node, J = -1 if i < 0 else int(tree.bodies[i].node), np.zeros((6, tree.nv))
        entries.point_jacobian(tree.nodes, state.motion.screws, poses, point, node, i, FRAMES[frame], J)
        return given(J @ state.velocity_map(), out)
    own = _kinematics(mechanism, q)
    own.point[:] = point
    own.point_jacobian(-1 if i < 0 else int(own.work.tree.bodies.node[i]), i, FRAMES[frame], own.jacobian)
    return given(own.jacobian, out)


def _masses(mechanism: Mechanism) -> tuple[FloatArray, FloatArray]:
    """Masses [kg], shape (bodies,), and centres of mass in the bodies' frames [m], shape (bodies, 3)."""
    own = [body.inertia for body in mechanism.bodies]
    return np.array([x.mass for x in own]), np.array([x.com for x in own]).reshape(-1, 3)


def center_of_mass(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Centre of mass of all bodies in the world [m], shape (3,)."""
    X = body_poses(mechanism, q)
    masses, local = _masses(mechanism)
    if masses.sum() <= 0.0:
        raise MechanismError(f"mechanism {mechanism.name!r} has no mass, so no centre of mass")
    points = np.einsum("bij,bj->bi", X[:, :3, :3], local) + X[:, :3, 3]
    return masses @ points / masses.sum()


def com_jacobian(mechanism: Mechanism, q: ArrayLike) -> FloatArray:
    """Jacobian of the centre of mass, shape (3, nv)."""
    own = _kinematics(mechanism, q)
    masses, local = _masses(mechanism)
    J, node = np.zeros((3, mechanism.nv)), own.work.tree.bodies.node
    for i, m in enumerate(masses):
        own.point[:] = local[i]
        own.point_jacobian(int(node[i]), i, entries.WORLD, own.jacobian)
        J += m * own.jacobian[3:]
    return J / masses.sum()


def _near_origin(mechanism: Mechanism, q: Any) -> FloatArray:
    """Positions q, shape (nq,), from the origin of a world in which the dynamics of the tree are the same."""
    given = configuration(mechanism, q)  # which says what is wrong with the mechanism, too
    return near_origin(free_trees(mechanism.tree), given)


def mass_matrix(mechanism: Mechanism, q: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Joint-space mass matrix M(q) with armatures [kg m^2, kg m or kg], shape (nv, nv)."""
    if has_splines(mechanism):
        n = mechanism.nv
        return given(spline_momenta(mechanism, np.tile(configuration(mechanism, q), (n, 1)), np.eye(n)), out)
    own = calls(mechanism)
    if not own.take(q) or not own.mass_matrix():
        own.at_any(own.mass_matrix, q)
    return given(own.matrix, out)


def inverse_dynamics(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike | None, a: ArrayLike | None, *, out: FloatArray | None = None
) -> FloatArray:
    """Generalised forces [N m or N] for accelerations a [rad/s^2 or m/s^2], shape (nv,): M a + bias forces.

    None in place of v or a stands for zero.

    Of the tree alone, without the mechanism's own springs and dampers (`passive_forces`) and without loops.
    """
    own = calls(mechanism)
    if not own.take(q, v, a) or not own.inverse_dynamics():
        own.at_any(own.inverse_dynamics, q, v, a)
    return given(own.tau, out)


def bias_forces(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Coriolis, centrifugal and gravity forces [N m or N], shape (nv,): inverse dynamics at zero acceleration."""
    return inverse_dynamics(mechanism, q, v, None, out=out)


def gravity_forces(mechanism: Mechanism, q: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Generalised forces that hold the mechanism against gravity [N m or N], shape (nv,)."""
    return inverse_dynamics(mechanism, q, None, None, out=out)


def forward_dynamics(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, *, out: FloatArray | None = None
) -> FloatArray:
    """Accelerations [rad/s^2 or m/s^2], shape (nv,), under generalised forces u [N m or N], shape (nv,).

    Of the tree alone: add `passive_forces(mechanism, q, v)` to u for the mechanism's springs and dampers, use
    `mechanism.generalized_forces(controls)` to turn controls into forces; loops are not closed here.
    """
    own = calls(mechanism)
    if not own.take(q, v, u) or not own.forward_dynamics():
        own.at_any(own.forward_dynamics, q, v, u, "u")
        if not np.isfinite(own.tau).all():
            k = int(np.flatnonzero(~np.isfinite(own.tau))[0])
            name = mechanism.velocity_names[k]
            raise MechanismError(f"forward dynamics of {mechanism.name!r}: the mass matrix is singular at {name!r}")
    return given(own.tau, out)


def passive_forces(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
    """Generalised forces [N m or N], shape (nv,), of joint springs, dampers and limits, springs, cables, constant
    wrenches and penalty contacts."""
    own = calls(mechanism)
    if not own.take(q, v) or not own.passive_forces():
        own.at_any(own.passive_forces, q, v)
    return given(own.tau, out)


def _quantities(mechanism: Mechanism, q: Any, v: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    return quantities(mechanism, configuration(mechanism, q)[None], tangent(mechanism, v)[None])


def kinetic_energy(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> float:
    """Kinetic energy [J], armatures included."""
    return float(_quantities(mechanism, q, v)[0][0])


def potential_energy(mechanism: Mechanism, q: ArrayLike) -> float:
    """Potential energy [J] of gravity (zero at the world's origin), springs, cables, limits and penalty contacts."""
    return float(_quantities(mechanism, q, None)[1][0])


def momentum(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Spatial momentum about the world's origin [kg m^2/s, kg m/s]: (angular, linear), shape (6,)."""
    return _quantities(mechanism, q, v)[2][0]


def centroidal_momentum(mechanism: Mechanism, q: ArrayLike, v: ArrayLike) -> FloatArray:
    """Momentum about the centre of mass [kg m^2/s, kg m/s]: (angular, linear), shape (6,)."""
    q = _near_origin(mechanism, q)
    h = momentum(mechanism, q, v)
    h[:3] -= np.cross(center_of_mass(mechanism, q), h[3:])
    return h


def inverse_dynamics_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of inverse dynamics: (dtau/dq, dtau/dv, dtau/da), each of shape (nv, nv).

    dtau/dq is along the tangent: the change of tau for q -> mechanism.integrate(q, dv).
    """
    w = Workspace(mechanism)
    slopes = w.slopes()
    state = _near_origin(mechanism, q), tangent(mechanism, v), tangent(mechanism, a, "a")
    entries.inverse_dynamics_derivatives(w.model, w.data, plain(slopes), *state, np.zeros(mechanism.nv))
    return slopes.dq, slopes.dv, mass_matrix(mechanism, q)


def forward_dynamics_derivatives(
    mechanism: Mechanism, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of forward dynamics: (da/dq, da/dv, da/du), each of shape (nv, nv).

    From those of inverse dynamics: da/dx = -M^-1 dtau/dx at the acceleration itself, da/du = M^-1.
    """
    from scipy.linalg import cho_factor, cho_solve

    acceleration = forward_dynamics(mechanism, q, v, u)
    dq, dv, M = inverse_dynamics_derivatives(mechanism, q, v, acceleration)
    factor = cho_factor(M)
    return -cho_solve(factor, dq), -cho_solve(factor, dv), cho_solve(factor, np.eye(mechanism.nv))
