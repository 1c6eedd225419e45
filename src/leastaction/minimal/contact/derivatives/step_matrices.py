"""Analytic derivatives of the equations of a substep without contacts, and the final mass matrix.

A body with the inertia of its mean rate has the wrenches F at the start and E at the end of a substep (see
`body_sweeps.end_residual`), functions of its two poses. With displacements of the joints, world twists S0 and S1, and
composite bodies that each joint carries, the rows r0 = p + S0' F and p1 = S1' E change by

    dr0/dq0 = S0' F0 S0,   dr0/dq1 = S0' F1 S1,   dp1/dq0 = (dr0/dq1)',   dp1/dq1 = S1' E1 S1

for joints that carry each other: the forces come from a Lagrangian, and displacements of two joints commute. Those of
one ball joint do not, and its axes rotate, too. The cost is proportional to the depth of each joint.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leastaction._jit import inline, routine
from leastaction.minimal.contact.blocks import NO_BLOCK, column_of, gather, leave, row_of, with_body
from leastaction.minimal.contact.body_sweeps import end_damping, slope_of_torque, torque_of
from leastaction.minimal.contact.joint_momenta import end_damping_of, turned
from leastaction.minimal.contact.row_vec6 import accumulate, six
from leastaction.minimal.galerkin_bodies.rotational_energy import turn_between
from leastaction.minimal.vec6 import ZEROS, plus, times
from leastaction.spatial import (
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    load_sym,
    mattvec,
    matvec,
    scale3,
    store3,
    sub3,
)


class StepMatrices(NamedTuple):
    """Results of `step_matrices` for n joints; rows are equations, columns displacements; must be zero on entry.

    Attributes:
        start, end: of the equations of the step by displacements at its start and its end, shape (n, n).
        last_start, last_end: the same of the momentum at the end.
        M: mass matrix at the end, plus the dampers that are implicit there (`joint_momenta.end_damping_of`); heavier:
            derivative of M v by q, shape (n, n).
        y: rotation vectors of the bodies in world axes [rad], shape (b, 3); e: coefficient of y x (y x .) in the
            inverse Jacobian of y, shape (b,).
        twists: world twists of the bodies at the end, shape (b, 6).
        turning: S x V for each joint, with the twist V of its parent body, shape (n, 6).
        blocks, wrenches: scratch, shapes (4, b, 36) and (3, b, 6).
    """

    start: Any
    end: Any
    last_start: Any
    last_end: Any
    M: Any
    heavier: Any
    y: Any
    e: Any
    twists: Any
    turning: Any
    blocks: Any
    wrenches: Any


@inline
def motion_cross(a, b):
    """Motion cross product a x b of twists (Featherstone 2008): change of b as it moves with a."""
    w, v, W, V = (a[0], a[1], a[2]), (a[3], a[4], a[5]), (b[0], b[1], b[2]), (b[3], b[4], b[5])
    t, s = cross(w, W), add3(cross(w, V), cross(v, W))
    return (t[0], t[1], t[2], s[0], s[1], s[2])


@inline
def force_cross(a, f):
    """Force cross product a x* f (Featherstone 2008): change of a wrench f as it moves with a twist a."""
    w, v, t, g = (a[0], a[1], a[2]), (a[3], a[4], a[5]), (f[0], f[1], f[2]), (f[3], f[4], f[5])
    m, p = add3(cross(w, t), cross(v, g)), cross(w, g)
    return (m[0], m[1], m[2], p[0], p[1], p[2])


@inline
def with_arm(A, x, f):
    """Block A plus the change of the moment of a force f at x as x moves."""
    A0, A1, A2, A3, A4, A5 = A
    d = dot3(x, f)
    return (
        (A0[0] + x[0] * f[0] - d, A0[1] + x[1] * f[0], A0[2] + x[2] * f[0], A0[3], A0[4], A0[5]),
        (A1[0] + x[0] * f[1], A1[1] + x[1] * f[1] - d, A1[2] + x[2] * f[1], A1[3], A1[4], A1[5]),
        (A2[0] + x[0] * f[2], A2[1] + x[1] * f[2], A2[2] + x[2] * f[2] - d, A2[3], A2[4], A2[5]),
        (A3[0], A3[1] - f[2], A3[2] + f[1], A3[3], A3[4], A3[5]),
        (A4[0] + f[2], A4[1], A4[2] - f[0], A4[3], A4[4], A4[5]),
        (A5[0] - f[1], A5[1] + f[0], A5[2], A5[3], A5[4], A5[5]),
    )


@inline
def with_turn(T, t):
    """T (9) plus the cross-product matrix of t."""
    return (T[0], T[1] - t[2], T[2] + t[1], T[3] + t[2], T[4], T[5] - t[0], T[6] - t[1], T[7] + t[0], T[8])


@routine
def step_matrices(nodes, dofs, gravity, ends, v, dt, out):
    """Fill `StepMatrices` of a substep of length dt.

    Args:
        nodes, dofs, gravity: as of `RobotModel`.
        ends: rotations and centres of mass of the bodies and world twists of the joints at both ends, shapes (2, b, 9),
            (2, b, 3) and (2, n, 6).
        v: velocities at the end, shape (n,).
    """
    R_, x_, S_ = ends
    blocks, wrenches, twists, turning = out.blocks, out.wrenches, out.twists, out.turning
    for i in range(nodes.shape[0]):
        V = ZEROS if nodes[i].parent < 0 else six(twists[nodes[i].parent])
        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            S = six(S_[1, c])
            store6(turning[c], motion_cross(S, V))
        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            V = plus(v[c], six(S_[1, c]), V)
        store6(twists[i], V)
        for k in range(4):
            for c in range(36):
                blocks[k, i, c] = 0.0
        for k in range(3):
            for c in range(6):
                wrenches[k, i, c] = 0.0
    h, fall = 1.0 / dt, scale3(0.5 * dt, load3(gravity))
    for i in range(nodes.shape[0] - 1, -1, -1):
        add_body(nodes[i], (R_[0, i], x_[0, i], R_[1, i], x_[1, i]), h, fall, out, i)
        for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
            add_joint(nodes, i, c, S_, out)
            if nodes[i].nv == 1:
                add_drive(dofs[c], c, dt, h, out)
            else:
                out.M[c, c] += dofs[c].armature
        parent = nodes[i].parent
        if parent >= 0:
            for k in range(4):
                for c in range(36):
                    blocks[k, parent, c] += blocks[k, i, c]
            for k in range(3):
                for c in range(6):
                    wrenches[k, parent, c] += wrenches[k, i, c]


@inline
def store6(a, x):
    """Store the six numbers x in an array."""
    a[0], a[1], a[2], a[3], a[4], a[5] = x


@routine
def add_body(node, ends, h, fall, out, i):
    """Add the blocks and wrenches of body i, and store its rotation vector; h is one over the length of the step."""
    R0_, x0_, R1_, x1_ = ends
    m, R0, R1, x0, x1, Ic = node.mass, load9(R0_), load9(R1_), load3(x0_), load3(x1_), load_sym(node.Ic)
    turn = turn_between(R0, R1)
    y = mattvec(R0, turn)
    g, t, e, d = torque_of(Ic, y, h)
    store3(out.y[i], turn)
    out.e[i] = e
    T, t = slope_of_torque(Ic, y, g, e, d, h, R0), matvec(R0, t)
    f = scale3(m * h, sub3(x1, x0))
    a, f = axpy3(m, fall, f), sub3(scale3(m, fall), f)
    leave(out.blocks[0, i], with_body(NO_BLOCK, T, m * h, x0, x1))
    leave(out.blocks[1, i], with_arm(with_body(NO_BLOCK, with_turn(T, t), m * h, x0, x0), x0, f))
    leave(out.blocks[2, i], with_arm(with_body(NO_BLOCK, T, m * h, x1, x1), x1, a))
    I = with_body(NO_BLOCK, turned(Ic, R1), m, x1, x1)
    leave(out.blocks[3, i], I)
    u, w = sub3(cross(x0, f), t), add3(cross(x1, a), t)
    accumulate(out.wrenches[0, i], 0, (u[0], u[1], u[2], f[0], f[1], f[2]))
    accumulate(out.wrenches[1, i], 0, (w[0], w[1], w[2], a[0], a[1], a[2]))
    accumulate(out.wrenches[2, i], 0, column_of(I, six(out.twists[i])))


@routine
def add_joint(nodes, i, b, S_, out):
    """Add the entries of joint b of body i with all joints that carry it."""
    S0, S1 = six(S_[0, b]), six(S_[1, b])
    A = gather(out.blocks[0, i], NO_BLOCK)
    row, col = row_of(S0, A), column_of(A, S1)
    first, last = column_of(gather(out.blocks[1, i], NO_BLOCK), S0), column_of(gather(out.blocks[2, i], NO_BLOCK), S1)
    I = gather(out.blocks[3, i], NO_BLOCK)
    own, F, E = column_of(I, S1), six(out.wrenches[0, i]), six(out.wrenches[1, i])
    z = plus(-1.0, column_of(I, six(out.turning[b])), force_cross(S1, six(out.wrenches[2, i])))
    for c in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):  # axes of the same joint rotate
        T0, T1 = six(S_[0, c]), six(S_[1, c])
        out.start[c, b] = times(T0, first) + times(motion_cross(S0, T0), F)
        out.last_end[c, b] = times(T1, last) + times(motion_cross(S1, T1), E)
        out.end[b, c] = out.last_start[c, b] = -times(row, T1)
        out.M[b, c] = times(T1, own)
        out.heavier[b, c] = -times(own, six(out.turning[c]))
    j = nodes[i].parent
    while j >= 0:
        for c in range(nodes[j].iv, nodes[j].iv + nodes[j].nv):
            T0, T1 = six(S_[0, c]), six(S_[1, c])
            out.start[c, b] = out.start[b, c] = times(T0, first)
            out.last_end[c, b] = out.last_end[b, c] = times(T1, last)
            out.end[b, c] = out.last_start[c, b] = -times(row, T1)
            out.end[c, b] = out.last_start[b, c] = -times(T0, col)
            out.M[b, c] = out.M[c, b] = times(T1, own)
            out.heavier[b, c] = -times(own, six(out.turning[c]))
            out.heavier[c, b] = times(T1, z)
        j = nodes[j].parent


@inline
def add_drive(dof, c, dt, h, out):
    """Add the spring, damper and armature of joint c, as of `body_sweeps.end_residual`."""
    pull = 0.5 * dt * dof.stiffness
    turn, half, end = h * dof.armature + 0.25 * dt * dof.servo, 0.5 * dof.damping, end_damping(dof, dt, h)
    out.start[c, c] += half + turn - pull
    out.end[c, c] -= half + turn
    out.last_start[c, c] += half - turn - end
    out.last_end[c, c] += turn + end - half - pull
    out.M[c, c] += dof.armature + end_damping_of(dof, dt)
