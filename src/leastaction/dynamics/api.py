"""Classical rigid-body dynamics of a mechanism's tree in joint coordinates.

Functions take the mechanism first, then q [rad or m], shape (nq,), and v [rad/s or m/s], shape (nv,). The forces of
the mechanism's own springs, dampers and constant wrenches are in `passive_forces`; inverse and forward dynamics
leave them to the caller, as Pinocchio's and MuJoCo's do. Loops are not closed here: these are the dynamics of the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._tuples import plain
from leastaction.dynamics import entries
from leastaction.dynamics.legendre import quantities
from leastaction.dynamics.spline_quantities import spline_momenta
from leastaction.dynamics.wandering import brought_near, free_trees
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import MechanismError
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.kinematics.reduced.state import State
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown, vector
from leastaction.mechanism.arguments import FloatArray, configuration, robot, tangent
from leastaction.mechanism.tree import Tree

FRAMES = ("world", "body", "origin")
"""Of the rows of a Jacobian."""


def _kinematics(mechanism: Mechanism, q: Any, v: Any = None) -> Workspace:
    w = Workspace(mechanism)
    entries.kinematics(w.tree.nodes, w.links, w.screws, configuration(mechanism, q), tangent(mechanism, v))
    return w


def _body_matrices(w: Workspace) -> FloatArray:
    frames = w.tree.bodies
    n = len(frames)
    local = np.zeros((n, 4, 4))
    local[:, :3, :3], local[:, :3, 3], local[:, 3, 3] = frames.R.reshape(n, 3, 3), frames.p, 1.0
    carried = frames.node >= 0
    node = np.zeros((n, 4, 4)) + np.eye(4)
    links = w.links[frames.node[carried]]
    node[carried, :3, :3], node[carried, :3, 3] = links.R.reshape(-1, 3, 3), links.p
    return node @ local


def body_poses(mechanism: Mechanism, q: Any) -> FloatArray:
    """Poses of all bodies: world from body, shape (bodies, 4, 4), in the order of `mechanism.body_names`."""
    if has_splines(mechanism):
        return State(mechanism, q, chart="exponential").body_poses()
    return _body_matrices(_kinematics(mechanism, q))


def body_twists(mechanism: Mechanism, q: Any, v: Any) -> FloatArray:
    """Twists (angular, linear) of all bodies [rad/s, m/s], each in its own body frame, shape (bodies, 6)."""
    if has_splines(mechanism):
        return State(mechanism, q, v, chart="exponential").body_twists()
    w = _kinematics(mechanism, q, v)
    X = _body_matrices(w)
    V = np.zeros((len(X), 6))
    carried = w.tree.bodies.node >= 0
    V[carried] = w.links.v[w.tree.bodies.node[carried]]
    R = X[:, :3, :3].transpose(0, 2, 1)
    linear = V[:, 3:] + np.cross(V[:, :3], X[:, :3, 3])
    return np.concatenate([np.einsum("bij,bj->bi", R, V[:, :3]), np.einsum("bij,bj->bi", R, linear)], axis=1)


def _screws_above(tree: Tree, screws: Any, body: int) -> FloatArray:
    """World twists of a body per velocity of the nodes, shape (6, nodes' nv); zero for the world, body -1."""
    J = np.zeros((6, tree.nv))
    node = -1 if body < 0 else int(tree.bodies[body].node)
    while node >= 0:
        record = tree.nodes[node]
        k = slice(int(record.iv), int(record.iv + record.nv))
        J[:, k] = screws.S[k].T
        node = int(record.parent)
    return J


def body_jacobian(
    mechanism: Mechanism, q: Any, body: str, *, point: Any = (0, 0, 0), frame: str = "world"
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
        tree, screws, matrices = state.coordinates.tree, state.motion.screws, state.body_poses()
        J = _screws_above(tree, screws, i) @ state.velocity_map()
    else:
        w = _kinematics(mechanism, q)
        matrices = _body_matrices(w)
        J = _screws_above(w.tree, w.screws, i)
    if frame == "origin":
        return J
    X = np.eye(4) if i < 0 else matrices[i]
    x = X[:3, :3] @ point + X[:3, 3]
    J[3:] += np.cross(J[:3].T, x).T
    if frame == "world":
        return J
    R = X[:3, :3].T
    return np.concatenate([R @ J[:3], R @ J[3:]])


def center_of_mass(mechanism: Mechanism, q: Any) -> FloatArray:
    """Centre of mass of all bodies in the world [m], shape (3,)."""
    X = body_poses(mechanism, q)
    masses = np.array([body.inertia.mass for body in mechanism.bodies])
    if masses.sum() <= 0.0:
        raise MechanismError(f"mechanism {mechanism.name!r} has no mass, so no centre of mass")
    local = np.array([body.inertia.com for body in mechanism.bodies])
    points = np.einsum("bij,bj->bi", X[:, :3, :3], local) + X[:, :3, 3]
    return masses @ points / masses.sum()


def com_jacobian(mechanism: Mechanism, q: Any) -> FloatArray:
    """Jacobian of the centre of mass, shape (3, nv)."""
    w = _kinematics(mechanism, q)
    X = _body_matrices(w)
    J = np.zeros((3, mechanism.nv))
    total = 0.0
    for body, pose, node in zip(mechanism.bodies, X, w.tree.bodies.node, strict=True):
        m = body.inertia.mass
        total += m
        x = pose[:3, :3] @ np.array(body.inertia.com) + pose[:3, 3]
        while node >= 0:
            record = w.tree.nodes[node]
            k = slice(int(record.iv), int(record.iv + record.nv))
            S = w.screws.S[k]
            J[:, k] += m * (S[:, 3:] + np.cross(S[:, :3], x)).T
            node = int(record.parent)
    return J / total


def _near(mechanism: Mechanism, q: Any) -> FloatArray:
    """Positions q, shape (nq,), from the origin of a world in which the dynamics of the tree are the same."""
    given = configuration(mechanism, q)  # which says what is wrong with the mechanism, too
    return brought_near(free_trees(mechanism.tree), given)


def mass_matrix(mechanism: Mechanism, q: Any) -> FloatArray:
    """Joint-space mass matrix M(q) with armatures [kg m^2, kg m or kg], shape (nv, nv)."""
    if has_splines(mechanism):
        n = mechanism.nv
        return spline_momenta(mechanism, np.tile(configuration(mechanism, q), (n, 1)), np.eye(n))
    w = Workspace(mechanism)
    H = np.zeros((mechanism.nv, mechanism.nv))
    entries.mass_matrix(w.model, w.data, _near(mechanism, q), H)
    return H


def inverse_dynamics(mechanism: Mechanism, q: Any, v: Any, a: Any) -> FloatArray:
    """Generalised forces [N m or N] for accelerations a [rad/s^2 or m/s^2], shape (nv,): M a + bias forces.

    Of the tree alone, without the mechanism's own springs and dampers (`passive_forces`) and without loops.
    """
    w = Workspace(mechanism)
    tau = np.zeros(mechanism.nv)
    state = _near(mechanism, q), tangent(mechanism, v), tangent(mechanism, a, "a")
    entries.inverse_dynamics(w.model, w.data, *state, tau)
    return tau


def bias_forces(mechanism: Mechanism, q: Any, v: Any) -> FloatArray:
    """Coriolis, centrifugal and gravity forces [N m or N], shape (nv,): inverse dynamics at zero acceleration."""
    return inverse_dynamics(mechanism, q, v, None)


def gravity_forces(mechanism: Mechanism, q: Any) -> FloatArray:
    """Generalised forces that hold the mechanism against gravity [N m or N], shape (nv,)."""
    return inverse_dynamics(mechanism, q, None, None)


def forward_dynamics(mechanism: Mechanism, q: Any, v: Any, u: Any = None) -> FloatArray:
    """Accelerations [rad/s^2 or m/s^2], shape (nv,), under generalised forces u [N m or N], shape (nv,).

    Of the tree alone: add `passive_forces(mechanism, q, v)` to u for the mechanism's springs and dampers, use
    `mechanism.generalized_forces(controls)` to turn controls into forces; loops are not closed here.
    """
    w = Workspace(mechanism)
    return _accelerations(mechanism, w, _near(mechanism, q), tangent(mechanism, v), tangent(mechanism, u, "u"))


def _accelerations(mechanism: Mechanism, w: Workspace, q: FloatArray, v: FloatArray, tau: FloatArray) -> FloatArray:
    acc = np.zeros(mechanism.nv)
    entries.forward_dynamics(w.model, w.data, q, v, tau, acc)
    if not np.isfinite(acc).all():
        k = int(np.flatnonzero(~np.isfinite(acc))[0])
        raise MechanismError(
            f"forward dynamics of {mechanism.name!r}: the mass matrix is singular at {mechanism.velocity_names[k]!r}"
        )
    return acc


def passive_forces(mechanism: Mechanism, q: Any, v: Any) -> FloatArray:
    """Generalised forces [N m or N], shape (nv,), of joint springs, dampers and limits, springs, cables, constant
    wrenches and penalty contacts."""
    w = Workspace(mechanism)
    tau = np.zeros(mechanism.nv)
    t = w.tree
    state = configuration(mechanism, q), tangent(mechanism, v)
    entries.passive_forces(plain(w.forces), plain(w.modes), w.links, w.screws, *state, w.external, tau)
    entries.project_wrenches(t.nodes, w.screws, w.external, tau)
    return tau


def _quantities(mechanism: Mechanism, q: Any, v: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    return quantities(mechanism, configuration(mechanism, q)[None], tangent(mechanism, v)[None])


def kinetic_energy(mechanism: Mechanism, q: Any, v: Any) -> float:
    """Kinetic energy [J], armatures included."""
    return float(_quantities(mechanism, q, v)[0][0])


def potential_energy(mechanism: Mechanism, q: Any) -> float:
    """Potential energy [J] of gravity (zero at the world's origin), springs, cables, limits and penalty contacts."""
    return float(_quantities(mechanism, q, None)[1][0])


def momentum(mechanism: Mechanism, q: Any, v: Any) -> FloatArray:
    """Spatial momentum about the world's origin [kg m^2/s, kg m/s]: (angular, linear), shape (6,)."""
    return _quantities(mechanism, q, v)[2][0]


def centroidal_momentum(mechanism: Mechanism, q: Any, v: Any) -> FloatArray:
    """Momentum about the centre of mass [kg m^2/s, kg m/s]: (angular, linear), shape (6,)."""
    q = _near(mechanism, q)
    h = momentum(mechanism, q, v)
    h[:3] -= np.cross(center_of_mass(mechanism, q), h[3:])
    return h


def inverse_dynamics_derivatives(
    mechanism: Mechanism, q: Any, v: Any, a: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of inverse dynamics: (dtau/dq, dtau/dv, dtau/da), each of shape (nv, nv).

    dtau/dq is along the tangent: the change of tau for q -> mechanism.integrate(q, dv).
    """
    w = Workspace(mechanism)
    slopes = w.slopes()
    state = _near(mechanism, q), tangent(mechanism, v), tangent(mechanism, a, "a")
    entries.inverse_dynamics_derivatives(w.model, w.data, plain(slopes), *state, np.zeros(mechanism.nv))
    return slopes.dq, slopes.dv, mass_matrix(mechanism, q)


def forward_dynamics_derivatives(
    mechanism: Mechanism, q: Any, v: Any, u: Any = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives of forward dynamics: (da/dq, da/dv, da/du), each of shape (nv, nv).

    From those of inverse dynamics: da/dx = -M^-1 dtau/dx at the acceleration itself, da/du = M^-1.
    """
    from scipy.linalg import cho_factor, cho_solve

    acceleration = forward_dynamics(mechanism, q, v, u)
    dq, dv, M = inverse_dynamics_derivatives(mechanism, q, v, acceleration)
    factor = cho_factor(M)
    return -cho_solve(factor, dq), -cho_solve(factor, dv), cho_solve(factor, np.eye(mechanism.nv))
