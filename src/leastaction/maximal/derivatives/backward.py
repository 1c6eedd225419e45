"""The compiled way back over the steps of a run of `Maximal`.

Each step is solved again from the state that the run had, from the velocities that it found and the impulses of the
step after, which takes an iteration or a few; the Newton matrix there is factorised, and one transposed solve and the
gradients of `cotangents` bring the gradient by the state at the end of the step to its start, see `sensitivity`.
"""

import numpy as np

from leastaction._jit import entry, routine
from leastaction.contact import cones as ip
from leastaction.contact.records import BOX, CAPSULE, CYLINDER, FIELD, PLANE
from leastaction.forces import total
from leastaction.linalg.graph.kernels import factorize, refine, solve_transposed
from leastaction.maximal.arrays import ContactData, ContactModel, MaximalSettings, named_data, named_model
from leastaction.maximal.contact.bounces import is_bouncing
from leastaction.maximal.coordinates.recover import read_coordinates
from leastaction.maximal.derivatives.arrays import BackData
from leastaction.maximal.derivatives.cone_cotangents import asked, cone_cotangents
from leastaction.maximal.derivatives.cotangents import (
    add_gradient,
    bend_row,
    control_cotangents,
    force_cotangents,
    rate_along,
    rate_cotangents,
    read_cotangents,
)
from leastaction.maximal.derivatives.joint_gradients import (
    clear_bars,
    copy_bars,
    find_lifts,
    joint_gradients,
    read_bars,
    take_controls,
)
from leastaction.maximal.records import BALL, NOT_LENT
from leastaction.maximal.step.assembly import assemble, start_rows
from leastaction.maximal.step.block_parts import lent
from leastaction.maximal.step.bodies import END, START, end_pose, momentum_slope, start_pose
from leastaction.maximal.step.body_states import load_state
from leastaction.maximal.step.directions import add_cones, look_at_cones
from leastaction.maximal.step.guess import AGAIN, FIRST
from leastaction.maximal.step.joint_rows import equation
from leastaction.maximal.step.judgement import share_of_cones
from leastaction.maximal.step.newton import DEPENDENT
from leastaction.maximal.step.pressed import presses
from leastaction.maximal.step.rollout import DONE, UNTIED, solve_part, start_part
from leastaction.spatial import load3, load9, mattvec, matvec

OTHERWISE = UNTIED - 1
"""Why the way back stops before a step: it was divided, or has contacts whose derivatives are found otherwise."""

SAME = 1e-4
"""Largest difference of poses to those of the run [m and quaternions, relative to one and the largest position]."""


@entry(nogil=True)
def go_back(model, settings, data, places, back, first, last):
    """Bring `back.bars` from the end of step `last` to the start of step `first`; (steps left, why it stops).

    Args:
        model, settings, data, back: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData` and `BackData`.
        places: coordinate of each degree of freedom, and its number there, shape (nv, 2).
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    return sweep(model, settings, data, None, None, places, BackData(*back), first, last)


@entry(nogil=True)
def go_back_with_contact(model, settings, data, near, contact, places, back, first, last):
    """`go_back` with contacts, limits or dry friction."""
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    near, contact = ContactModel(*near), ContactData(*contact)
    return sweep(model, settings, data, near, contact, places, BackData(*back), first, last)


@routine(allocates=False)
def sweep(model, settings, data, near, contact, places, back, first, last):
    """See `go_back`."""
    if back.A.shape[0] > 0:
        return all_rows(model, settings, data, near, contact, places, back, last)
    k = last
    while k >= first:
        if back.divided[k + 1] != 0:
            return k, np.int64(OTHERWISE)
        why = solve_again(model, settings, data, near, contact, back, k)
        if why != DONE:
            return k, np.int64(why)
        if (k > 0 or not back.first_row) and reads(back.bp[k]) and is_pressed(model, settings, data, contact):
            return k, np.int64(OTHERWISE)
        pull_back(model, settings, data, contact, places, back, k)
        k -= 1
    return k, np.int64(DONE)


@routine(allocates=False)
def all_rows(model, settings, data, near, contact, places, back, last):
    """Gradients of all of q and p after step 0 into `back.A` and `back.B`; as `go_back`.

    Args:
        last: 1 where p has a share of the impulses of the step after, else 0.
    """
    looks, m = False, back.A.shape[0]
    nv = m // 2
    if last > 0:
        why = solve_again(model, settings, data, near, contact, back, last)
        if why != DONE:
            return last, np.int64(why)
        looks = cones_of(contact) > 0
        if looks and is_pressed(model, settings, data, contact):
            return last, np.int64(OTHERWISE)
    if not looks:
        stand(model, settings, data, back, 1)
    for i in range(m):
        row = back.bq[1] if i < nv else back.bp[1]
        row[i % nv] = 1.0
        if looks:
            clear_bars(back)
            pull_back(model, settings, data, contact, places, back, 1)
            take_controls(back, 1, i)
        else:
            read_bars(model, data, back, back.bq[1], back.bp[1])
        row[i % nv] = 0.0
        copy_bars(back.bars, back.kept[i])
    why = np.int64(OTHERWISE) if back.divided[1] != 0 else solve_again(model, settings, data, near, contact, back, 0)
    if why != DONE:
        return np.int64(0), np.int64(why)
    find_lifts(model, data, back)
    for i in range(m):
        copy_bars(back.kept[i], back.bars)
        pull_back(model, settings, data, contact, places, back, 0)
        take_controls(back, 0, i)
        for j in range(back.bars.shape[1]):
            if reads(back.bars[2, j]):  # by velocities before the run
                return np.int64(0), np.int64(OTHERWISE)
        joint_gradients(model, data, back, back.A[i])
    return np.int64(-1), np.int64(DONE)


@routine(allocates=False)
def stand(model, settings, data, back, k):
    """Put the bodies where they are in row k of the run."""
    load_state(data.bodies, back.poses[k], back.momenta[k])
    for j in range(model.coordinates.shape[0]):
        c = model.coordinates[j]
        data.coordinates[j].value = back.q[k, c.iq] if c.iq >= 0 and c.kind < BALL else 0.0
    for j in range(back.at.shape[0]):
        back.at[j] = back.q[k, j]
    read_coordinates(model.coordinates, data.bodies, data.coordinates, back.at, settings.dt)


@routine(allocates=False)
def solve_again(model, settings, data, near, contact, back, k):
    """Solve step k again, and factorise its Newton matrix, cones eliminated; `DONE`, or why not."""
    states, rows, dt = data.bodies, data.rows, settings.dt
    data.clock[0] = FIRST if back.fresh and k == 0 else AGAIN
    data.clock[1] = 0.0 if back.fresh and k == 0 else dt
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].x[c], states[i].slope[c] = back.before[i, c] if k == 0 else back.velocities[k, i, c], 0.0
        for c in range(3):
            states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
    for j in range(rows.shape[0]):
        rows[j].lam = rows[j].mu = 0.0
    if contact is not None:
        contact.now[0].known = 0  # the interior point method's cones have exact slopes, those of modes do not
    stand(model, settings, data, back, k)
    start_rows(model, data)
    why = start_part(model, settings, data, near, contact, back.at, back.u[k, 0], dt)
    if why != DONE:
        return why
    if cones_of(contact) == 0:
        for i in range(states.shape[0]):
            for c in range(3):
                states[i].w[c], states[i].vc[c] = back.velocities[k + 1, i, c], back.velocities[k + 1, i, 3 + c]
    spent, _, why = solve_part(model, settings, data, near, contact, dt, k < 0)  # False, but no literal
    if why != DONE:
        return why
    if spent < 0 or is_moving(near, contact) or keeps_share(contact) or not is_same(states, back.poses, k + 1):
        return np.int64(OTHERWISE)
    count = cones_of(contact)
    if count > 0 or spent != 1:
        assemble(model, settings, data, dt, k >= 0)
        if contact is not None:
            look_at_cones(model.coordinates, states, data.coordinates, contact, dt)
            add_cones(model, data, contact, 0.0)
            for j in range(back.original.shape[0]):
                back.original[j] = data.factors.values[j]
        singular, _ = factorize(model.graph, data.factors, 0.0 if count > 0 else DEPENDENT)
        if singular >= 0:
            return np.int64(OTHERWISE)
    return np.int64(DONE)


@routine(allocates=False)
def cones_of(contact):
    """Number of cones of the present step."""
    if contact is None:
        return np.int64(0)
    return contact.now[0].count


@routine(allocates=False)
def is_pressed(model, settings, data, contact):
    """Whether forces press on the contacts of the solved step, so that momenta are found otherwise (`pressed`)."""
    if contact is None:
        return False
    share = share_of_cones(model.bodies, data.bodies, settings.gravity, settings.dt)
    return presses(model, settings, data, contact, share, settings.dt)


@routine(allocates=False)
def is_moving(near, contact):
    """Whether a contact's point moves over both bodies, see `features.add_moving_features`."""
    if contact is None:
        return False
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source >= 0:
            pair = near.pairs[contact.contacts[c.source].pair]
            one, other = near.shapes[pair.a].kind, near.shapes[pair.b].kind
            low, high = min(one, other), max(one, other)
            if (low in (BOX, FIELD)) and (high in (BOX, CAPSULE)):
                return True
            if high == CYLINDER or (low > PLANE and high > CAPSULE):
                return True
    return False


@routine(allocates=False)
def keeps_share(contact):
    """Whether contacts keep a part of their restitution, which then depends on the state."""
    if contact is None:
        return False
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if is_bouncing(c) and 0.0 < c.bounce < 1.0:
            return True
    return False


@routine(allocates=False)
def is_same(states, poses, row):
    """Whether the end of the step is that of the run."""
    apart, size = 0.0, 1.0
    for i in range(states.shape[0]):
        for c in range(3):
            size = max(size, 1.0 + abs(poses[row, i, c]))
            apart = max(apart, abs(states[i].p1[c] - poses[row, i, c]))
        for c in range(4):
            apart = max(apart, abs(states[i].quat1[c] - poses[row, i, 3 + c]))
    return apart <= SAME * size


@routine(allocates=False)
def pull_back(model, settings, data, contact, places, back, k):
    """Bring the bars from the end of the solved step k to its start; adds to the gradients by controls."""
    bodies, states, dt, halves = model.bodies, data.bodies, settings.dt, settings.halves
    bars, E0, E1, G0, G1, y, rhs = back.bars, back.E0, back.E1, back.G0, back.G1, data.dx, data.fixed
    n, first, loose = bodies.shape[0], model.graph.first, 1 if halves < 1.0 else 0
    for i in range(n):
        t = matvec(load9(states[i].R1), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2]))
        for c in range(3):
            E1[i, c], E1[i, 3 + c] = t[c], bars[1, i, 3 + c]
        for c in range(6):
            G0[i, c] = G1[i, c] = E0[i, c] = back.push[i, c] = back.read[i, c] = 0.0
    # What is read off the bodies at the start.
    share = push_of_cones(bodies, settings, data, contact, back.pushed, dt)
    if k > 0 or not back.first_row:
        share = share if reads(back.bp[k]) else 0.0
        if reads(back.bp[k]) or reads(back.bq[k]):
            read_cotangents(model, data, back.bq[k], back.bp[k], back.pushed, share, back.twists, back.read, G0)
            for i in range(n):
                for c in range(6):
                    back.push[i, c] = share * back.read[i, c]
    # Momenta at the end: forces and controls there, dampers and drive inertias (E0 is zero still).
    if halves < 1.0:
        joint_forces(model, data, back.q[k + 1], back.u[k, loose], back.at)
        force_cotangents(model, data, (1.0 - halves) * dt, END, E1, G1)
        control_cotangents(model, data, places, (1.0 - halves) * dt, END, E1, back.controls[k, loose])
    rate_cotangents(model, settings, data, dt, E0, E1, G0, G1)
    for i in range(rhs.shape[0]):
        rhs[i] = 0.0
    for i in range(n):
        s = states[i]
        # By poses at the end: of the bars, and of momenta there.
        turn = matvec(load9(s.R1), (bars[0, i, 0], bars[0, i, 1], bars[0, i, 2]))
        for c in range(3):
            G1[i, c] += turn[c]
            G1[i, 3 + c] += bars[0, i, 3 + c]
        local = mattvec(load9(s.E), (G1[i, 0], G1[i, 1], G1[i, 2]))
        spin = mattvec(
            momentum_slope(load9(bodies[i].J), load3(s.w), -dt), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2])
        )
        for c in range(3):
            rhs[first[i] + c] = dt * local[c] + spin[c] + bars[2, i, c]
            rhs[first[i] + 3 + c] = dt * G1[i, 3 + c] + bodies[i].mass * bars[1, i, 3 + c] + bars[2, i, 3 + c]
    motion_of_cones(first, contact, back.push, rhs)
    for i in range(rhs.shape[0]):
        y[i] = rhs[i]
    solve_transposed(model.graph, data.factors, y, 1)
    if cones_of(contact) > 0:
        refine(model.graph, data.factors, back.original, y, rhs, back.residual, 1, 1, k >= 0)
    # y is minus the gradient by the equations, so its part of bodies is the gradient by momenta at the start.
    for i in range(n):
        t = matvec(load9(states[i].R), (y[first[i]], y[first[i] + 1], y[first[i] + 2]))
        for c in range(3):
            E0[i, c], E0[i, 3 + c] = t[c], y[first[i] + 3 + c]
        for c in range(6):
            E1[i, c] = 0.0
            bars[1, i, c] = y[first[i] + c]
            bars[2, i, c] = 0.0
            back.push[i, c] += y[first[i] + c]
    rate_cotangents(model, settings, data, dt, E0, E1, G0, G1)
    row_cotangents(model, data, y, dt, E0, G0)
    joint_forces(model, data, back.q[k], back.u[k, 0], back.at)
    force_cotangents(model, data, halves * dt, START, E0, G0)
    control_cotangents(model, data, places, halves * dt, START, E0, back.controls[k, 0])
    if contact is not None:
        cone_cotangents(model, data, contact, dt, back.push, back, G0, bars[2])
    for i in range(n):
        t = mattvec(load9(states[i].R), (G0[i, 0] + G1[i, 0], G0[i, 1] + G1[i, 1], G0[i, 2] + G1[i, 2]))
        for c in range(3):
            bars[0, i, c], bars[0, i, 3 + c] = t[c], G0[i, 3 + c] + G1[i, 3 + c]
        for c in range(6):
            bars[1, i, c] += back.read[i, c]


@routine(allocates=False)
def reads(b):
    """Whether any entry is not zero."""
    largest = 0.0
    for i in range(b.shape[0]):
        largest = max(largest, abs(b[i]))
    return largest > 0.0


@routine(allocates=False)
def push_of_cones(bodies, settings, data, contact, pushed, dt):
    """Impulses of the cones on the bodies, into `pushed`; the share of them in p at the start of the step."""
    for i in range(pushed.shape[0]):
        for j in range(6):
            pushed[i, j] = 0.0
    if contact is None:
        return 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        normal = 0.0 if c.kind >= ip.DRY else c.gam
        for i in range(6):
            if c.a >= 0:
                pushed[c.a, i] += normal * c.da[i] + c.beta[0] * c.da[6 + i] + c.beta[1] * c.da[12 + i]
            if c.b >= 0:
                pushed[c.b, i] += normal * c.db[i] + c.beta[0] * c.db[6 + i] + c.beta[1] * c.db[12 + i]
    if contact.now[0].count == 0 or settings.halves == 1.0:
        return 0.0
    return share_of_cones(bodies, data.bodies, settings.gravity, dt)


@routine(allocates=False)
def motion_of_cones(first, contact, push, rhs):
    """Add to rhs the gradient by the velocities of what the cones push with."""
    if contact is None:
        return
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        b0, b1, b2 = asked(c, push)
        for i in range(6):
            if c.a >= 0:
                rhs[first[c.a] + i] -= b0 * c.ea[i] + b1 * c.da[6 + i] + b2 * c.da[12 + i]
            if c.b >= 0:
                rhs[first[c.b] + i] -= b0 * c.eb[i] + b1 * c.db[6 + i] + b2 * c.db[12 + i]


@routine(allocates=False)
def joint_forces(model, data, q, u, scratch):
    """Forces in joints at the positions q with the controls u, into data.tau."""
    for i in range(q.shape[0]):
        scratch[i] = q[i]
    total.clear(data.external, data.tau)
    total.joint_forces(model.forces, data.modes, scratch, data.still, data.tau)
    total.drive_forces(model.forces, data.bodies, u, data.external, data.tau)


@routine(allocates=False)
def row_cotangents(model, data, y, dt, E, G):
    """Gradients of the joints' impulses at the start, and of their equations at the end, by the poses."""
    bodies, rows, first = model.bodies, model.rows, model.graph.first
    for k in range(rows.shape[0]):
        row, s = rows[k], data.rows[k]
        Ra, xa = start_pose(data.bodies, row.a)
        Rb, xb = start_pose(data.bodies, row.b)
        bend_row(row, Ra, xa, Rb, xb, E, G, s.lam)
        by_equation = -y[first[bodies.shape[0] + row.node] + row.local]
        if row.eab > NOT_LENT:
            ra, rb = lent(model.augment, bodies, row)
            _, tb, ta, f = equation(row, 0.0, Ra, xa, Rb, xb)
            by_equation -= ra * rate_along(E, row.a, -1, tb, ta, f) + rb * rate_along(E, -1, row.b, tb, ta, f)
        Ra, xa = end_pose(data.bodies, row.a)
        Rb, xb = end_pose(data.bodies, row.b)
        _, tb, ta, f = equation(row, 0.0, Ra, xa, Rb, xb)
        add_gradient(G, row.a, row.b, tb, ta, f, by_equation / dt)
