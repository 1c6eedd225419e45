"""The compiled backward pass (discrete adjoint) over the steps of a run of `Maximal`.

Each step is solved again from its recorded start, with the recorded velocities and their impulses as the initial guess,
which takes one iteration or a few. The Newton matrix there is factorised; one transposed solve and the gradients of
`cotangents` then propagate the gradient from the end of the step to its start.
"""

import numpy as np

from leastaction._jit import entry, routine
from leastaction.forces import total
from leastaction.linalg.graph.graph_factorization import refine, solve_transposed
from leastaction.maximal.arrays import ContactModel, MaximalSettings, named_contact, named_data, named_model
from leastaction.maximal.derivatives.arrays import Rows, named_back
from leastaction.maximal.derivatives.joint_gradients import (
    add_read,
    clear_bars,
    clear_controls,
    clear_points,
    copy_bars,
    find_lifts,
    joint_gradients,
    move_points,
    read_bars,
    reads,
    take_controls,
)
from leastaction.maximal.derivatives.resolve_substep import (
    cones_of,
    earlier_solution,
    factor_part,
    finish_back,
    parts_of,
    place_bodies_at_row,
    points_move_with_bodies,
    row_of,
    rows_of,
    set_motion_targets,
    slot_of,
    solve_again,
    unfold,
)
from leastaction.maximal.derivatives.vjp.ball_cotangents import ball_rate_cotangents
from leastaction.maximal.derivatives.vjp.body_force_cotangents import (
    known_cotangents,
    resisting_cotangents,
    swap_ends,
)
from leastaction.maximal.derivatives.vjp.cone_cotangents import cone_cotangents, point_cotangents
from leastaction.maximal.derivatives.vjp.cotangents import (
    control_cotangents,
    force_cotangents,
    rate_cotangents,
    read_cotangents,
)
from leastaction.maximal.derivatives.vjp.impact_cotangents import impact_back, time_back
from leastaction.maximal.derivatives.vjp.parameter_vjp import keep_gradients, keep_read, keep_solved
from leastaction.maximal.derivatives.vjp.path_cotangents import path_cotangents
from leastaction.maximal.derivatives.vjp.row_cotangents import row_cotangents
from leastaction.maximal.derivatives.vjp.tendon_cotangents import length_cotangents
from leastaction.maximal.step.bodies import END, START, momentum_slope
from leastaction.maximal.step.maximal_rollout import DONE
from leastaction.spatial import load3, load9, mattvec, matvec


@entry(nogil=True)
def adjoint_sweep(model, settings, data, places, back, first, last):
    """Propagate `back.bars` from the end of step `last` to the start of step `first`; (steps left, status).

    Args:
        model, settings, data, back: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData` and `BackData`.
        places: coordinate of each degree of freedom, and its index there, shape (nv, 2).
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    return sweep(model, settings, data, None, None, places, named_back(back), first, last)


@entry(nogil=True)
def adjoint_sweep_with_contact(model, settings, data, near, contact, places, back, first, last):
    """`adjoint_sweep` with contacts, limits or dry friction."""
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    near, contact = ContactModel(*near), named_contact(contact)
    return sweep(model, settings, data, near, contact, places, named_back(back), first, last)


@routine(allocates=False)
def sweep(model, settings, data, near, contact, places, back, first, last):
    """See `adjoint_sweep`."""
    if back.A.shape[0] > 0:
        return all_rows(model, settings, data, near, contact, places, back)
    k = last
    back.newest[0] = last
    if back.ends:
        place_bodies_at_row(
            model, data, back, Rows(back.poses, back.momenta, back.velocities, back.q), last + 1, settings.dt
        )
        read_bars(model, data, back, back.bq[last + 1], back.bp[last + 1])
    while k >= first:
        copy_bars(back.bars, back.reached)
        by_rest, hits = back.rest[0], back.rest[1]
        why = unfold(model, settings, data, near, contact, back, k)
        for j in range(parts_of(back, k) - 1, -1, -1):
            if why == DONE:
                why = time_back(model, settings, data, near, contact, back, k, j)
            if why == DONE:
                why = solve_again(model, settings, data, near, contact, back, k, j)
            if why == DONE:
                finish_back(model, settings, data, contact, back, k, j)
                why = factor_part(model, settings, data, contact, back, k, j)
            if why == DONE:
                pull_back(model, settings, data, contact, places, back, k, j, k >= 0)
                for rounds in range(resolve_count(contact) - 1, -1, -1):
                    if why == DONE and points_move_with_bodies(contact, back, rounds + 1):
                        why = earlier_solution(model, settings, data, near, contact, back, k, j, rounds)
                        if why == DONE:
                            pull_back_earlier_points(model, settings, data, contact, places, back, k, j, rounds + 1)
            if why == DONE:
                clear_points(back)  # those of an impact are computed anew
                why = impact_back(model, settings, data, near, contact, back, k, j)
                add_read(back)
        if why != DONE:
            copy_bars(back.reached, back.bars)  # the retry of this step must start from its end
            back.rest[0], back.rest[1] = by_rest, hits
            clear_controls(back, k)
            return k, np.int64(why)
        k -= 1
    if k < 0 and back.fresh:
        to_start(model, settings, data, back)
        find_lifts(model, data, back)
        joint_gradients(model, data, back, back.start)
    return k, np.int64(DONE)


@routine(allocates=False)
def to_start(model, settings, data, back):
    """Place the bodies at the start of the run."""
    set_motion_targets(model, data, back, 0, 0)
    place_bodies_at_row(model, data, back, Rows(back.poses, back.momenta, back.velocities, back.q), 0, settings.dt)


@routine(allocates=False)
def all_rows(model, settings, data, near, contact, places, back):
    """Gradients of all entries of q and p after step 0 into `back.A` and `back.B`; returns as `adjoint_sweep`."""
    m = back.A.shape[0]
    nv = m // 2
    place_bodies_at_row(model, data, back, Rows(back.poses, back.momenta, back.velocities, back.q), 1, settings.dt)
    for i in range(m):
        row = back.bq[1] if i < nv else back.bp[1]
        row[i % nv] = 1.0
        read_bars(model, data, back, back.bq[1], back.bp[1])
        row[i % nv] = 0.0
        copy_bars(back.bars, back.kept[i])
    why = unfold(model, settings, data, near, contact, back, 0)
    for j in range(parts_of(back, 0) - 1, -1, -1):
        for i in range(m):
            if why == DONE:
                copy_bars(back.kept[i], back.bars)
                back.rest[0] = back.rests[i]
                why = time_back(model, settings, data, near, contact, back, 0, j)
                back.rests[i] = back.rest[0]
                copy_bars(back.bars, back.kept[i])
                move_points(back.by_points, back.kept_points[i])
        if why == DONE:
            why = solve_again(model, settings, data, near, contact, back, 0, j)
        if why != DONE:
            break
        for i in range(m):
            copy_bars(back.kept[i], back.bars)
            move_points(back.kept_points[i], back.by_points)
            finish_back(model, settings, data, contact, back, 0, j)
            copy_bars(back.bars, back.kept[i])
            move_points(back.by_points, back.kept_points[i])
        why = factor_part(model, settings, data, contact, back, 0, j)
        if why != DONE:
            break
        for i in range(m):
            copy_bars(back.kept[i], back.bars)
            move_points(back.kept_points[i], back.by_points)
            pull_back(model, settings, data, contact, places, back, 0, j, m > 0)
            take_controls(back, 0, i)
            copy_bars(back.bars, back.kept[i])
            move_points(back.by_points, back.kept_points[i])
        for rounds in range(resolve_count(contact) - 1, -1, -1):
            if why == DONE and points_move_with_bodies(contact, back, rounds + 1):
                why = earlier_solution(model, settings, data, near, contact, back, 0, j, rounds)
                for i in range(m if why == DONE else 0):
                    copy_bars(back.kept[i], back.bars)
                    move_points(back.kept_points[i], back.by_points)
                    pull_back_earlier_points(model, settings, data, contact, places, back, 0, j, rounds + 1)
                    take_controls(back, 0, i)
                    copy_bars(back.bars, back.kept[i])
                    move_points(back.by_points, back.kept_points[i])
        for i in range(m):
            if why == DONE:
                copy_bars(back.kept[i], back.bars)
                why = impact_back(model, settings, data, near, contact, back, 0, j)
                copy_bars(back.bars, back.kept[i])
        if why != DONE:
            break
    if why != DONE:
        return np.int64(0), np.int64(why)
    to_start(model, settings, data, back)
    find_lifts(model, data, back)
    for i in range(m):
        copy_bars(back.kept[i], back.bars)
        joint_gradients(model, data, back, back.A[i])
    return np.int64(-1), np.int64(DONE)


@routine(allocates=False)
def resolve_count(contact):
    """Number of times that the present substep was solved again with contacts that it had missed."""
    if contact is None:
        return np.int64(0)
    return contact.now[0].rounds if contact.now[0].count > 0 else np.int64(0)


@routine(allocates=False)
def pull_back_earlier_points(model, settings, data, contact, places, back, k, j, late):
    """Add the cotangents of contacts from an `earlier_solution` of substep j of step k to the bars at its start."""
    bars, G = back.bars, back.G0
    copy_bars(bars, back.summed)
    clear_bars(back)
    for i in range(G.shape[0]):
        for c in range(6):
            G[i, c] = 0.0
    earlier_point_cotangents(data, contact, late, back, G)
    for i in range(G.shape[0]):
        t = mattvec(load9(data.bodies[i].R1), (G[i, 0], G[i, 1], G[i, 2]))
        for c in range(3):
            bars[0, i, c], bars[0, i, 3 + c] = t[c], G[i, 3 + c]
    pull_back(model, settings, data, contact, places, back, k, j, k < 0)
    for a in range(bars.shape[0]):
        for i in range(bars.shape[1]):
            for c in range(6):
                bars[a, i, c] += back.summed[a, i, c]


@routine(allocates=False)
def earlier_point_cotangents(data, contact, late, back, G):
    """`point_cotangents`, where there are contacts."""
    if contact is None:
        return
    point_cotangents(data, contact, late, back, G)


@routine(allocates=False)
def pull_back(model, settings, data, contact, places, back, k, j, final):
    """Propagate the bars from the end of the solved substep j of step k to its start, after an impact there.

    Adds to the gradients by controls; stores those by the momenta of which p at the start is a function in `back.read`.

    Args:
        final: whether this is the last solution of the substep, from whose start q and p are computed.
    """
    bodies, states, part, halves = model.bodies, data.bodies, back.begins[k] + j, settings.halves
    dt, early = back.lengths[part], back.nodes[part]
    loose = early + (1 if halves < 1.0 else 0)
    bars, E0, E1, G0, G1, y, rhs = back.bars, back.E0, back.E1, back.G0, back.G1, data.dx, data.fixed
    n, first, rows = bodies.shape[0], model.graph.first, rows_of(back, k)
    row, slot = row_of(back, k, j), slot_of(back, k, j)
    keep_solved(model, data, contact, back.slots, rows, row, slot)
    for i in range(n):
        t = matvec(load9(states[i].R1), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2]))
        for c in range(3):
            E1[i, c], E1[i, 3 + c] = t[c], bars[1, i, 3 + c]
        for c in range(6):
            G0[i, c] = G1[i, c] = E0[i, c] = back.push[i, c] = back.by_velocity[i, c] = 0.0
            back.read[i, c] = 0.0 if final else back.read[i, c]
    # Gradients by q and p at the start.
    if final and j == 0 and (k > 0 or not back.fresh) and (reads(back.bp[k]) or reads(back.bq[k])):
        read_cotangents(model, data, back.bq[k], back.bp[k], back.twists, back.read, G0)
    keep_read(data, back.slots, slot, k, j, bars[1])
    # Momenta at the end: forces and controls there, dampers and armature (E0 is zero still).
    if halves < 1.0:
        late = (1.0 - halves) * dt
        joint_forces(model, data, rows.q[row + 1], back.u[k, loose], back.at)
        force_cotangents(model, data, late, END, E1, G1)
        control_cotangents(model, data, places, late, END, E1, back.controls[k, loose])
        end_cotangents(back.cot, model, data, back, late, dt, back.u[k, loose], back.controls[k, loose])
    rate_cotangents(model, settings, data, dt, E0, E1, G0, G1)
    ball_rate_cotangents(back.balls, model, settings, data, back, dt)
    path_cotangents(model.paths, model, settings, data, back, dt)
    length_cotangents(model.sprung, model, settings, data, back, dt)
    for i in range(rhs.shape[0]):
        rhs[i] = 0.0
    for i in range(n):
        s = states[i]
        # Gradients by poses at the end: those of the bars, and of momenta there.
        turn = matvec(load9(s.R1), (bars[0, i, 0], bars[0, i, 1], bars[0, i, 2]))
        for c in range(3):
            G1[i, c] += turn[c]
            G1[i, 3 + c] += bars[0, i, 3 + c]
        local = mattvec(load9(s.E), (G1[i, 0], G1[i, 1], G1[i, 2]))
        spin = mattvec(
            momentum_slope(load9(bodies[i].J), load3(s.w), -dt), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2])
        )
        at, by = first[i], back.by_velocity[i]
        for c in range(3):
            rhs[at + c] = dt * local[c] + spin[c] + bars[2, i, c] + by[c]
            rhs[at + 3 + c] = dt * G1[i, 3 + c] + bodies[i].mass * bars[1, i, 3 + c] + bars[2, i, 3 + c] + by[3 + c]
    for i in range(rhs.shape[0]):
        y[i] = rhs[i]
    solve_transposed(model.graph, data.factors, y, 1)
    if cones_of(contact) > 0:
        refine(model.graph, data.factors, back.original, y, rhs, back.residual, 1, 1, k >= 0)
    # y is minus the gradient by the residuals, so its entries of bodies are the gradient by momenta at the start.
    for i in range(n):
        t = matvec(load9(states[i].R), (y[first[i]], y[first[i] + 1], y[first[i] + 2]))
        for c in range(3):
            E0[i, c], E0[i, 3 + c] = t[c], y[first[i] + 3 + c]
        for c in range(6):
            E1[i, c] = 0.0
            bars[1, i, c] = y[first[i] + c]
            bars[2, i, c] = 0.0
            back.push[i, c] = y[first[i] + c]
    keep_gradients(back.slots, y, back.push, slot)
    rate_cotangents(model, settings, data, dt, E0, E1, G0, G1)
    ball_rate_cotangents(back.balls, model, settings, data, back, dt)
    path_cotangents(model.paths, model, settings, data, back, dt)
    length_cotangents(model.sprung, model, settings, data, back, dt)
    row_cotangents(model, data, y, dt, E0, G0)
    joint_forces(model, data, rows.q[row], back.u[k, early], back.at)
    force_cotangents(model, data, halves * dt, START, E0, G0)
    control_cotangents(model, data, places, halves * dt, START, E0, back.controls[k, early])
    start_cotangents(back.cot, model, data, back, halves * dt, dt, back.u[k, early], back.controls[k, early])
    if contact is not None:
        cone_cotangents(model, data, contact, dt, back.push, back, G0)
    for i in range(n):
        t = mattvec(load9(states[i].R), (G0[i, 0] + G1[i, 0], G0[i, 1] + G1[i, 1], G0[i, 2] + G1[i, 2]))
        for c in range(3):
            bars[0, i, c], bars[0, i, 3 + c] = t[c], G0[i, 3 + c] + G1[i, 3 + c]


@routine(allocates=False)
def start_cotangents(cot, model, data, back, scale, dt, u, bu):
    """Add the gradients of body forces, whose impulses over the time `scale` act at the start of the step."""
    if cot is None or cot.shape[0] == 0:
        return
    known_cotangents(cot, model, data, back, scale, u, back.E0, back.G0, bu)
    resisting_cotangents(model.resisting, data, back, scale, 0.5 * dt, back.E0, back.G0, back.by_velocity, bu)


@routine(allocates=False)
def end_cotangents(cot, model, data, back, scale, dt, u, bu):
    """Add the gradients of body forces, whose impulses over the time `scale` act at the end of the step."""
    if cot is None or cot.shape[0] == 0:
        return
    swap_ends(data.bodies)
    known_cotangents(cot, model, data, back, scale, u, back.E1, back.G1, bu)
    resisting_cotangents(model.resisting, data, back, scale, -0.5 * dt, back.E1, back.G1, back.by_velocity, bu)
    swap_ends(data.bodies)


@routine(allocates=False)
def joint_forces(model, data, q, u, scratch):
    """Joint forces at the positions q with the controls u, into data.tau."""
    for i in range(q.shape[0]):
        scratch[i] = q[i]
    total.clear(data.external, data.tau)
    total.joint_forces(model.forces, data.modes, scratch, data.still, data.tau)
    total.unwrap_angles(model.forces, data.modes, scratch)
    total.set_pulls(model.forces, data.modes, u)
    total.drive_forces(model.forces, data.bodies, u, data.external, data.tau)
