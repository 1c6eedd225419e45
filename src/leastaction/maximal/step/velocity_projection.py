"""Projection of the momenta at a node: the second phase of a step, with contacts (see `velocity_equations`).

Contacts that are closed at the end of the step apply further impulses, each within its friction cone, so that the
velocities there do not penetrate. The step ends with the momenta of these velocities: they vanish at rest, and the
next step needs no other state.
"""

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.narrow_phase.closest_points import tangents
from leastaction.linalg.graph.graph_factorization import factorize, solve
from leastaction.maximal.arrays import MaximalData
from leastaction.maximal.contact.contact_setup import contact_wrenches, turn_wrenches
from leastaction.maximal.contact.limit_setup import coordinate_wrenches
from leastaction.maximal.step.block_parts import add_six
from leastaction.maximal.step.forces.prescribed_motion import goal_rate
from leastaction.maximal.step.initial_guess import LATER, accelerate_without_impact
from leastaction.maximal.step.solver.delassus_newton import delassus_newton
from leastaction.maximal.step.solver.interior_point import interior_step
from leastaction.maximal.step.solver.newton import DEPENDENT
from leastaction.maximal.step.solver.semismooth_newton import (
    OPEN,
    follow_modes,
    is_rigid,
    is_slow,
    open_all_cones,
)
from leastaction.maximal.step.velocity_equations import APART, POSITIONS, VELOCITIES, velocity_matrix
from leastaction.spatial import add3, load3, scale3

UNSOLVED, NOTHING, SOLVED = np.int64(-1), np.int64(0), np.int64(1)
"""Result of the second phase of a step, as NumPy integers: Numba compiles a specialisation for each Python literal."""


@inline
def with_exchanged_factors(data):
    """The same data with its two factorisations exchanged, so that the second phase keeps that of the first."""
    return MaximalData(*(data[:-2] + (data.held, data.factors)))


@inline
def is_closed(c):
    """Whether a cone of a solved step is closed at its end."""
    return c.kind == ip.DRY or c.mode != OPEN


@routine(allocates=False)
def has_closed(settings, contact):
    """Whether any cone of a solved step takes part in the second phase; order 1 has no second phase."""
    found = False
    if settings.halves == 1.0:
        return found
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        found = found or settings.smoothing > 0.0 or is_closed(c)
    return found


@routine(allocates=False)
def project_velocities(model, settings, data, contact, dt):
    """Project the momenta of a finished step of dt on the laws of its contacts: SOLVED, UNSOLVED, or NOTHING to do.

    The impulses of the first phase are saved in `contact.impulses` for the next step; those of the second stay in the
    cones until `take_back`.
    """
    now, states = contact.now[0], data.bodies
    if now.count == 0 or not has_closed(settings, contact):
        return NOTHING
    for i in range(states.shape[0]):
        for c in range(3):
            data.T[i, c], data.T[i, 3 + c] = states[i].w[c], states[i].vc[c]
    for k in range(data.rows.shape[0]):
        data.rows[k].kept = data.rows[k].lam
    begin_second_phase(settings, data, contact, dt)
    if data.past[0].known == LATER:
        accelerate_without_impact(model.bodies, states, settings.gravity, 0.5 * dt)
    sure = now.sure
    solved = solve_velocities(model, settings, with_exchanged_factors(data), contact, dt)
    if solved:
        for k in range(now.count):
            push_cone(data, contact.cones[k])
        for k in range(data.rows.shape[0]):
            data.rows[k].mu = data.rows[k].lam
            push_row(model, data, k, data.rows[k].lam)
    for i in range(states.shape[0]):
        for c in range(3):
            data.dV[i, c], data.dV[i, 3 + c] = states[i].w[c], states[i].vc[c]
            states[i].w[c], states[i].vc[c] = data.T[i, c], data.T[i, 3 + c]
    if solved:
        push_end_dampers(model, data)
    for k in range(data.rows.shape[0]):
        data.rows[k].lam = data.rows[k].kept
    now.phase, now.sure = POSITIONS, sure
    return SOLVED if solved else UNSOLVED


@routine(allocates=False)
def begin_second_phase(settings, data, contact, dt):
    """Save the results of the first phase; unit wrenches of the cones closed at the end, all others are opened."""
    now = contact.now[0]
    now.phase = VELOCITIES
    for k in range(now.count):
        c = contact.cones[k]
        if not is_rigid(settings):
            contact.first[k] = c
        ip.copy_block(c, contact.saved[k])
        contact.impulses[k, 0], contact.impulses[k, 1], contact.impulses[k, 2] = c.gam, c.beta[0], c.beta[1]
    for k in range(now.count):
        c = contact.cones[k]
        c.offset = 0.0
        if c.kind == ip.DRY:
            c.s = 1.0
        elif settings.smoothing > 0.0:
            c.offset = max(c.gap, 0.0) / dt
        elif not is_closed(c):
            c.offset = c.s = APART
            c.gam = c.beta[0] = c.beta[1] = c.ry[0] = c.ry[1] = 0.0
        if c.offset < APART:
            renew_wrench(data, contact, c)


@routine(allocates=False)
def knows_matrix(data, contact, dt):
    """Whether the factors of the second phase of the step before belong to the cones that are closed now.

    Cones that were closed then get back their blocks of the matrix; all others are set open.
    """
    now, closed, other = contact.now[0], 0, 0
    kept = now.kept_second == dt and now.matched == 1 and data.factors.values[0] != 0.0 and is_slow(data.bodies, dt)
    now.kept_second = 0.0
    if not kept:
        open_all_cones(contact)
        return False
    for k in range(now.count):
        c = contact.cones[k]
        c.mode = OPEN
        if c.previous >= 0 and c.offset < APART and contact.second[c.previous].mode != OPEN:
            ip.copy_block(contact.second[c.previous], c)
            closed += 1
        elif c.offset < APART:
            other += 1
    return other == 0 and closed == now.closed_second


@routine(allocates=False)
def start_velocities(data, contact):
    """Set the velocities and impulses of the first phase as the initial guess."""
    for i in range(data.bodies.shape[0]):
        for c in range(3):
            data.bodies[i].w[c], data.bodies[i].vc[c] = data.T[i, c], data.T[i, 3 + c]
    for k in range(data.rows.shape[0]):
        data.rows[k].lam = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.offset < APART:
            c.gam, c.beta[0], c.beta[1] = contact.impulses[k, 0], contact.impulses[k, 1], contact.impulses[k, 2]


@routine(allocates=False)
def solve_velocities(model, settings, data, contact, dt):
    """Solve the second phase from the velocities and impulses of the first; returns whether it converged.

    Args:
        data: `MaximalData` with the factors of the second phase in `factors`.
    """
    now, rigid = contact.now[0], is_rigid(settings)
    if rigid:
        fresh = not knows_matrix(data, contact, dt)
        if fresh:
            open_all_cones(contact)
        if follow_modes(model, settings, data, contact, dt, fresh) >= 0:
            for k in range(now.count if now.kept_second > 0.0 else 0):
                ip.copy_block(contact.cones[k], contact.second[k])
            return True
        start_velocities(data, contact)
        return delassus_newton(model, settings, data, contact, dt) >= 0
    for k in range(now.count):
        c = contact.cones[k]
        c.share = c.target_share
        ip.begin(c, max(c.s, settings.gravity * dt), c.y[0], c.y[1], now.energy)
    return interior_step(model, settings, data, contact, dt) >= 0


@routine(allocates=False)
def take_back(settings, contact):
    """Restore the cones' impulses and blocks of the first phase; unit wrenches stay those of the second."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if not is_rigid(settings):
            contact.cones[k] = contact.first[k]
            continue
        ip.copy_block(contact.saved[k], c)
        c.gam, c.beta[0], c.beta[1] = contact.impulses[k, 0], contact.impulses[k, 1], contact.impulses[k, 2]


@routine(allocates=False)
def log_second_phase(contact, at, dt):
    """Add the forces of the second phase to the log from row `at` on, see `contact_setup.append_contacts`."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source < 0 or c.kind == ip.TURN:
            continue
        n = load3(c.normal)
        t1, t2 = tangents(n)
        f = add3(scale3(c.gam, n), add3(scale3(c.beta[0], t1), scale3(c.beta[1], t2)))
        for i in range(3):
            contact.log[at, 6 + i] += f[i] / dt
        at += 1


@routine(allocates=False)
def renew_wrenches(data, contact):
    """Unit wrenches of all cones at the start poses in `data`."""
    for k in range(contact.now[0].count):
        renew_wrench(data, contact, contact.cones[k])


@routine(allocates=False)
def renew_wrench(data, contact, c):
    """Unit wrenches of a cone at the start poses in `data`."""
    if c.source < 0:
        coordinate_wrenches(c, data.coordinates[-1 - c.source])
        return
    contact_wrenches(c, contact.contacts[c.source], data.bodies)
    if c.kind == ip.TURN:
        turn_wrenches(c, data.bodies)


@inline
def push_cone(data, c):
    """Add the impulses of a cone to the momenta."""
    for j in range(1 if c.kind >= ip.DRY else 0, 3):
        f = c.gam if j == 0 else c.beta[j - 1]
        if f != 0.0:
            for body, d in ((c.a, c.da), (c.b, c.db)):
                if body >= 0:
                    for i in range(6):
                        data.bodies[body].P[i] += f * d[6 * j + i]
                        data.minus[body, i] += f * d[6 * j + i]


# --------------------------------------------------------------------------------- strong dampers at the end of a step


@routine(allocates=False)
def forget_end_damping(cstates):
    """Reset the implicit damping of the step that led to the present node."""
    for k in range(cstates.shape[0]):
        cstates[k].end_damping = 0.0


@routine(allocates=False)
def is_damped_at_end(cstates):
    """Whether a damper is implicit in the velocities at the present node, see `assembly.end_damping`."""
    found = False
    for k in range(cstates.shape[0]):
        found = found or cstates[k].end_damping > 0.0
    return found


@routine(allocates=False)
def push_end_dampers(model, data):
    """Subtract the impulses of implicit dampers, at the node velocities `data.dV`, from the momenta."""
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if s.end_damping == 0.0:
            continue
        rate = 0.0
        for body, w in ((c.a, s.wa), (c.b, s.wb)):
            if body >= 0:
                for i in range(6):
                    rate += w[i] * data.dV[body, i]
        for body, w in ((c.a, s.wa), (c.b, s.wb)):
            if body >= 0:
                add_six(data.bodies[body].P, 0, w, -s.end_damping * rate)
                add_six(data.minus[body], 0, w, -s.end_damping * rate)


# ---------------------------------------------------- without contacts: closed loops and prescribed motions alone


@routine(allocates=False)
def project_free_node(model, data, held):
    """Velocities of a node without contacts, into `data.dV` and `data.dx`; applies implicit dampers to the momenta.

    Where the projection is singular, as for bodies without mass, the dampers act on the velocities of the step.

    Args:
        held: whether to add the impulses of the rows to the momenta as well.

    Returns:
        As `solve_projection`.
    """
    n, first, skipped = model.bodies.shape[0], model.graph.first, solve_projection(model, data)
    for i in range(n):
        for c in range(3):
            data.dV[i, c], data.dV[i, 3 + c] = data.bodies[i].w[c], data.bodies[i].vc[c]
        for c in range(6):
            data.dV[i, c] = data.dx[first[i] + c] if skipped >= 0 else data.dV[i, c]
    push_end_dampers(model, data)
    for k in range(model.rows.shape[0]):
        if held:
            data.rows[k].mu = data.dx[first[n + model.rows[k].node] + model.rows[k].local] if skipped >= 0 else 0.0
            push_row(model, data, k, data.rows[k].mu)
    return skipped


@routine(allocates=False)
def push_row(model, data, k, mu):
    """Add the impulse mu of row k to the momenta."""
    row, s, states = model.rows[k], data.rows[k], data.bodies
    if row.ea >= 0:
        add_six(states[row.a].P, 0, s.wa, mu)
    if row.eb >= 0:
        add_six(states[row.b].P, 0, s.wb, mu)
    if row.ea2 >= 0:
        add_six(states[model.coordinates[row.leader].a].P, 0, s.wa2, mu)
    if row.eb2 >= 0:
        add_six(states[model.coordinates[row.leader].b].P, 0, s.wb2, mu)


@routine(allocates=False)
def solve_projection(model, data):
    """dx <- velocities and row impulses of the momenta, from the matrix of `velocity_matrix`.

    Returns the number of redundant equations, or -1 where the matrix is singular.
    """
    velocity_matrix(model, data, data.held.values)
    fill_projection(model, data)
    singular, skipped = factorize(model.graph, data.held, DEPENDENT)
    if singular >= 0:
        return -1
    solve(model.graph, data.held, data.dx)
    return skipped


@routine(allocates=False)
def fill_projection(model, data):
    """dx <- right-hand side of `solve_projection`: momenta, and rates of prescribed motions."""
    bodies, rows, first = model.bodies, model.rows, model.graph.first
    states, rowstates, dx = data.bodies, data.rows, data.dx
    for i in range(dx.shape[0]):
        dx[i] = 0.0
    for i in range(bodies.shape[0]):
        for c in range(6):
            dx[first[i] + c] = states[i].P[c]
    for k in range(rows.shape[0]):
        row = rows[k]
        if row.goal >= 0:
            dx[first[bodies.shape[0] + row.node] + row.local] = goal_rate(row, rowstates[k], data.goals[0])
