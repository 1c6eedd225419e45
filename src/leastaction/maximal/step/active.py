"""Solving a step with contacts by their modes: open, sticking or sliding, as they were in the step before.

A semismooth Newton method (Alart and Curnier 1991, Section 4; Hintermueller, Ito and Kunisch 2003 for what is open) in
proximal form (Rockafellar 1976): a contact that is closed pushes with what it did, less a large multiple of its
slack,

    OPEN    gam = 0, beta = 0
    STICK   gam <- gam - rho (s - s0), beta <- beta - rho (y - y0)
    SLIP    gam likewise, beta = mu gam t / |t| with t = beta - c y

so contacts stay out of the graph's unknowns, and the Newton matrix is the same from iteration to iteration while no
mode changes: one factorisation serves for all of them. s0 and a creep in y are those of the central path close to its
end, so redundant contacts share the load as they do there, whatever they did before. The interior point
method (`interior`) needs none of this to be known and takes over where the modes do not come to rest soon.
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.linalg.graph.kernels import factorize, solve
from leastaction.maximal.step.assembly import assemble
from leastaction.maximal.step.cone_masses import weigh_cone
from leastaction.maximal.step.directions import add_block, measure, push_cones, sliding
from leastaction.maximal.step.guess import LATER
from leastaction.maximal.step.newton import apply
from leastaction.maximal.step.redundant import leave_out_residuals, leave_out_rows
from leastaction.maximal.step.scales import SHARPEST, largest_residual, least_product, scales

OPEN, STICK, SLIP = 0, 1, 2
"""Modes of a cone; limits stick."""

STIFF, NEW = 1e9, 1e6
"""Impulse that a closed contact gives per slack beyond its law, relative to the mass that it moves: what is left of a
slack shrinks by about this in every iteration; and that of one that bore nothing before."""

ITERATIONS, MATRICES = 20, 10
"""Most iterations and factorisations until the interior point method takes over."""

SMOOTH = 2.0
"""Bodies whose acceleration was below this, relative to gravity's, are taken to accelerate on."""

FAST, OLD = 0.03, 1e-3
"""While residuals shrink by this factor or more, the factorisation is kept; and one of the step before."""

SLOW = 1e-3
"""Turn of a body in a step [rad] below which the factorisation of the step before is tried first."""

ROUND, HALF = 0.5, 0.5
"""Where residuals are larger than this share of those two iterations before, modes go round in a circle, or the
directions of what slides do: only so much of a step is taken, which leads out of it; of two steps in a row only where
modes change."""

FAR = 1e-2
"""While residuals are larger than this, relative to the typical speed of contacts, another factorisation follows in any
case."""

QUICK = 1e-4
"""Unless the first factorisation of the step before brought residuals down by this factor at least, without a change of
modes: then that of this step is kept as well."""

NOTHING = 1e-5
"""Share of the central-path parameter that is left to open contacts, which push with nothing."""

HELD = 1e-6
"""Change of friction, relative to its bound, by which the central path may differ from what slides."""

INSIDE = 0.999999
"""Largest share of the bound, squared, of friction that sticks, as a point of the central path."""

STEEP = 0.99
"""Share of the bound, squared, from which on the creep of what sticks grows with friction alone. On the central path it
has a pole at 1: what comes from sliding, with all of its bound, would be let go by far and slide again, endlessly."""

HEAVY = 3.0
"""Most mass that sliding is weighed with against friction, relative to that of the bodies alone, which joints can only
add to. A contact that slides to and fro passes sticking in between as long as this is no more than the mass that it
moves: with c |y| > 2 mu gam friction would turn round at once, and again in the next iteration."""


@routine(allocates=False)
def begin_modes(bodies, contact):
    """Impulses of the step before, and the mass that each cone moves; whether the matrix of that step will do.

    It will where the same cones are closed, as far as is known.
    """
    now = contact.now[0]
    load, closed = now.load, 0
    for k in range(now.count):
        c = contact.cones[k]
        c.gam = c.beta[0] = c.beta[1] = 0.0
        if c.was >= 0:
            c.gam = contact.impulses[c.was, 0]
            if c.kind != ip.LIMIT:
                c.beta[0], c.beta[1] = contact.impulses[c.was, 1], contact.impulses[c.was, 2]
        weigh_cone(bodies, c, load)
        c.mode = OPEN
        if now.saved == 1 and c.was >= 0 and contact.saved[c.was].mode != OPEN:
            ip.copy_kept(contact.saved[c.was], c)
            closed += 1
    kept = now.saved == 1 and closed == now.closed
    now.saved = 0
    return kept


@routine(allocates=False)
def forget_modes(contact):
    """All cones are open."""
    for k in range(contact.now[0].count):
        contact.cones[k].mode = OPEN


@routine(allocates=False)
def is_slow(states, dt):
    """Whether no body turns by more than SLOW in the step."""
    fastest = 0.0
    for i in range(states.shape[0]):
        fastest = max(fastest, states[i].w[0] ** 2 + states[i].w[1] ** 2 + states[i].w[2] ** 2)
    return fastest * dt * dt < SLOW * SLOW


@routine(allocates=False)
def keep_matrix(contact, dt, loops):
    """Tell the next step that the factors are of the cones that are closed now.

    Args:
        loops: whether there are closed loops, whose own factorisations take their place; None without.
    """
    if loops is None:
        contact.now[0].kept, contact.now[0].closed = dt, 0
        for k in range(contact.now[0].count):
            if contact.cones[k].mode != OPEN:
                contact.now[0].closed += 1


@routine(allocates=False)
def accelerate(bodies, states, gravity, dt):
    """Guess velocities by the accelerations of the step before, where these are no impacts."""
    most = SMOOTH * gravity
    for i in range(bodies.shape[0]):
        s, turn, shift = states[i], 0.0, 0.0
        for c in range(3):
            turn, shift = max(turn, abs(s.slope[c])), max(shift, abs(s.slope[3 + c]))
        if turn * bodies[i].radius <= most and shift <= most:
            for c in range(3):
                s.w[c] = s.x[c] + dt * s.slope[c]
                s.vc[c] = s.x[3 + c] + dt * s.slope[3 + c]


@routine(allocates=False)
def look_at_modes(coordinates, states, cstates, contact, dt, fresh):
    """Slacks (`rs`) and sliding velocities (`ry`) at the end of the step; with `fresh`, gradients of the gaps as well.

    Those of the matrix are kept as long as it is: beside the stiffness of contacts they must be the same.
    """
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind != ip.DRY:
            phi, ea, eb = measure(coordinates, states, cstates, contact.contacts, c)
            if fresh:
                for i in range(6):
                    c.ea[i], c.eb[i] = ea[i], eb[i]
            c.gap = phi
            c.rs = (phi - c.rest) / dt
        if c.kind != ip.LIMIT:
            c.ry[0], c.ry[1] = sliding(c, states)


@routine(allocates=False)
def choose_modes(contact, goal, fresh):
    """Modes, and what each cone's impulses are to change by without motion (`w0`); with `fresh`, per motion (`W`).

    Gives back how many modes have changed, and the largest change that is left, as a velocity [m/s].

    Args:
        goal: central-path parameter [J]. Gaps of closed contacts stay above zero by it.
    """
    changed, worst = 0, 0.0
    grip = min(HEAVY / contact.now[0].load, 1.0)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        mode = mode_of(c, grip)
        if mode != c.mode:
            changed += 1
        c.mode = mode
        if fresh:
            stiffen(c, goal, grip)
        worst = max(worst, change_of(c, goal, grip))
    return changed, worst


@routine(allocates=False)
def mode_of(c, grip):
    """The mode that the present impulses, slack and sliding velocity tell.

    Args:
        grip: share of the mass behind the cone that its sliding is weighed with, see HEAVY.
    """
    if c.kind != ip.DRY and c.gam <= c.weight * c.rs:
        return OPEN
    if c.kind == ip.LIMIT:
        return STICK
    bound = c.bound if c.kind == ip.DRY else c.mu * max(c.gam, 0.0)
    heavy = grip * c.drag
    t0, t1 = c.beta[0] - heavy * c.ry[0], c.beta[1] - heavy * c.ry[1]
    return STICK if t0 * t0 + t1 * t1 <= bound * bound else SLIP


@inline
def creep_of(c, goal):
    """Sliding velocity against the friction of a cone that sticks, per impulse, at `goal` of the central path.

    And how many times as much of it comes with a little more friction in the same direction.
    """
    least = math.sqrt(goal * c.weight)
    bound = c.bound if c.kind == ip.DRY else c.mu * max(c.gam, least)
    part = (c.beta[0] ** 2 + c.beta[1] ** 2) / (bound * bound)
    rise = (1.0 + part) / (1.0 - part) if part < STEEP else 1.0
    return goal / (bound * bound * (1.0 - min(part, STEEP))), rise


@routine(allocates=False)
def change_of(c, goal, grip):
    """Fill `w0`; the largest change of an impulse or slack that is left, as a velocity [m/s]."""
    if c.mode == OPEN:
        c.w0[0], c.w0[1], c.w0[2] = -c.gam, -c.beta[0], -c.beta[1]
        return max(abs(c.gam) / c.weight, abs(c.beta[0]) / c.drag, abs(c.beta[1]) / c.drag)
    worst = slack = 0.0
    if c.kind != ip.DRY:
        slack = c.rs - goal / max(c.gam, math.sqrt(goal * c.weight))
        worst = abs(slack)
    c.w0[0], c.w0[1], c.w0[2] = -c.W[0] * slack, 0.0, 0.0
    if c.kind == ip.LIMIT:
        return worst
    if c.mode == STICK:
        creep, _ = creep_of(c, goal)
        y0, y1 = c.ry[0] + creep * c.beta[0], c.ry[1] + creep * c.beta[1]
        c.w0[1], c.w0[2] = -c.W[4] * y0 - c.W[5] * y1, -c.W[7] * y0 - c.W[8] * y1
        return max(worst, abs(y0), abs(y1))
    bound, d0, d1, share = sliding_of(c, grip)
    along, across = bound - c.beta[0] * d0 - c.beta[1] * d1, c.beta[0] * d1 - c.beta[1] * d0
    k = across / share
    # What the normal impulse adds goes along the direction that is in the matrix: it is stiff.
    c.w0[1], c.w0[2] = along * d0 - k * d1 - c.W[3] * slack, along * d1 + k * d0 - c.W[6] * slack
    return max(worst, abs(along) / c.drag, abs(across) / (grip * c.drag))


@inline
def sliding_of(c, grip):
    """Bound of the friction of a cone that slides, its direction (2), and what is left of a change across it."""
    bound = c.bound if c.kind == ip.DRY else c.mu * max(c.gam, 0.0)
    heavy = grip * c.drag
    t0, t1 = c.beta[0] - heavy * c.ry[0], c.beta[1] - heavy * c.ry[1]
    size = math.sqrt(t0 * t0 + t1 * t1)
    return bound, t0 / size, t1 / size, max(1.0 - bound / size, 1.0 / NEW)


@routine(allocates=False)
def stiffen(c, goal, grip):
    """Fill `W`: what the impulses change by, per motion."""
    for i in range(9):
        c.W[i] = 0.0
    if c.mode == OPEN:
        return
    rho = NEW * c.weight
    if c.kind != ip.DRY:
        if c.gam * c.gam > goal * c.weight:
            rho = 1.0 / (1.0 / (STIFF * c.weight) + goal / (c.gam * c.gam))
        c.W[0] = rho
    if c.kind == ip.LIMIT:
        return
    if c.mode == STICK:
        creep, rise = creep_of(c, goal)
        give = 1.0 / (STIFF * c.drag)
        across, along = 1.0 / (give + creep), 1.0 / (give + rise * creep)
        square = c.beta[0] ** 2 + c.beta[1] ** 2
        more = (along - across) / square if square > 0.0 else 0.0
        c.W[4], c.W[8] = across + more * c.beta[0] ** 2, across + more * c.beta[1] ** 2
        c.W[5] = c.W[7] = more * c.beta[0] * c.beta[1]
        return
    _, d0, d1, share = sliding_of(c, grip)
    more = 0.0 if c.kind == ip.DRY else c.mu * rho
    k = grip * c.drag * (1.0 - share) / share
    c.W[3], c.W[6] = more * d0, more * d1
    c.W[4], c.W[5], c.W[7], c.W[8] = k * d1 * d1, -k * d0 * d1, -k * d0 * d1, k * d0 * d0


@routine(allocates=False)
def direction_of_modes(model, data, contact, fresh, t):
    """Newton's step for bodies and joints into dx, and a fraction t of that of the cones taken.

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
                for m in range(18):
                    c.ma[6 + m], c.mb[6 + m] = c.da[m], c.db[m]
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
                c.ma[6 + m], c.mb[6 + m] = c.da[m], c.db[m]
        for m in range(6):
            if c.a >= 0:
                dx[first[c.a] + m] += w * c.ma[6 + m] + c.w0[1] * c.ma[12 + m] + c.w0[2] * c.ma[18 + m]
            if c.b >= 0:
                dx[first[c.b] + m] += w * c.mb[6 + m] + c.w0[1] * c.mb[12 + m] + c.w0[2] * c.mb[18 + m]
    solve(model.graph, data.factors, dx)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        u0 = u1 = u2 = 0.0
        if c.mode != OPEN:
            for m in range(6):
                if c.a >= 0:
                    d = dx[first[c.a] + m]
                    u0, u1, u2 = u0 + c.ma[m] * d, u1 + c.ma[12 + m] * d, u2 + c.ma[18 + m] * d
                if c.b >= 0:
                    d = dx[first[c.b] + m]
                    u0, u1, u2 = u0 + c.mb[m] * d, u1 + c.mb[12 + m] * d, u2 + c.mb[18 + m] * d
        c.gam += t * (c.w0[0] - c.W[0] * u0)
        c.beta[0] += t * (c.w0[1] - c.W[3] * u0 - c.W[4] * u1 - c.W[5] * u2)
        c.beta[1] += t * (c.w0[2] - c.W[6] * u0 - c.W[7] * u1 - c.W[8] * u2)
    return True


@routine(allocates=False)
def settle(contact, goal):
    """Make every cone a point of the central path at `goal` [J], as the interior point method leaves them."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        c.share = 1.0
        gam, b0, b1 = c.gam, c.beta[0], c.beta[1]
        if c.mode == OPEN:
            ip.begin(c, max(c.rs, math.sqrt(goal / c.weight)), c.ry[0], c.ry[1], NOTHING * goal)
        elif c.kind == ip.DRY:
            ip.begin(c, 1.0, c.ry[0], c.ry[1], goal)
        else:
            least = math.sqrt(goal * c.weight)
            slack = goal / max(gam, least)
            ip.begin(c, slack, c.ry[0], c.ry[1], slack * max(gam, NOTHING * least))
        if c.mode == OPEN or c.kind == ip.LIMIT:
            continue
        bound = ip.friction_bound(c)
        part = (b0 * b0 + b1 * b1) / (bound * bound)
        shrink = math.sqrt(INSIDE / part) if part > INSIDE else 1.0
        if c.mode == STICK:
            c.psi = goal / (bound * (1.0 - min(part, INSIDE)))
            c.beta[0], c.beta[1] = shrink * b0, shrink * b1
            c.y[0], c.y[1] = -c.psi * c.beta[0] / bound, -c.psi * c.beta[1] / bound
        elif (c.beta[0] - b0) ** 2 + (c.beta[1] - b1) ** 2 > HELD * HELD * bound * bound:
            # What slides so slowly that the central path would let go of it keeps its friction, too.
            c.beta[0], c.beta[1] = shrink * b0, shrink * b1


@routine(allocates=False)
def look(model, settings, data, contact, goal, dt, fresh):
    """Residuals, and with `fresh` the matrix without contacts; (those of joints, modes changed, largest of all) [m/s].

    See `choose_modes`.
    """
    joints = assemble(model, settings, data, dt, fresh) / dt
    look_at_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, fresh)
    changed, worst = choose_modes(contact, goal, fresh)
    push_cones(data.bodies, contact)
    return joints, changed, max(worst, joints, largest_residual(model.bodies, data.bodies))


@routine(allocates=False)
def active_step(model, settings, data, contact, dt):
    """Solve a step from the modes of the one before; gives back the iterations, or -1 - these where it does not."""
    bodies, states = model.bodies, data.bodies
    kept = begin_modes(bodies, contact)
    if data.clock[0] == LATER:
        accelerate(bodies, states, settings.gravity, dt)
    fresh = not kept or not is_slow(states, dt)
    if fresh:
        forget_modes(contact)
    return follow_modes(model, settings, data, contact, dt, fresh)


@routine(allocates=False)
def follow_modes(model, settings, data, contact, dt, fresh):
    """Newton's iterations from the present velocities and impulses; see `active_step`.

    Args:
        fresh: whether the factors are of another matrix.
    """
    bodies, states, now = model.bodies, data.bodies, contact.now[0]
    _, typical, limit, closed = scales(bodies, settings, contact, dt)
    least = max(settings.kappa, SHARPEST * now.energy)
    matrices, last, before, fast, t = 0, math.inf, math.inf, OLD, 1.0
    for iteration in range(ITERATIONS):
        goal = max(least, least_product(typical, contact, dt))
        joints, changed, worst = look(model, settings, data, contact, goal, dt, fresh)
        if iteration == 1:
            now.quick = 1 if changed == 0 and worst <= QUICK * last else 0
        if worst <= limit and joints <= closed:
            if not fresh and changed == 0:
                keep_matrix(contact, dt, settings.loops)
            settle(contact, goal)
            return iteration
        if not fresh and (changed > 0 or worst > fast * last):
            fresh = dt != 0.0  # no literal True: it would be compiled anew
            joints, _, worst = look(model, settings, data, contact, goal, dt, fresh)
        if not is_finite(worst) or (fresh and matrices == MATRICES):
            return -1 - iteration
        for i in range(bodies.shape[0]):
            for c in range(6):
                data.fixed[model.graph.first[i] + c] = -states[i].r[c]
        if fresh:
            matrices, fast = matrices + 1, FAST
            leave_out_rows(model, data, settings.loops)
        else:
            leave_out_residuals(data, settings.loops)
        t = HALF if worst > ROUND * before and (changed > 0 or t == 1.0) else 1.0
        if not direction_of_modes(model, data, contact, fresh, t):
            return -1 - iteration
        apply(model, data, t, dt)
        fresh = worst > FAR * typical and (iteration > 0 or now.quick == 0)
        last, before = worst, last
    return -1 - ITERATIONS
