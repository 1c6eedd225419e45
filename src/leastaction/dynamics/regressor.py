"""The regressor of inverse dynamics: forces are linear in masses, first moments and inertias of the bodies.

Atkeson, An, Hollerbach 1986; Featherstone, Rigid Body Dynamics Algorithms, 9.7. For a body with twist (w, v) and
acceleration (alpha, a), gravity taken from it, about the origin of its frame and with d = a + w x v,

    force  = m d + (alpha x + w x w x) h        torque = I alpha + w x I w - d x h

with the mass m, the first moment h = m com and the inertia I about the origin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leastaction.dynamics.api import inverse_dynamics
from leastaction.dynamics.workspace import calls
from leastaction.errors import MechanismError
from leastaction.kinematics.reduced.compiled import has_splines
from leastaction.mechanism import Inertia, Mechanism
from leastaction.mechanism.arguments import FloatArray, robot


def inverse_dynamics_regressor(mechanism: Mechanism, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> FloatArray:
    """Regressor Y of inverse dynamics, shape (nv, 10 bodies): tau = Y pi + the forces of the drives' inertias.

    pi are the `inertial_parameters` of all bodies, one after the other, in the order of `mechanism.body_names`.
    Armatures, springs, dampers and loops have no part in it, as with `inverse_dynamics`; without armatures, Y pi is
    what that gives.

    Args:
        mechanism: the robot.
        q: joint positions [rad or m], shape (nq,).
        v: joint velocities [rad/s or m/s], shape (nv,).
        a: joint accelerations [rad/s^2 or m/s^2], shape (nv,).
    """
    if has_splines(robot(mechanism)):
        raise MechanismError(f"mechanism {mechanism.name!r} has joints along splines: recursions do not know these")
    inverse_dynamics(mechanism, q, v, a)  # which leaves twists, accelerations and screws
    own = calls(mechanism)
    links, tree = own.work.links, own.work.tree
    node = np.asarray(tree.bodies.node)
    own_R = links.R[node].reshape(-1, 3, 3)
    R = own_R @ np.asarray(tree.bodies.R).reshape(-1, 3, 3)
    p = links.p[node] + np.einsum("bij,bj->bi", own_R, np.asarray(tree.bodies.p))
    twist, rate = _in_body(R, p, links.v[node]), _in_body(R, p, links.a[node])
    wrench = _wrench_of_parameters(twist[:, :3], twist[:, 3:], rate[:, :3], rate[:, 3:])
    screws = np.broadcast_to(own.work.screws.S[:, None], (mechanism.nv, len(node), 6))
    along = _in_body(R, p, screws) * _moved(mechanism)[:, :, None]
    return np.einsum("kbi,bij->kbj", along, wrench).reshape(mechanism.nv, -1)


def inertial_parameters(mechanism: Mechanism) -> FloatArray:
    """Ten parameters of each body, shape (bodies, 10): m, h (3,), I (6,), in which its forces are linear.

    The mass [kg], the first moment h = m com [kg m], and the inertia about the origin of the body's frame, with
    parallel axes [kg m^2]: (xx, xy, xz, yy, yz, zz).
    """
    rows = [parameters_of(body.inertia) for body in robot(mechanism).bodies]
    return np.array(rows).reshape(-1, 10)


def parameters_of(inertia: Inertia) -> FloatArray:
    """The ten parameters of one body, shape (10,); see `inertial_parameters`."""
    m, c = inertia.mass, np.array(inertia.com)
    about = inertia.matrix + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[m], m * c, about[np.triu_indices(3)]])


def _in_body(R: FloatArray, p: FloatArray, motion: FloatArray) -> FloatArray:
    """Twists about the world's origin (..., bodies, 6) about the bodies' origins, in their directions."""
    angular = np.einsum("bji,...bj->...bi", R, motion[..., :3])
    linear = motion[..., 3:] + np.cross(motion[..., :3], p)
    return np.concatenate([angular, np.einsum("bji,...bj->...bi", R, linear)], axis=-1)


def _wrench_of_parameters(w: FloatArray, v: FloatArray, alpha: FloatArray, a: FloatArray) -> FloatArray:
    """Wrenches (torque, force) of unit parameters, shape (bodies, 6, 10)."""
    out = np.zeros((len(w), 6, 10))
    d, turn = a + np.cross(w, v), _hat(w)
    out[:, 3:, 0] = d
    out[:, 3:, 1:4] = _hat(alpha) + turn @ turn
    out[:, :3, 1:4] = -_hat(d)
    out[:, :3, 4:] = _of_inertia(alpha) + turn @ _of_inertia(w)
    return out


def _hat(x: FloatArray) -> FloatArray:
    out = np.zeros((len(x), 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    return out - out.transpose(0, 2, 1)


def _of_inertia(x: FloatArray) -> FloatArray:
    """I x as a matrix (3, 6) times (xx, xy, xz, yy, yz, zz)."""
    out = np.zeros((len(x), 3, 6))
    out[:, 0, 0], out[:, 0, 1], out[:, 0, 2] = x.T
    out[:, 1, 1], out[:, 1, 3], out[:, 1, 4] = x.T
    out[:, 2, 2], out[:, 2, 4], out[:, 2, 5] = x.T
    return out


def _moved(mechanism: Mechanism) -> FloatArray:
    """1 where a degree of freedom moves a body, shape (nv, bodies)."""
    known = mechanism.__dict__.get("_moved_bodies")
    if known is None:
        nodes, known = mechanism.tree.nodes, np.zeros((mechanism.nv, len(mechanism.bodies)))
        for b, node in enumerate(np.asarray(mechanism.tree.bodies.node)):
            while node >= 0:
                first = int(nodes[node].iv)
                known[first : first + int(nodes[node].nv), b] = 1.0
                node = int(nodes[node].parent)
        mechanism.__dict__["_moved_bodies"] = known
    return known
