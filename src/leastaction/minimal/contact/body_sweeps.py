"""Sweeps of a robot over its bodies: forward kinematics, Newton's direction, momenta at the end."""

from leastaction._jit import inline, routine
from leastaction.kinematics.manifold import go_on, retract
from leastaction.kinematics.sweeps import library_sine_and_cosine, place_with, screw_axis
from leastaction.minimal.contact.blocks import (
    NO_BLOCK,
    column_of,
    gather,
    has_inertia,
    leave,
    row_of,
    with_body,
    without_joint,
)
from leastaction.minimal.contact.forces.control_wrenches import HELD_BY_WORLD
from leastaction.minimal.contact.forces.spring_forces import pull, pulls_of, with_pull, with_pulls
from leastaction.minimal.contact.row_vec6 import accumulate, plus_stored, six
from leastaction.minimal.contact.solver.locked_joints import carry_by_friction, is_locked, locked_joints, with_friction
from leastaction.minimal.galerkin_bodies.rotational_energy import plus9, polynomial, polynomial_slope, turn_between
from leastaction.minimal.vec6 import ZEROS, plus, times
from leastaction.spatial import (
    EYE,
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    load_sym,
    matmul,
    matmult,
    mattvec,
    matvec,
    scale3,
    store3,
    store9,
    sub3,
    symvec,
)
from leastaction.spatial._series import inverse_jacobian_terms

CAP = 0.5
"""Bound of Newton updates [rad or m]; longer ones are scaled down to it."""

FAR = 1.0
"""Distance [m] of a robot from its reference point at which that moves to the robot."""

WAITING = 48
"""Length of a row of sums at a branch: block, wrench of the right-hand side, wrench of the subtree."""

place = place_with(library_sine_and_cosine)  # keeps single precision


@routine
def origin_of(data, touch, turning):
    """Reference point of positions; see `arrays.RobotData`."""
    if touch is not None:
        return ZERO3
    if turning is None:
        return ZERO3
    return load3(data.origin)


@routine
def recentre(model, data, touch, turning):
    """Move the reference point to the first body where that is far away; bodies are placed at q0 before and after."""
    if touch is not None:
        return
    if turning is None:
        return
    x = data.x[data.now[0]][0]
    if abs(x[0]) > FAR or abs(x[1]) > FAR or abs(x[2]) > FAR:
        for k in range(3):
            data.origin[k] += x[k]
        put_start(model, data, touch)


@routine
def put_start(model, data, touch):
    """Place bodies at q0, see `put`."""
    R, x, S = data.R[data.now[0]], data.x[data.now[0]], data.S[data.now[0]]
    put(model, data.q0, R, x, S, model.branched, origin_of(data, touch, model.turning))


@routine
def put_end(model, data, touch):
    """Place bodies at q1, see `put`."""
    R, x, S = data.R[1 - data.now[0]], data.x[1 - data.now[0]], data.S[1 - data.now[0]]
    put(model, data.q1, R, x, S, model.branched, origin_of(data, touch, model.turning))


@routine
def put(model, q, R_, x_, S_, branched, origin):
    """Rotations, centres of mass and joint screws of all bodies at q, relative to the origin.

    A child's origin follows from its parent's centre of mass, so that origins need not be stored. Where `branched` is
    None, each body is the child of the one before it.
    """
    nodes = model.nodes
    world = sub3(ZERO3, origin)
    R, p = EYE, world
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if branched is not None:
            if node.parent < 0:
                R, p = EYE, world
            elif node.parent != i - 1:
                R = load9(R_[node.parent])
                p = sub3(load3(x_[node.parent]), matvec(R, load3(nodes[node.parent].com)))
        R, p = place(node, q, R, p)
        store9(R_[i], R)
        store3(x_[i], add3(p, matvec(R, load3(node.com))))
        for k in range(node.nv):
            w, v = screw_axis(node, k, R, p)
            S = S_[node.iv + k]
            S[0], S[1], S[2] = w
            S[3], S[4], S[5] = v


@routine
def move(model, q, x, out, turning):
    """out = q moved by the tangent vector x; where `turning` is None, all joints have one axis. See `retract`."""
    if turning is None:
        for k in range(x.shape[0]):
            out[k] = q[k] + x[k]
    else:
        retract(model.nodes, q, x, out)


@routine
def move_on(model, x, more, turning):
    """Replace x, a motion from a configuration, by the motion x followed by `more`; see `move`."""
    if turning is None:
        for k in range(x.shape[0]):
            x[k] += more[k]
    else:
        go_on(model.nodes, x, more)


@inline
def with_thrust(pushed, model, data, i, end, dt, F):
    """Wrench F about the origin plus half of the impulse of controls and constant wrenches on body i over the step, at
    one end of it."""
    if pushed is None:
        return F
    drives, u, when = model.drives, data.u, data.now[0] if end == 0 else 1 - data.now[0]
    if pushed >= drives.shape[0]:
        return F
    R = load9(data.R[when][i])
    t, f, torque, force = ZERO3, ZERO3, ZERO3, ZERO3  # in the body's frame, in the world's
    for c in range(pushed, drives.shape[0]):
        if drives[c].node == i:
            k, w = 0.5 * dt * u[c], drives[c].wrench
            a, b = (w[0], w[1], w[2]), (w[3], w[4], w[5])
            if drives[c].held == HELD_BY_WORLD:
                a = add3(a, cross(matvec(R, load3(drives[c].arm)), b))
                torque, force = axpy3(k, a, torque), axpy3(k, b, force)
            else:
                t, f = axpy3(k, a, t), axpy3(k, b, f)
    f = add3(matvec(R, f), force)
    t = add3(add3(matvec(R, t), torque), cross(load3(data.x[when][i]), f))
    return (F[0] + t[0], F[1] + t[1], F[2] + t[2], F[3] + f[0], F[4] + f[1], F[5] + f[2])


@inline
def work_of_thrust(pushed, model, data, i, shift, dt):
    """Half of the work [J] of controls on body i over the step; `shift`: of its centre of mass."""
    if pushed is None:
        return 0.0
    F, x = with_thrust(pushed, model, data, i, 0, dt, ZEROS), load3(data.x[data.now[0]][i])
    f = (F[3], F[4], F[5])
    turn = turn_between(load9(data.R[data.now[0]][i]), load9(data.R[1 - data.now[0]][i]))
    return (dot3(f, shift) + dot3(sub3((F[0], F[1], F[2]), cross(x, f)), turn)) / dt


@inline
def end_damping(dof, dt, h):
    """The part of a damper's impulse at the end of the step, per motion, that is implicit in the velocity there: see
    `joint_momenta.end_damping_of`."""
    return max(0.5 * dof.damping - 0.25 * dt * dof.servo - h * dof.holds, 0.0)


@inline
def torque_of(Ic, y, h):
    """Derivative of the kinetic energy by the rotation vector y, its torque in the first frame, factors of J^-1."""
    g = scale3(h, symvec(Ic, y))
    e, d = inverse_jacobian_terms(y[0] * y[0] + y[1] * y[1] + y[2] * y[2])
    a = cross(y, g)
    return g, axpy3(e, cross(y, a), axpy3(0.5, a, g)), e, d


@inline
def slope_of_torque(Ic, y, g, e, d, h, R0):
    """Derivative (9) of the torque by rotations at the end of the step, in the world; see `blocks.torque_slope`.

    The rotation vector y is in the body's first frame here, so that its inertia need not be rotated.
    """
    G = (h * Ic[0], h * Ic[1], h * Ic[2], h * Ic[1], h * Ic[3], h * Ic[4], h * Ic[2], h * Ic[4], h * Ic[5])
    Z = plus9(matmul(polynomial(y, 0.5, e), G), polynomial_slope(y, g, 0.5, 0.0, e, d))
    return matmul(R0, matmul(Z, matmult(polynomial(y, -0.5, e), R0)))


@routine
def eliminate(model, data, touch, dt, soft, driven, branched):
    """Assemble and eliminate the Newton equations at q0, p, q1 towards the root; returns their largest residual.

    Residuals are divided by their pivots [rad or m], the approximate size of the updates; otherwise those of heavy
    joints would hide those of light ones.

    The articulated block is A, the right-hand side's wrench b, the wrench of the subtree F. With
    contacts (`touch`), the columns of the factor are stored, and contact impulses enter the residual. Joint forces are
    omitted where `soft` is None, controls where `driven` is, branches where `branched` is.
    """
    nodes, dofs, slots = model.nodes, model.dofs, model.slots
    R0_, R1_, x0_, x1_, S0_, S1_, W, branch_sums = (
        data.R[data.now[0]],
        data.R[1 - data.now[0]],
        data.x[data.now[0]],
        data.x[1 - data.now[0]],
        data.S[data.now[0]],
        data.S[1 - data.now[0]],
        data.W,
        data.branch_sums,
    )
    q0, q1, p, tau = data.q0, data.q1, data.p, data.tau
    h = 1.0 / dt
    fall = scale3(0.5 * dt, load3(model.gravity))
    for k in range(model.branches):
        for c in range(WAITING):
            branch_sums[k, c] = 0.0
    norm = 0.0
    A, b, F = NO_BLOCK, ZEROS, ZEROS
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if branched is not None:
            slot = slots[i]
            if slot >= 0:
                row = branch_sums[slot]
                A, b, F = gather(row, A), plus_stored(row, 36, b), plus_stored(row, 42, F)
        m = node.mass
        if has_inertia(node):
            R0, x0, x1, Ic = load9(R0_[i]), load3(x0_[i]), load3(x1_[i]), load_sym(node.Ic)
            y = mattvec(R0, turn_between(R0, load9(R1_[i])))
            g, t, e, d = torque_of(Ic, y, h)
            T = slope_of_torque(Ic, y, g, e, d, h, R0)
            f = axpy3(m, fall, scale3(-m * h, sub3(x1, x0)))
            t = sub3(cross(x0, f), matvec(R0, t))
            F = (F[0] + t[0], F[1] + t[1], F[2] + t[2], F[3] + f[0], F[4] + f[1], F[5] + f[2])
            A = with_body(A, T, m * h, x0, x1)
        F = with_thrust(model.pushed, model, data, i, 0, dt, F)
        for c in range(node.iv + node.nv - 1, node.iv - 1, -1):
            S0, S1 = six(S0_[c]), six(S1_[c])
            r = p[c] + times(S0, F)
            if driven is not None:
                r += 0.5 * dt * tau[c]
            slope = 0.0
            if soft is not None and node.nv == 1:
                dof = dofs[c]
                moved = q1[node.iq] - q0[node.iq]
                # Servos use midpoint quadrature, which is stable for any stiffness.
                slope = 0.5 * dof.damping + h * dof.armature + 0.25 * dt * dof.servo
                r -= 0.5 * dt * dof.stiffness * (q0[node.iq] - dof.rest) + slope * moved
            r, slope = with_pull(pulls_of(touch), c, r, slope)
            r = with_friction(locked_joints(touch), c, r)
            rest, locked = r if touch is None else r + touch.kick[c], is_locked(locked_joints(touch), c)
            r -= times(S0, b)
            col, row = column_of(A, S1), row_of(S0, A)
            D = 0.0 if locked else 1.0 / (times(S0, col) + slope)
            if not locked and not abs(D * rest) <= norm:  # propagates NaN
                norm = abs(D * rest)
            w = W[c]
            w[0], w[1], w[2], w[3], w[4], w[5] = row
            w[6] = D
            w[7] = r
            if touch is not None:
                w = touch.col[c]
                w[0], w[1], w[2], w[3], w[4], w[5] = col
            b = plus(D * r, col, b)
            A = without_joint(A, row, col, D)
        if branched is not None and (node.parent != i - 1 or i == 0):
            if node.parent >= 0:
                row = branch_sums[slots[node.parent]]
                leave(row, A)
                accumulate(row, 36, b)
                accumulate(row, 42, F)
            A, b, F = NO_BLOCK, ZEROS, ZEROS
    return norm


@routine
def update(model, data, touch, branched):
    """Newton update from root to leaves, applied to q1; returns its size [rad or m]. `branched` as in `eliminate`."""
    nodes, slots, S1_, W, branch_sums, dx, q1 = (
        model.nodes,
        model.slots,
        data.S[1 - data.now[0]],
        data.W,
        data.branch_sums,
        data.dx,
        data.q1,
    )
    eta = ZEROS
    size = 0.0
    for i in range(nodes.shape[0]):
        node = nodes[i]
        if branched is not None:
            if node.parent < 0:
                eta = ZEROS
            elif node.parent != i - 1:
                eta = six(branch_sums[slots[node.parent]])
        for c in range(node.iv, node.iv + node.nv):
            w = W[c]
            lacks = w[7] - times(six(w), eta)
            carry_by_friction(locked_joints(touch), c, lacks)
            x = lacks * w[6]
            dx[c] = x
            if not abs(x) <= size:  # propagates NaN
                size = abs(x)
            eta = plus(x, six(S1_[c]), eta)
        if branched is not None and slots[i] >= 0:
            row = branch_sums[slots[i]]
            row[0], row[1], row[2], row[3], row[4], row[5] = eta
    if size < 1e12:
        share = min(1.0, CAP / size) if size > 0.0 else 1.0
        for k in range(dx.shape[0]):
            dx[k] *= share
        move(model, q1, dx, q1, model.turning)
    return size


@routine
def end_residual(model, data, touch, dt, soft, driven, branched):
    """Set the momentum `end` at the end of the step; returns the largest residual of its equations there, divided by
    the pivots of `eliminate`. `end` is P of `joint_momenta.end_damping_of` plus k r where dampers are
    implicit."""
    nodes, dofs, slots, W = model.nodes, model.dofs, model.slots, data.W
    R0_, x0_, R1_, x1_, S0_, S1_, branch_sums = (
        data.R[data.now[0]],
        data.x[data.now[0]],
        data.R[1 - data.now[0]],
        data.x[1 - data.now[0]],
        data.S[data.now[0]],
        data.S[1 - data.now[0]],
        data.branch_sums,
    )
    q0, q1, p, last_p, tau = data.q0, data.q1, data.p, data.end, data.tau
    put_end(model, data, touch)
    pull(model, data, pulls_of(touch), dt)
    h = 1.0 / dt
    fall = scale3(0.5 * dt, load3(model.gravity))
    for k in range(model.branches):
        for c in range(12):
            branch_sums[k, c] = 0.0
    norm = 0.0
    F, E = ZEROS, ZEROS  # wrenches of the subtree at the start and at the end
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if branched is not None and slots[i] >= 0:
            F, E = plus_stored(branch_sums[slots[i]], 0, F), plus_stored(branch_sums[slots[i]], 6, E)
        m = node.mass
        if has_inertia(node):
            R0, x0, x1 = load9(R0_[i]), load3(x0_[i]), load3(x1_[i])
            _, t, _, _ = torque_of(load_sym(node.Ic), mattvec(R0, turn_between(R0, load9(R1_[i]))), h)
            t, f = matvec(R0, t), scale3(m * h, sub3(x1, x0))
            a, b = axpy3(m, fall, f), sub3(scale3(m, fall), f)
            u, v = add3(cross(x1, a), t), sub3(cross(x0, b), t)
            E = (E[0] + u[0], E[1] + u[1], E[2] + u[2], E[3] + a[0], E[4] + a[1], E[5] + a[2])
            F = (F[0] + v[0], F[1] + v[1], F[2] + v[2], F[3] + b[0], F[4] + b[1], F[5] + b[2])
        F = with_thrust(model.pushed, model, data, i, 0, dt, F)
        E = with_thrust(model.pushed, model, data, i, 1, dt, E)
        for c in range(node.iv, node.iv + node.nv):
            r, last = p[c] + times(six(S0_[c]), F), times(six(S1_[c]), E)
            if driven is not None:
                held_force = 0.5 * dt * tau[c]
                r += held_force
                last += held_force
            if touch is not None:
                r += touch.kick[c]
            if soft is not None and node.nv == 1:
                dof = dofs[c]
                moved, k = q1[node.iq] - q0[node.iq], 0.5 * dt * dof.stiffness
                turn = h * dof.armature + 0.25 * dt * dof.servo
                r -= k * (q0[node.iq] - dof.rest) + (0.5 * dof.damping + turn) * moved
                last -= k * (q1[node.iq] - dof.rest) + (0.5 * dof.damping - turn - end_damping(dof, dt, h)) * moved
            r, last = with_pulls(pulls_of(touch), c, r, last)
            last_p[c] = last
            r = with_friction(locked_joints(touch), c, r)
            carry_by_friction(locked_joints(touch), c, r)
            r *= W[c][6]
            if not is_locked(locked_joints(touch), c) and not abs(r) <= norm:
                norm = abs(r)
        if branched is not None and node.parent != i - 1:
            if node.parent >= 0:
                accumulate(branch_sums[slots[node.parent]], 0, F)
                accumulate(branch_sums[slots[node.parent]], 6, E)
            F, E = ZEROS, ZEROS
    return norm
