"""Solving a step: Newton, and with contacts a primal-dual interior point method around it.

Bruedigam 2023, Appendix D, with a predictor and corrector after Mehrotra: each iteration factors once and solves twice.
Contacts never become unknowns of the graph: their impulses are an affine function of the motion (`contact.cones`), so
each adds one block to the bodies it touches. Without contacts this is plain Newton.
"""

import math

import numpy as np

from leastaction._finite import is_finite
from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.gap import gap
from leastaction.maximal.assembly import assemble
from leastaction.maximal.assembly_parts import add_outer, end_row, push, work
from leastaction.maximal.bodies import end_pose
from leastaction.maximal.graph_kernels import factorize, solve
from leastaction.maximal.newton import DEPENDENT, apply, newton_step
from leastaction.maximal.redundant import leave_out_rows, mark_redundant
from leastaction.maximal.rows import coordinate
from leastaction.spatial import cross, neg3, scale3, sub3

INSIDE = 0.99
"""Fraction of the way to the boundary that a step may go."""

CENTRAL = 1e-3
"""No complementarity product may fall below this share of their mean."""

ERROR = 10.0
"""The central-path parameter is at least so many times the error of the slacks' products."""

SHARPEST = 1e-8
"""Least central-path parameter, relative to the typical energy of the contacts, and least slack of the contact with the
largest impulse, relative to their typical speed: beyond it the Newton matrix loses the bodies' inertia beside the
contacts' stiffness."""

SETTLED = 3e-9
"""Residuals with contacts, relative to their typical speed, at which a step is solved: round-off leaves about 1e-9."""

ROUND_OFF = 30.0
"""Residuals, relative to the tolerance, that round-off may leave where stiff contacts meet long chains of joints."""

NEAR = 2.0
"""From this multiple of the final central-path parameter on, Newton heads straight for it."""

BLOCKED = 0.1
"""Steps shorter than this are replaced by one towards the centre."""

TIRED, SOFT, LOOSE = 20, 1e3, 1e-6
"""After TIRED iterations, a step is solved at SOFT times its central-path parameter, with residuals LOOSE times
the typical speed. Coulomb's law is not monotone: there may be no solution that is rigid to round-off."""

EXHAUSTED, BACK, SOFTEST = 36, 3.0, 1e-3
"""After EXHAUSTED iterations, or where it gets stuck, the central path is taken to have an end: Coulomb's law need not
have a solution that is rigid to round-off. Then a step is solved at the point of it that is BACK times as high as the
present one, unless that is softer than SOFTEST times the typical energy of the contacts."""

PATIENT = 16
"""A warm start that takes more iterations is replaced by a cold one."""

STUCK, PATIENCE, LIFT = 0.02, 3, 1e2
"""After PATIENCE steps in a row shorter than STUCK the path has an end; far from its goal, the cones start again from
LIFT times as high a kappa."""


@routine
def look_at_cones(cones, count, contacts, coordinates, cstates, states, dt):
    """Gaps at the end of the step, their gradients and the residuals of slacks; the largest residual [m/s]."""
    worst = 0.0
    for k in range(count):
        c = cones[k]
        c.rs = c.ry[0] = c.ry[1] = 0.0
        if c.kind != ip.DRY:
            Ra, xa = end_pose(states, c.a)
            Rb, xb = end_pose(states, c.b)
            if c.source >= 0:
                phi, n, x = gap(contacts[c.source], (Ra, xa), (Rb, xb))
                ea = end_row(states, c.a, neg3(cross(sub3(x, xa), n)), n, -1.0)
                eb = end_row(states, c.b, cross(sub3(x, xb), n), n, 1.0)
            else:
                j = -1 - c.source
                value, tb, ta, f = coordinate(coordinates[j], cstates[j].value, Ra, xa, Rb, xb)
                phi = c.side * (value - c.bound)
                f = scale3(c.side, f)
                ea = end_row(states, c.a, scale3(c.side, ta), f, -1.0)
                eb = end_row(states, c.b, scale3(c.side, tb), f, 1.0)
            c.gap = phi
            for i in range(6):
                c.ea[i], c.eb[i] = ea[i], eb[i]
            c.rs = c.s - (phi - c.rest) / dt
            worst = max(worst, abs(c.rs))
        if c.kind != ip.LIMIT:
            y0, y1 = sliding(c, states)
            if c.kind == ip.LINEAR:
                c.y[0], c.y[1] = y0, y1
            else:
                c.ry[0], c.ry[1] = c.y[0] - y0, c.y[1] - y1
                worst = max(worst, abs(c.ry[0]), abs(c.ry[1]))
    return worst


@inline
def sliding(c, states):
    """Sliding velocity of a cone along its two tangents."""
    y0 = work(states, c.da[6:12], c.a) + work(states, c.db[6:12], c.b)
    y1 = work(states, c.da[12:18], c.a) + work(states, c.db[12:18], c.b)
    return y0, y1


@routine
def push_cones(cones, count, states):
    """Take the present impulses of the cones from the bodies' residuals."""
    for k in range(count):
        c = cones[k]
        for j in range(3):
            f = c.gam if j == 0 else c.beta[j - 1]
            if c.kind == ip.DRY and j == 0:
                f = 0.0
            push(states, c.a, c.da[6 * j : 6 * j + 6], f)
            push(states, c.b, c.db[6 * j : 6 * j + 6], f)


@routine
def add_cones(cones, count, kappa, diagonal, offsets, values, ra, rb):
    """Blocks D' W E of all cones."""
    for k in range(count):
        c = cones[k]
        ip.reduce(c, kappa, np.int64(0))
        for i in range(3):
            if c.W[3 * i] == 0.0 and c.W[3 * i + 1] == 0.0 and c.W[3 * i + 2] == 0.0:
                continue
            for m in range(6):
                ra[m] = c.W[3 * i] * c.ea[m] + c.W[3 * i + 1] * c.da[6 + m] + c.W[3 * i + 2] * c.da[12 + m]
                rb[m] = c.W[3 * i] * c.eb[m] + c.W[3 * i + 1] * c.db[6 + m] + c.W[3 * i + 2] * c.db[12 + m]
            da, db = c.da[6 * i : 6 * i + 6], c.db[6 * i : 6 * i + 6]
            if c.a >= 0:
                add_outer(values, diagonal[c.a], da, ra, 1.0)
            if c.b >= 0:
                add_outer(values, diagonal[c.b], db, rb, 1.0)
            if c.edge >= 0:
                first, second = (0, 1) if c.a < c.b else (1, 0)
                add_outer(values, offsets[c.edge, first], da, rb, 1.0)
                add_outer(values, offsets[c.edge, second], db, ra, 1.0)


@routine
def right_side(cones, count, kappa, second, first, fixed, rhs):
    """Right-hand side with the cones' share towards kappa: the impulses that they give without motion."""
    for i in range(rhs.shape[0]):
        rhs[i] = fixed[i]
    for k in range(count):
        c = cones[k]
        w0, w1, w2, _, _, _, _ = ip.local_step(c, 0.0, 0.0, 0.0, kappa, second)
        for m in range(6):
            if c.a >= 0:
                rhs[first[c.a] + m] += w0 * c.da[m] + w1 * c.da[6 + m] + w2 * c.da[12 + m]
            if c.b >= 0:
                rhs[first[c.b] + m] += w0 * c.db[m] + w1 * c.db[6 + m] + w2 * c.db[12 + m]


@routine
def move_cones(cones, count, kappa, second, first, dx):
    """Steps of all cones for the bodies' step dx; how far they may be taken."""
    longest = 1.0 / INSIDE
    for k in range(count):
        c = cones[k]
        u0 = u1 = u2 = 0.0
        for m in range(6):
            if c.a >= 0:
                d = dx[first[c.a] + m]
                u0 += c.ea[m] * d
                u1 += c.da[6 + m] * d
                u2 += c.da[12 + m] * d
            if c.b >= 0:
                d = dx[first[c.b] + m]
                u0 += c.eb[m] * d
                u1 += c.db[6 + m] * d
                u2 += c.db[12 + m] * d
        ip.take(c, u0, u1, u2, kappa, second)
        longest = ip.longest_step(c, longest)
    return longest


@routine
def mean_product(cones, count, t):
    """Mean complementarity product after a fraction t of the steps."""
    total, number = 0.0, 0
    for k in range(count):
        a, b = ip.gauge(cones[k], t)
        total += a
        number += b
    return total / max(number, 1)


@routine
def central_fraction(cones, count, longest, goal):
    """The fraction of a step that keeps all products above a share of their mean, so that none blocks the next."""
    t = min(1.0, INSIDE * longest)
    for _ in range(20):
        mean = mean_product(cones, count, t)
        least = 1e300
        for k in range(count):
            least = min(least, ip.least_product(cones[k], t))
        if least >= CENTRAL * min(mean, goal if mean <= 10.0 * goal else mean):
            return t
        t *= 0.8
    return t


@routine
def slack_error(cones, count):
    """Largest residual of a slack times its impulse [J]."""
    worst = 0.0
    for k in range(count):
        c = cones[k]
        if c.kind != ip.DRY:
            worst = max(worst, abs(c.rs) * c.gam)
    return worst


@routine
def centre(cones, count, target, goal, graph, work_arrays):
    """Plain Newton direction towards the point `target` of the central path; otherwise as `contact_direction`."""
    affine = np.int64(0)
    values, pivots, fixed, dx = work_arrays[0], work_arrays[1], work_arrays[4], work_arrays[5]
    right_side(cones, count, target, affine, graph[5], fixed, dx)
    solve(graph[0], graph[1], values, pivots, dx, 1)
    t = central_fraction(cones, count, move_cones(cones, count, target, affine, graph[5], dx), goal)
    for k in range(count):
        ip.advance(cones[k], t)
    return t


@routine
def contact_direction(contact, count, kappa, goal, floor, graph, work_arrays):
    """Newton direction with contacts: predictor, then corrector towards a smaller kappa (Mehrotra 1992).

    Gives back the fraction of it that keeps all cones inside; takes that fraction of the cones' own steps.

    Args:
        floor: least kappa to head for. Rigid contact has none: near its goal, how redundant contacts share the load is
            still open, and to bring all products to one value would move it; they stay what they are.
    """
    cones = contact[0]
    affine, second = np.int64(0), np.int64(1)  # typed: literals would be compiled anew
    nodes, links, _, _, _, first = graph
    values, pivots, fixed, dx = work_arrays[0], work_arrays[1], work_arrays[4], work_arrays[5]
    if floor == 0.0 and kappa <= goal:
        return centre(cones, count, ip.HOLD, goal, graph, work_arrays)
    if kappa <= NEAR * floor:
        # The corrector's second-order terms belong to a predictor that heads for zero: with them Newton would come to
        # rest beside the central path, not on it.
        return centre(cones, count, floor, goal, graph, work_arrays)
    right_side(cones, count, 0.0, affine, first, fixed, dx)
    solve(nodes, links, values, pivots, dx, 1)
    t = min(1.0, INSIDE * move_cones(cones, count, 0.0, affine, first, dx))
    ratio = mean_product(cones, count, t) / kappa
    # Slacks must stay well above their own error: it decides how redundant contacts share the load.
    target = max(ratio * ratio * ratio * kappa, floor, min(kappa, ERROR * slack_error(cones, count)))
    right_side(cones, count, target, second, first, fixed, dx)
    solve(nodes, links, values, pivots, dx, 1)
    t = central_fraction(cones, count, move_cones(cones, count, target, second, first, dx), goal)
    if t < BLOCKED:
        # Too near the boundary: back towards the centre, without the corrector, which is then no good.
        return centre(cones, count, max(kappa, floor), goal, graph, work_arrays)
    for k in range(count):
        ip.advance(cones[k], t)
    return t


@routine
def heaviest(bodies, cones, count):
    """Largest mass of a body in contact [kg]."""
    m = 0.0
    for k in range(count):
        if cones[k].a >= 0:
            m = max(m, bodies[cones[k].a].mass)
        if cones[k].b >= 0:
            m = max(m, bodies[cones[k].b].mass)
    return m


@routine
def strongest(cones, count):
    """Largest impulse along the normal of a contact or of a limit [N s]."""
    gam = 0.0
    for k in range(count):
        if cones[k].kind != ip.DRY:
            gam = max(gam, cones[k].gam)
    return gam


@routine
def find_redundant(model, states, rowstates, cstates, graph, work_arrays, dt, halves):
    """Mark the joint equations of this step that depend on others, and set their multipliers to zero."""
    bodies, rows = model[0], model[1]
    values, pivots, scale, left_out, fixed, dx = work_arrays[:6]
    assemble(model, states, rowstates, cstates, graph, values, fixed, dt, halves, True)
    factorize(graph[0], graph[1], graph[2], values, pivots, scale, DEPENDENT)
    mark_redundant(graph[0], values, pivots, dx, left_out)
    for k in range(rows.shape[0]):
        if left_out[graph[5][bodies.shape[0] + rows[k].node] + rows[k].local] > 0.0:
            rowstates[k].lam = 0.0


@routine
def fastest(cones, count):
    """Largest sliding velocity of a cone at the start [m/s]."""
    y = 0.0
    for k in range(count):
        y = max(y, abs(cones[k].y[0]), abs(cones[k].y[1]))
    return y


@routine
def restart(cones, count, kappa, speed):
    """Put the cones back on the central path, at kappa and with slacks of at least `speed` [m/s]."""
    for k in range(count):
        c = cones[k]
        ip.begin(c, max(c.s, speed), c.y[0], c.y[1], kappa)


@routine
def is_complementary(cones, count, goal):
    """Whether all complementarity products have come to their goal: only then is the step a smooth function."""
    worst = 0.0
    for k in range(count):
        worst = max(worst, ip.worst_product(cones[k], goal))
    return worst <= 1e-6 * goal


@routine
def largest_residual(bodies, states):
    """Largest residual of a body, as the velocity [m/s] that it would change."""
    worst = 0.0
    for i in range(bodies.shape[0]):
        m, radius, r = bodies[i].mass, bodies[i].radius, states[i].r
        if m > 0.0:
            for c in range(3):
                worst = max(worst, abs(r[c]) / (m * radius), abs(r[3 + c]) / m)
    return worst


@routine
def solve_step(model, states, rowstates, cstates, graph, work_arrays, contact, count, dt, halves, settings, history):
    """Velocities, joint impulses and contact impulses of a step, from the guess that `states` and the cones hold.

    Gives back the number of iterations, or -1 - that number when it did not converge.

    Args:
        contact: arrays of `detection`, or None without any contact: then all about it is left out at compile time.
        count: number of cones.
        settings: (tolerance of the last update [m/s], most iterations, final kappa [J]).
        history: out: size of each update [m/s].
    """
    if contact is None or count == 0:
        return newton_step(model, states, rowstates, cstates, graph, work_arrays, dt, halves, settings, history)
    return interior_step(
        model, states, rowstates, cstates, graph, work_arrays, contact, count, dt, halves, settings, history
    )


@routine
def interior_step(model, states, rowstates, cstates, graph, work_arrays, contact, count, dt, halves, settings, history):
    """`solve_step` with at least one cone."""
    bodies, rows, coordinates, sizes = model[0], model[1], model[2], model[4]
    nodes, links, targets, diagonal, offsets, first = graph
    values, pivots, scale, left_out, fixed, dx, ra, rb = work_arrays
    tolerance, most, goal = settings
    loops = contact[7][5] > 0.0
    if loops:
        find_redundant(model, states, rowstates, cstates, graph, work_arrays, dt, halves)
    smooth = goal > SHARPEST * contact[7][3]
    least = goal = max(goal, SHARPEST * contact[7][3])
    rigid = not smooth
    floor = goal if smooth else 0.0
    typical = math.sqrt(contact[7][3] / (contact[7][7] * heaviest(bodies, contact[0], count)))
    limit = max(tolerance, SETTLED * (typical + fastest(contact[0], count)))
    stuck, start, size = 0, contact[7][3], math.inf
    for iteration in range(most):
        joints = assemble(model, states, rowstates, cstates, graph, values, fixed, dt, halves, True) / dt
        worst = look_at_cones(contact[0], count, contact[1], coordinates, cstates, states, dt)
        kappa = mean_product(contact[0], count, 0.0)
        push_cones(contact[0], count, states)
        if not smooth:
            goal = max(least, SHARPEST * typical * strongest(contact[0], count))
        tired = iteration >= TIRED and not smooth
        if stuck == PATIENCE or (iteration == EXHAUSTED and not smooth):
            stuck = 0
            back = BACK * max(kappa, floor)
            if rigid and back <= SOFTEST * contact[7][3]:
                smooth, goal, floor = True, back, back
            elif iteration != EXHAUSTED:
                start *= LIFT
                restart(contact[0], count, start, typical)
                continue
        if kappa <= (1.01 if smooth else (SOFT if tired else 10.0)) * goal:
            worst = max(worst, largest_residual(bodies, states))
            # Updates far below the tolerance change nothing any more: what is left of the residual is round-off.
            if size <= 0.01 * tolerance:
                limit = max(limit, ROUND_OFF * tolerance)
            allowed = max(limit, LOOSE * typical) if tired else limit
            if worst <= allowed and joints <= limit and (not smooth or is_complementary(contact[0], count, goal)):
                return iteration
        for i in range(bodies.shape[0]):
            for c in range(6):
                fixed[first[i] + c] = -states[i].r[c]
        add_cones(contact[0], count, 0.0, diagonal, offsets, values, ra, rb)
        if loops:
            leave_out_rows(rows, sizes, graph, values, fixed, left_out, bodies.shape[0])
        singular, _ = factorize(nodes, links, targets, values, pivots, scale, 0.0)
        if singular >= 0:
            history[iteration] = math.nan
            return -1 - iteration
        t = contact_direction(contact, count, kappa, goal, floor, graph, work_arrays)
        size = apply(bodies, states, rowstates, rows, first, dx, t, dt)
        history[iteration] = size
        if not is_finite(size):
            return -1 - iteration
        stuck = stuck + 1 if t < STUCK else 0
        if contact[7][10] > 0.0 and iteration == PATIENT:
            contact[7][10] = 0.0
            restart(contact[0], count, start, typical)
    return -1 - most
