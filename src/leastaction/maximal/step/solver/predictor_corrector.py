"""Newton directions with contacts: blocks of the cones, Mehrotra's predictor and corrector, and step lengths.

Contacts never become unknowns of the graph: their impulses are an affine function of the motion (`contact.laws.cones`),
so each adds one block to the bodies that it touches (Bruedigam 2023, Appendix D; Mehrotra 1992).
"""

import numpy as np

from leastaction._jit import routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.narrow_phase.gap import gap
from leastaction.linalg.graph.graph_factorization import solve
from leastaction.maximal.contact.slip import slip_velocities
from leastaction.maximal.step.block_parts import add_pair, end_row, push, work
from leastaction.maximal.step.bodies import end_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.maximal.step.velocity_equations import VELOCITIES
from leastaction.spatial import cross, neg3, scale3, sub3

PREDICTOR, CORRECTOR = np.int64(0), np.int64(1)
"""Without or with second-order terms of the cones' steps. NumPy integers: each literal compiles a specialisation."""

INSIDE = 0.99
"""Fraction of the distance to the boundary that a step may take."""

CENTRAL = 1e-3
"""Least complementarity product, relative to their mean."""

ERROR = 10.0
"""Least central-path parameter, in units of the error of the slacks' products. Without it `stack` takes 25 iterations a
step in place of 18 (corpus, 8 seeds)."""

NEAR = 2.0
"""Below this multiple of the final central-path parameter, Newton aims at it directly, without a predictor."""

BLOCKED = 0.1
"""Steps shorter than this fraction are replaced by a centring step. Without it `drop_littledog` takes 6.8 iterations a
step in place of 4.7 (corpus, 8 seeds)."""


@routine(allocates=False)
def measure(coordinates, states, cstates, contacts, c):
    """Gap of a cone at the end of the step [m or rad], and its gradients (6) by the velocities of both bodies."""
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
    return phi, ea, eb


@routine(allocates=False)
def slack_at(coordinates, states, cstates, contact, c, dt):
    """Slack of a cone without its compliance [m/s], and its gradients (6) by the velocities of both bodies.

    In the first phase it is (gap at the end - rest) / dt, in the second the rate of the gap.
    """
    if contact.now[0].phase == VELOCITIES:
        a, b = c.da, c.db
        rate = work(states, a, c.a) + work(states, b, c.b)
        return rate + c.offset, (a[0], a[1], a[2], a[3], a[4], a[5]), (b[0], b[1], b[2], b[3], b[4], b[5])
    c.gap, ea, eb = measure(coordinates, states, cstates, contact.contacts, c)
    return (c.gap - c.rest) / dt, ea, eb


@routine(allocates=False)
def evaluate_cones(coordinates, states, cstates, contact, dt):
    """Gaps at the end of the step, their gradients and the residuals of slacks; returns the largest residual [m/s]."""
    cones, count = contact.cones, contact.now[0].count
    worst = 0.0
    for k in range(count):
        c = cones[k]
        c.rs = c.ry[0] = c.ry[1] = 0.0
        if c.kind != ip.DRY:
            slack, ea, eb = slack_at(coordinates, states, cstates, contact, c, dt)
            for i in range(6):
                c.ea[i], c.eb[i] = ea[i], eb[i]
            c.rs = c.s - slack - ip.yielding(c)[0]
            worst = max(worst, abs(c.rs))
        if c.kind != ip.LIMIT:
            y0, y1 = slip_velocities(coordinates, states, cstates, c, dt, contact.now[0].phase == VELOCITIES, True)
            if c.kind == ip.LINEAR:
                c.y[0], c.y[1] = y0, y1
            else:
                c.ry[0] = c.y[0] - y0 - c.slip_compliance * c.beta[0]
                c.ry[1] = c.y[1] - y1 - c.slip_compliance * c.beta[1]
                worst = max(worst, abs(c.ry[0]), abs(c.ry[1]))
    return worst


@routine(allocates=False)
def push_cones(states, contact):
    """Subtract the present impulses of the cones from the bodies' residuals."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        for j in range(3):
            f = c.gam if j == 0 else c.beta[j - 1]
            if f == 0.0 or (c.kind >= ip.DRY and j == 0):
                continue
            push(states, c.a, c.da[6 * j : 6 * j + 6], f)
            push(states, c.b, c.db[6 * j : 6 * j + 6], f)


@routine(allocates=False)
def add_cones(model, data, contact, kappa):
    """Add the blocks D' W E of all cones to the Newton matrix."""
    for k in range(contact.now[0].count):
        ip.reduce(contact.cones[k], kappa, PREDICTOR)
        add_block(model, data, contact.cones[k])


@routine(allocates=False, vectors=True)
def add_block(model, data, c):
    """Add the block D' W E of a cone to the Newton matrix."""
    ra, rb = data.motion_a, data.motion_b
    for i in range(1 if c.kind >= ip.DRY else 0, 3):
        if c.W[3 * i] == 0.0 and c.W[3 * i + 1] == 0.0 and c.W[3 * i + 2] == 0.0:
            continue
        for m in range(6):
            ra[m] = c.W[3 * i] * c.ea[m] + c.W[3 * i + 1] * c.ya[m] + c.W[3 * i + 2] * c.ya[6 + m]
            rb[m] = c.W[3 * i] * c.eb[m] + c.W[3 * i + 1] * c.yb[m] + c.W[3 * i + 2] * c.yb[6 + m]
        da, db = c.da[6 * i : 6 * i + 6], c.db[6 * i : 6 * i + 6]
        add_pair(model.graph, data.factors.values, c, da, db, ra, rb, 1.0)


@routine(allocates=False)
def right_side(first, fixed, rhs, contact, kappa, second):
    """Right-hand side with the impulses of the cones towards kappa at zero motion."""
    for i in range(rhs.shape[0]):
        rhs[i] = fixed[i]
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        w0, w1, w2 = ip.impulse_step(c, 0.0, 0.0, 0.0, kappa, second)
        for m in range(6):
            if c.a >= 0:
                rhs[first[c.a] + m] += w0 * c.da[m] + w1 * c.da[6 + m] + w2 * c.da[12 + m]
            if c.b >= 0:
                rhs[first[c.b] + m] += w0 * c.db[m] + w1 * c.db[6 + m] + w2 * c.db[12 + m]


@routine(allocates=False)
def move_cones(first, dx, contact, kappa, second):
    """Compute the steps of all cones for the bodies' step dx; returns the largest admissible fraction."""
    longest = 1.0 / INSIDE
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        u0 = u1 = u2 = 0.0
        for m in range(6):
            if c.a >= 0:
                d = dx[first[c.a] + m]
                u0 += c.ea[m] * d
                u1 += c.ya[m] * d
                u2 += c.ya[6 + m] * d
            if c.b >= 0:
                d = dx[first[c.b] + m]
                u0 += c.eb[m] * d
                u1 += c.yb[m] * d
                u2 += c.yb[6 + m] * d
        ip.take(c, u0, u1, u2, kappa, second)
        longest = ip.longest_step(c, longest)
    return longest


@routine(allocates=False)
def mean_product(contact, t):
    """Mean kappa of the complementarity products, each relative to its share, after a fraction t of the steps [J]."""
    total, number = 0.0, 0.0
    for k in range(contact.now[0].count):
        a, b = ip.gauge(contact.cones[k], t)
        total += a
        number += b
    return total / number


@routine(allocates=False)
def central_fraction(contact, longest, goal):
    """Step fraction that keeps all products above CENTRAL times their mean, so that none blocks the next step."""
    t = min(1.0, INSIDE * longest)
    for _ in range(20):
        mean = mean_product(contact, t)
        least = 1e300
        for k in range(contact.now[0].count):
            least = min(least, ip.least_product(contact.cones[k], t))
        if least >= CENTRAL * min(mean, goal if mean <= 10.0 * goal else mean):
            return t
        t *= 0.8
    return t


@routine(allocates=False)
def slack_error(contact):
    """Largest product of a slack's residual and impulse [J], relative to the cone's share of kappa."""
    worst = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.kind != ip.DRY:
            worst = max(worst, abs(c.rs) * c.gam / c.share)
    return worst


@routine(allocates=False)
def advance_cones(contact, t):
    """Take a fraction t of the cones' steps."""
    for k in range(contact.now[0].count):
        ip.advance(contact.cones[k], t)


@routine(allocates=False)
def centre(model, data, contact, target, goal):
    """Newton step without predictor towards the point `target` of the central path; returns as `contact_direction`."""
    first, fixed, dx = model.graph.first, data.fixed, data.dx
    right_side(first, fixed, dx, contact, target, PREDICTOR)
    solve(model.graph, data.factors, dx)
    t = central_fraction(contact, move_cones(first, dx, contact, target, PREDICTOR), goal)
    advance_cones(contact, t)
    return t


@routine(allocates=False)
def contact_direction(model, data, contact, kappa, goal, floor):
    """Newton direction with contacts: predictor, then corrector towards a smaller kappa (Mehrotra 1992).

    Returns the fraction that keeps all cones inside, and takes that fraction of the cones' own steps.

    Args:
        floor: least kappa to aim at. Zero for rigid contact: near the goal its products keep their values (HOLD), since
            the load split of redundant contacts is still undetermined and equal products would change it.
    """
    if floor == 0.0 and kappa <= goal:
        return centre(model, data, contact, ip.HOLD, goal)
    if kappa <= NEAR * floor:
        # The corrector's second-order terms assume a predictor that aims at zero: with them Newton would converge to a
        # point beside the central path.
        return centre(model, data, contact, floor, goal)
    first, fixed, dx = model.graph.first, data.fixed, data.dx
    right_side(first, fixed, dx, contact, 0.0, PREDICTOR)
    solve(model.graph, data.factors, dx)
    t = min(1.0, INSIDE * move_cones(first, dx, contact, 0.0, PREDICTOR))
    ratio = mean_product(contact, t) / kappa
    # Slacks must stay well above their own error, which would decide the load split of redundant contacts.
    target = max(ratio * ratio * ratio * kappa, floor, min(kappa, ERROR * slack_error(contact)))
    right_side(first, fixed, dx, contact, target, CORRECTOR)
    solve(model.graph, data.factors, dx)
    t = central_fraction(contact, move_cones(first, dx, contact, target, CORRECTOR), goal)
    if t < BLOCKED:
        # Too near the boundary: a centring step without the corrector, whose terms are not valid there.
        return centre(model, data, contact, max(kappa, floor), goal)
    advance_cones(contact, t)
    return t
