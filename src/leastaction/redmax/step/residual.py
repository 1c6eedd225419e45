"""The reduced equations of motion as a residual: g = T^T (M a + bias - forces) (Sueda 2021, Eqs. 2.19 and 2.80).

M, the quadratic velocity terms and gravity come from the recursion of inverse dynamics in O(n) instead of products of
J and its rate with the block-diagonal inertia; both are the same numbers.
"""

from leastaction._jit import routine
from leastaction.dynamics.loops import coordinate_of
from leastaction.dynamics.recursions import required_forces
from leastaction.forces.balls import is_soft, torque, twist_pair
from leastaction.forces.passive import body_forces, clear, joint_forces, limit_force, path_point, penalty_forces, pull
from leastaction.forces.user import call_user
from leastaction.kinematics.closure import evaluate, is_coupling, is_velocity, polynomial, push, soft_force, twist_of
from leastaction.kinematics.sweeps import add_to, positions, velocities
from leastaction.redmax.coordinates.lift import lift, lower
from leastaction.spatial import add3, cross, dot, load3, load6, load9, matvec, neg, scale3, sub


@routine
def drive_wrench(drive, u, links):
    """World wrench of a drive that pushes on a node, for the control u."""
    R, p = load9(links[drive.node].R), load3(links[drive.node].p)
    F = load6(drive.wrench)
    force = scale3(u, matvec(R, F[1]))
    return (add3(scale3(u, matvec(R, F[0])), cross(p, force)), force)


@routine
def add_wrenches(forces, links, u, external):
    """Add all world wrenches on nodes to `external`."""
    _, paths, points, wrenches, penalties, balls, drives, _, user = forces
    body_forces(paths, points, wrenches, links, external)
    penalty_forces(penalties, links, external)
    for k in range(balls.shape[0]):
        if is_soft(balls[k]):
            t, _ = torque(balls[k], links)
            twist_pair(external, balls[k].child, balls[k].other, t)
    add_user_forces(user, links, external)
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.dof < 0 and drive.node >= 0 and u[k] != 0.0:
            W = drive_wrench(drive, u[k], links)
            add_to(external[drive.node], W)
            if drive.other >= 0:
                add_to(external[drive.other], neg(W))


@routine
def user_state(user, k, links):
    """Positions and velocities of the points of a user's force, into its scratch; gives back first and count."""
    _, spans, points, x, xd, _, _, _ = user
    first, count = spans[k, 0], spans[k, 1]
    for j in range(count):
        p, v = path_point(points[first + j], links)
        for c in range(3):
            x[j, c], xd[j, c] = p[c], v[c]
    return first, count


@routine
def user_force_slopes(user, k, links):
    """A user's force with its stiffness and damping, into its scratch; gives back first and count of its points."""
    addresses, _, _, x, xd, f, K, D = user
    first, n = user_state(user, k, links)
    for j in range(n):
        f[j, 0], f[j, 1], f[j, 2] = 0.0, 0.0, 0.0
    call_user(addresses[k, 0], x, xd, f, K, n)
    for j in range(9 * n * n):
        K[j] = 0.0
        D[j] = 0.0
    call_user(addresses[k, 1], x, xd, K, D, n)
    return first, n


@routine
def add_user_forces(user, links, external):
    """Add the wrenches of the user's forces."""
    addresses, _, points, x, xd, f, K, _ = user
    for k in range(addresses.shape[0]):
        first, count = user_state(user, k, links)
        for j in range(count):
            f[j, 0], f[j, 1], f[j, 2] = 0.0, 0.0, 0.0
        call_user(addresses[k, 0], x, xd, f, K, count)
        for j in range(count):
            pull(external, points[first + j].node, (x[j, 0], x[j, 1], x[j, 2]), (f[j, 0], f[j, 1], f[j, 2]))


@routine
def add_loop_forces(loops, nodes, links, q, lam, external, tau):
    """Add the forces of the multipliers lam and of the soft rows of loops and couplings."""
    rows, coefficients, _, kept = loops
    for c in range(rows.shape[0]):
        row = rows[c]
        if row.soft == 0 and kept[c] < 0:
            continue
        if is_coupling(row):
            _, slope, _ = polynomial(row, coefficients, coordinate_of(nodes, q, row.leader))
            tau[row.follower] += lam[kept[c]]
            tau[row.leader] -= slope * lam[kept[c]]
            continue
        h, W = evaluate(row, links)
        push(row, external, W, soft_force(row, links, h, W) if row.soft != 0 else lam[kept[c]])


@routine
def loop_values(loops, nodes, links, q, h, first):
    """h[first:]: values of the loop equations that are kept; of rolling contacts the slip velocity."""
    rows, coefficients, count, kept = loops
    for c in range(count):
        if kept[c] < 0:
            continue
        row = rows[c]
        if is_coupling(row):
            f, _, _ = polynomial(row, coefficients, coordinate_of(nodes, q, row.leader))
            h[first + kept[c]] = coordinate_of(nodes, q, row.follower) - f
            continue
        value, W = evaluate(row, links)
        if is_velocity(row):
            value = dot(W, sub(twist_of(links, row.b), twist_of(links, row.a)))
        h[first + kept[c]] = value


@routine
def residual(model, loops, work, r, rd, rdd, u, lam, g):
    """g (nr + multipliers): forces missing at the accelerations rdd, then the loop equations.

    Leaves poses, twists, accelerations and wrenches of the nodes in the work space, as the Newton matrix needs them.
    """
    nodes, dofs, gravity, lifting, forces = model
    plain, blocks, table, polynomials = lifting
    links, screws, _, _, nodal, wrenches = work
    q, v, a, tau = nodal
    external = wrenches[0]
    lift(nodes, plain, blocks, table, polynomials, r, rd, rdd, q, v, a)
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, v)
    clear(external, tau)
    add_wrenches(forces, links, u, external)
    if loops[0].shape[0] > 0:
        loop_values(loops, nodes, links, q, g, r.shape[0])
        add_loop_forces(loops, nodes, links, q, lam, external, tau)
    joint_forces(nodes, dofs, forces[0], q, v, tau)
    for k in range(tau.shape[0]):
        screws[k].u = tau[k]
    required_forces(nodes, dofs, gravity, links, screws, v, a, external, tau)
    for k in range(tau.shape[0]):
        tau[k] -= screws[k].u
    lower(plain, blocks, tau, g)
    drives, coords = forces[6], forces[7]
    for k in range(drives.shape[0]):
        if drives[k].dof >= 0:
            g[drives[k].dof] -= drives[k].gear * u[k]
    for b in range(blocks.shape[0]):
        for k in range(blocks[b].ir, blocks[b].ir + blocks[b].nr):
            c = coords[k]
            limit, _ = limit_force(c, r[k], rd[k])
            g[k] += c.armature * rdd[k] + c.damping * rd[k] + c.stiffness * (r[k] - c.rest) - limit
