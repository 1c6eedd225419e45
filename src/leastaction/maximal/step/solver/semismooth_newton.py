"""Semismooth Newton method for a step with rigid contact: an active set with the modes open, sticking and sliding.

The method of Alart and Curnier (1991, Section 4), for the open mode also of Hintermueller, Ito and Kunisch (2003), on
the natural map of Signorini's and Coulomb's laws with compliance (`contact.laws.compliance`). With the slack
s = gap / dt + c gam and the slip y = (sliding velocity) + c beta of a contact,

    OPEN    gam = 0, beta = 0                        where gam <= r s
    STICK   s = 0, y = 0                             where |t| <= mu gam, t = beta - r y
    SLIP    s = 0, beta = mu gam t / |t|             else

Closed contacts give impulses in proportion to the motion, 1 / c, so they add no unknowns to the graph, and the Newton
matrix is constant while no mode changes: one factorisation serves for all iterations. Without compliance a proximal
term takes its place (Rockafellar 1976), which vanishes at the solution. Where the modes keep changing,
`delassus_newton` takes over, which solves the whole contact problem in each of its iterations.
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import inline, is_set, routine
from leastaction.contact.laws import cones as ip
from leastaction.linalg.graph.graph_factorization import factorize, solve
from leastaction.maximal.contact.slip import slip_velocities
from leastaction.maximal.step.initial_guess import FOUND
from leastaction.maximal.step.solver.contact_masses import weigh_cone
from leastaction.maximal.step.solver.newton import apply
from leastaction.maximal.step.solver.predictor_corrector import add_block, push_cones, slack_at
from leastaction.maximal.step.solver.redundant_rows import leave_out_residuals, leave_out_rows
from leastaction.maximal.step.solver.tolerances import NOTHING, largest_residual, scales
from leastaction.maximal.step.velocity_equations import APART, POSITIONS, VELOCITIES, equations

OPEN, STICK, SLIP = 0, 1, 2
"""Modes of a cone; closed limits have STICK."""

SOLVED_BY_MODES = 2
"""Value of `sure`: semismooth Newton solved the step, so residuals belong to its velocities."""

PROXIMAL = 1e-9
"""Least compliance in the Newton matrix, times the mass that a contact moves: a proximal term where the cone's own is
smaller. With it the residual of a slack shrinks by a factor per iteration; without, it vanishes in one."""

WATCH = 9
"""Iterations within which the merit function, the largest residual in m/s, must fall to HALF; else modes are assumed to
cycle, and `delassus_newton` takes over. With 6, drops of A1 take up to 78 iterations a step, with 9 up to 35
(corpus, 6 seeds)."""

SPARED = 3.0
"""Iterations with reused factors that cost as much as one with a new factorisation (2.5 to 3.5, for robots of 5 to 20
links): the matrix is factorised anew where more would be needed at the present rate."""

SLOW = 1e-3
"""Rotation of a body in a step [rad] below which the factorisation of the step before is tried first."""

HALF = 0.5
"""Damping factor. Where the merit function exceeds HALF its value two iterations before, modes or sliding directions
alternate: only this fraction of the Newton step is taken, in two iterations in a row only where modes change. With full
steps `grains` takes 6.4 iterations in place of 3.9 and `pile` 7.6 in place of 5.7, though `stack` 21 in place of 24
(corpus, 12 seeds)."""

POLISHED, FAST = 1e-3, 0.03
"""Iterations go on after convergence until residuals are below POLISHED times their bound, as long as each shrinks them
to FAST or less: so the load split among redundant contacts is as accurate as the slacks are relative to their
compliance."""


@inline
def is_rigid(settings):
    """Whether contact is rigid, so that cones have modes: neither smoothing nor a linearised friction cone."""
    return settings.smoothing == 0.0 and settings.directions == 0


@routine(allocates=False)
def begin_modes(bodies, contact):
    """Fill the impulses of the step before and the masses of cones; returns whether that step's matrix can be reused.

    It can where, by the saved modes, the same cones are closed.
    """
    now = contact.now[0]
    load, closed = now.load, 0
    for k in range(now.count):
        c = contact.cones[k]
        c.gam = c.beta[0] = c.beta[1] = 0.0
        if c.previous >= 0:
            c.gam = contact.impulses[c.previous, 0]
            if c.kind != ip.LIMIT:
                c.beta[0], c.beta[1] = contact.impulses[c.previous, 1], contact.impulses[c.previous, 2]
        weigh_cone(bodies, c, load)
        c.mode = OPEN
        if now.saved == 1 and c.previous >= 0 and contact.saved[c.previous].mode != OPEN:
            ip.copy_block(contact.saved[c.previous], c)
            closed += 1
    kept = now.saved == 1 and closed == now.closed
    now.saved = 0
    return kept


@routine(allocates=False)
def open_all_cones(contact):
    """All cones are open."""
    for k in range(contact.now[0].count):
        contact.cones[k].mode = OPEN


@routine(allocates=False)
def is_slow(states, dt):
    """Whether no body rotates by more than SLOW in the step."""
    fastest = 0.0
    for i in range(states.shape[0]):
        fastest = max(fastest, states[i].w[0] ** 2 + states[i].w[1] ** 2 + states[i].w[2] ** 2)
    return fastest * dt * dt < SLOW * SLOW


@routine(allocates=False)
def keep_matrix(contact, dt, loops):
    """Record for the next step that the factors are those of the cones closed now.

    Args:
        loops: whether there are closed loops, whose search for redundant equations overwrites the factors.
    """
    now, closed = contact.now[0], 0
    for k in range(now.count):
        if contact.cones[k].mode != OPEN:
            closed += 1
    if now.phase == VELOCITIES:
        now.kept_second, now.closed_second = dt, closed
    elif not is_set(loops):
        now.kept, now.closed = dt, closed


@routine(allocates=False)
def evaluate_modes(coordinates, states, cstates, contact, dt, fresh):
    """Slacks (`rs`) and sliding velocities (`ry`) at the end of the step; with `fresh`, their gradients as well.

    Reused factors need the gradients that they were made with: contacts are so stiff that these must be identical.
    """
    second = contact.now[0].phase == VELOCITIES
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if second and c.offset >= APART:
            c.rs = c.offset
            continue
        if c.kind != ip.DRY:
            c.rs, ea, eb = slack_at(coordinates, states, cstates, contact, c, dt)
            if fresh:
                for i in range(6):
                    c.ea[i], c.eb[i] = ea[i], eb[i]
        if c.kind != ip.LIMIT:
            c.ry[0], c.ry[1] = slip_velocities(coordinates, states, cstates, c, dt, second, fresh)


@routine(allocates=False)
def choose_modes(contact, fresh):
    """Choose modes, and fill the cones' impulse changes at zero motion (`w0`); with `fresh`, also per motion (`W`).

    Returns the number of changed modes and the largest residual of the cones, as a velocity [m/s].
    """
    changed, worst = 0, 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        mode = mode_of(c)
        if mode != c.mode:
            changed += 1
        c.mode = mode
        if fresh:
            respond(c, PROXIMAL)
        worst = max(worst, change_of(c))
    return changed, worst


@inline
def slack_of(c):
    """Slack of a cone with its compliance [m/s]."""
    return c.rs + ip.yielding(c)[0]


@inline
def slip_of(c):
    """Sliding velocity of a cone with its compliance (2) [m/s]."""
    return c.ry[0] + c.slip_compliance * c.beta[0], c.ry[1] + c.slip_compliance * c.beta[1]


@inline
def bound_of(c):
    """Largest friction impulse; 0 where the normal impulse is negative."""
    return c.bound if c.kind == ip.DRY else c.mu * max(c.gam, 0.0)


@routine(allocates=False)
def mode_of(c):
    """The mode that the natural map selects."""
    if c.kind != ip.DRY and c.gam <= c.weight * slack_of(c):
        return OPEN
    if c.kind == ip.LIMIT:
        return STICK
    bound, (y0, y1) = bound_of(c), slip_of(c)
    t0, t1 = c.beta[0] - c.drag * y0, c.beta[1] - c.drag * y1
    return STICK if t0 * t0 + t1 * t1 <= bound * bound else SLIP


@routine(allocates=False)
def change_of(c):
    """Fill `w0`; returns the largest residual of an impulse or slack, as a velocity [m/s]."""
    if c.mode == OPEN:
        c.w0[0], c.w0[1], c.w0[2] = -c.gam, -c.beta[0], -c.beta[1]
        return max(abs(c.gam) / c.weight, abs(c.beta[0]) / c.drag, abs(c.beta[1]) / c.drag)
    slack = 0.0 if c.kind == ip.DRY else slack_of(c)
    worst = abs(slack)
    c.w0[0], c.w0[1], c.w0[2] = -c.W[0] * slack, 0.0, 0.0
    if c.kind == ip.LIMIT:
        return worst
    if c.mode == STICK:
        y0, y1 = slip_of(c)
        c.w0[1], c.w0[2] = -c.W[4] * y0, -c.W[8] * y1
        return max(worst, abs(y0), abs(y1))
    bound, d0, d1, share, _ = sliding_of(c)
    along, across = bound - c.beta[0] * d0 - c.beta[1] * d1, c.beta[0] * d1 - c.beta[1] * d0
    k = across / share
    # The friction that the normal impulse adds uses the direction in the matrix (`W`), since that entry is stiff.
    c.w0[1], c.w0[2] = along * d0 - k * d1 - c.W[3] * slack, along * d1 + k * d0 - c.W[6] * slack
    return max(worst, abs(along) / c.drag, abs(across) / c.drag)


@inline
def sliding_of(c):
    """Of a sliding cone: friction bound, direction d (2), 1 - (1 - r c) bound / |t| (at least PROXIMAL), and
    bound / |t|.

    Across d = t / |t| friction changes by (bound / |t|) dt with dt = (1 - r c) dbeta - r dy.
    """
    bound, (y0, y1) = bound_of(c), slip_of(c)
    t0, t1 = c.beta[0] - c.drag * y0, c.beta[1] - c.drag * y1
    size = math.sqrt(t0 * t0 + t1 * t1)
    part = bound / size
    return bound, t0 / size, t1 / size, max(1.0 - part * (1.0 - c.drag * c.slip_compliance), PROXIMAL), part


@inline
def stiffness(compliance, proximal, mass):
    """Impulse of a closed cone per velocity [kg], with the proximal term, PROXIMAL where the compliance is zero."""
    return 1.0 / max(compliance, (proximal if compliance > 0.0 else PROXIMAL) / mass)


@routine(allocates=False)
def respond(c, proximal):
    """Fill `W`, the change of the impulses per motion; proximal: see PROXIMAL, 0 for a derivative."""
    for i in range(9):
        c.W[i] = 0.0
    if c.mode == OPEN:
        return
    if c.kind != ip.DRY:
        c.W[0] = stiffness(ip.yielding(c)[1], proximal, c.weight)
    if c.kind == ip.LIMIT:
        return
    if c.mode == STICK:
        c.W[4] = c.W[8] = stiffness(c.slip_compliance, proximal, c.drag)
        return
    _, d0, d1, share, part = sliding_of(c)
    more = 0.0 if c.kind == ip.DRY else c.mu * c.W[0]
    k = c.drag * part / share
    c.W[3], c.W[6] = more * d0, more * d1
    c.W[4], c.W[5], c.W[7], c.W[8] = k * d1 * d1, -k * d0 * d1, -k * d0 * d1, k * d0 * d0


@routine(allocates=False)
def direction_of_modes(model, data, contact, fresh):
    """Newton step: for bodies and joints into dx, for the cones into `step`.

    False where the matrix is singular.
    """
    first, dx = model.graph.first, data.dx
    if fresh:
        for k in range(contact.now[0].count):
            c = contact.cones[k]
            if c.mode != OPEN:
                add_block(model, data, c)
                for m in range(6):
                    c.ma[m], c.mb[m] = c.ea[m], c.eb[m]
                for m in range(12):
                    c.ma[6 + m], c.mb[6 + m] = c.ya[m], c.yb[m]
                for m in range(18):
                    c.ma[18 + m], c.mb[18 + m] = c.da[m], c.db[m]
        singular, _ = factorize(model.graph, data.factors, 0.0)
        if singular >= 0:
            return False
    for i in range(dx.shape[0]):
        dx[i] = data.fixed[i]
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        w = 0.0 if c.kind >= ip.DRY else c.w0[0]
        if c.mode == OPEN:
            if w == 0.0 and c.w0[1] == 0.0 and c.w0[2] == 0.0:
                continue
            for m in range(18):
                c.ma[18 + m], c.mb[18 + m] = c.da[m], c.db[m]
        for m in range(6):
            if c.a >= 0:
                dx[first[c.a] + m] += w * c.ma[18 + m] + c.w0[1] * c.ma[24 + m] + c.w0[2] * c.ma[30 + m]
            if c.b >= 0:
                dx[first[c.b] + m] += w * c.mb[18 + m] + c.w0[1] * c.mb[24 + m] + c.w0[2] * c.mb[30 + m]
    solve(model.graph, data.factors, dx)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        u0 = u1 = u2 = 0.0
        if c.mode != OPEN:
            for m in range(6):
                if c.a >= 0:
                    d = dx[first[c.a] + m]
                    u0, u1, u2 = u0 + c.ma[m] * d, u1 + c.ma[6 + m] * d, u2 + c.ma[12 + m] * d
                if c.b >= 0:
                    d = dx[first[c.b] + m]
                    u0, u1, u2 = u0 + c.mb[m] * d, u1 + c.mb[6 + m] * d, u2 + c.mb[12 + m] * d
        c.step[0] = c.w0[0] - c.W[0] * u0
        c.step[1] = c.w0[1] - c.W[3] * u0 - c.W[4] * u1 - c.W[5] * u2
        c.step[2] = c.w0[2] - c.W[6] * u0 - c.W[7] * u1 - c.W[8] * u2
    return True


@routine(allocates=False)
def take_step(model, data, contact, t, dt):
    """Take a fraction t of Newton's step; returns its size as a velocity [m/s]."""
    now = contact.now[0]
    moves = 0.0 if now.phase == VELOCITIES else dt
    size = apply(model, data, t, moves)
    for k in range(now.count):
        c = contact.cones[k]
        c.gam += t * c.step[0]
        c.beta[0] += t * c.step[1]
        c.beta[1] += t * c.step[2]
    return size


@routine(allocates=False)
def project_impulses(contact):
    """Project impulses on their cones: normal impulses are not negative, and friction is within its bound.

    Where Newton takes a sliding contact for sticking, its friction is hundreds of times the bound, in a direction
    that the next step cannot start from. Without this projection stacks take 25 iterations a step in place of 16, and
    semismooth Newton fails in some steps with friction at its bound (corpus, 6 seeds).
    """
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind != ip.DRY:
            c.gam = max(c.gam, 0.0)
        if c.kind != ip.LIMIT:
            bound, size = bound_of(c), math.sqrt(c.beta[0] ** 2 + c.beta[1] ** 2)
            if size > bound:
                c.beta[0], c.beta[1] = c.beta[0] * bound / size, c.beta[1] * bound / size


@routine(allocates=False)
def store_slacks(contact):
    """Store the slacks and sliding velocities of a step that semismooth Newton solved."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        c.share, c.s = 1.0, max(c.rs, 0.0) if c.mode == OPEN else 0.0
        c.y[0], c.y[1] = c.ry[0], c.ry[1]


@routine(allocates=False)
def evaluate_residuals(model, settings, data, contact, dt, fresh, size):
    """Residuals, and with `fresh` the matrix without contacts; (those of joints, modes changed, largest of all) [m/s].

    See `choose_modes`. After an update of negligible `size` [m/s] residuals of bodies are round-off and not counted.
    """
    joints = equations(model, settings, data, contact, dt, fresh)
    evaluate_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, fresh)
    changed, worst = choose_modes(contact, fresh)
    push_cones(data.bodies, contact)
    if size > NOTHING * settings.tolerance:
        worst = max(worst, largest_residual(model.bodies, data.bodies))
    return joints, changed, max(worst, joints)


@routine(allocates=False)
def active_step(model, settings, data, contact, dt):
    """Solve a step from the modes of the one before; returns the iterations, or -1 - iterations on failure."""
    kept = begin_modes(model.bodies, contact)
    fresh = not kept or not is_slow(data.bodies, dt)
    if data.past[0].known == FOUND:
        begin_at_solution(model, settings, data, contact, dt)
    if fresh:
        open_all_cones(contact)
    return follow_modes(model, settings, data, contact, dt, fresh)


@routine(allocates=False)
def sticking_step(model, settings, data, contact, dt):
    """`active_step` from impulses for which the natural map selects sticking at all closed contacts.

    Where friction admits no finite force at a sliding contact (Painleve), Newton's method fails from sliding:
    the laws then have an impact without collision, which ends the slip at once (Genot and Brogliato 1999, Section 4).
    Where no closed contact slides, sticking is no new guess, and the function returns -1.
    """
    begin_modes(model.bodies, contact)
    open_all_cones(contact)
    fresh = dt != 0.0  # not a literal True: it would compile another specialisation
    equations(model, settings, data, contact, dt, fresh)
    evaluate_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, fresh)
    fall, fastest = settings.gravity * abs(dt), 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind != ip.LIMIT and c.kind != ip.DRY and c.mu > 0.0 and slack_of(c) <= fall:
            y0, y1 = slip_of(c)
            speed = math.sqrt(y0 * y0 + y1 * y1)
            c.beta[0] = c.beta[1] = 0.0
            c.gam = c.weight * (abs(slack_of(c)) + fall) + 2.0 * c.drag * speed / c.mu
            fastest = max(fastest, speed)
    if fastest <= fall:
        return -1
    return follow_modes(model, settings, data, contact, dt, fresh)


@routine(allocates=False)
def begin_at_solution(model, settings, data, contact, dt):
    """Start from the known velocities of a step that is solved again, and the impulses that belong to them.

    The compliance makes impulses a function of the motion, so a step with several solutions is solved for the same one.
    """
    states, fresh = data.bodies, dt == 0.0  # not a literal False: it would compile another specialisation
    for i in range(states.shape[0]):
        for c in range(3):
            states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
    equations(model, settings, data, contact, dt, fresh)
    evaluate_modes(model.coordinates, states, data.coordinates, contact, dt, fresh)
    for k in range(contact.now[0].count):
        ip.impulses_of_motion(contact.cones[k])


@routine(allocates=False)
def follow_modes(model, settings, data, contact, dt, fresh):
    """Newton iterations from the present velocities and impulses; returns as `active_step`.

    Args:
        fresh: whether the matrix must be factorised anew, since the factors are of another one.
    """
    bodies, states, now = model.bodies, data.bodies, contact.now[0]
    _, _, limit, closed = scales(bodies, settings, contact, dt)
    best, idle, last, before, t, old, size = math.inf, 0, math.inf, math.inf, 1.0, fresh, math.inf
    now.solves[now.phase] += 1
    for iteration in range(settings.max_iterations):
        joints, changed, worst = evaluate_residuals(model, settings, data, contact, dt, fresh, size)
        slow = changed > 0 or worst * (worst / last) ** SPARED > POLISHED * limit
        if now.phase == POSITIONS and iteration == 1:
            now.quick = 0 if slow else 1
        if worst <= limit and joints <= closed and (worst <= POLISHED * limit or FAST * last < worst <= last <= limit):
            if not fresh and changed == 0:
                keep_matrix(contact, dt, settings.loops)
            store_slacks(contact)
            return iteration
        if not fresh and slow:
            if old and worst > last:
                # Reused factors increased the residual: undo. Without it `slot` takes 3.1 iterations a step, not 2.6.
                take_step(model, data, contact, -t, dt)
                size = math.inf
            fresh = dt != 0.0  # not a literal True: it would compile another specialisation
            joints, _, worst = evaluate_residuals(model, settings, data, contact, dt, fresh, size)
        idle += 1
        if worst <= HALF * best or iteration == 1:  # the initial impulses do not match the modes
            best, idle = worst, 0
        if idle == WATCH or not is_finite(worst):
            return -1 - iteration
        for i in range(bodies.shape[0]):
            for c in range(6):
                data.fixed[model.graph.first[i] + c] = -states[i].r[c]
        now.iterations[now.phase] += 1
        if fresh:
            now.matrices[now.phase] += 1
            leave_out_rows(model, data, settings.loops)
        else:
            leave_out_residuals(data, settings.loops)
        t = HALF if worst > HALF * before and (changed > 0 or t == 1.0) else 1.0
        if not direction_of_modes(model, data, contact, fresh):
            return -1 - iteration
        size = take_step(model, data, contact, t, dt)
        if fresh:
            project_impulses(contact)
        old = not fresh
        fresh = now.phase == POSITIONS and iteration == 0 and now.quick == 0
        last, before = worst, last
    return -1 - settings.max_iterations
