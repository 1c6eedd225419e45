"""Complementarity conditions of contact, friction and joint limits in a step, relaxed along the central path.

Each cone has a normal impulse gam with its slack s (a velocity: gap at the end of the step over dt), and a friction
impulse beta with the sliding velocity y:

    LIMIT   gam s = kappa                                                        (Bruedigam 2023, Eq. 24)
    EXACT   gam s = kappa, (mu gam, beta) o (psi, y) = (kappa, 0)                second-order cone, beyond the paper
    LINEAR  gam s = kappa, sigma psi = kappa, beta_i eta_i = kappa               Eq. 27, n_f directions
    DRY     (bound, beta) o (psi, y) = (kappa, 0)                                dry friction in a joint
    TURN    (mu gam, beta) o (psi, y) = (kappa, 0)                               friction against spinning or rolling

A TURN has copies of gam and s of the contact that it belongs to; both are initialised and updated alike, so they stay
equal. Only its friction acts: beta is a torque impulse and y an angular velocity.

Here sigma = mu gam - sum beta_i, eta_i = b_i . y + psi, and o is the Jordan product. At kappa = 0 these are Signorini's
and Coulomb's laws with maximum dissipation; kappa > 0 makes the step a smooth function of its state.

Compliance adds to the slacks: s = (gap at the end of the step) / dt + compliance gam / (1 + compliance gam / deepest),
and likewise slip_compliance beta to y. It makes redundant contact impulses unique (see `contact.laws.compliance`).

Each cone replaces kappa by share times kappa, so that the products of light bodies start smaller than those of heavy
ones. At the end all shares are 1 (`interior`).

`local_step` solves the equations linearised about the present values. It is affine in u = (change of s, change of y)
due to the motion of the bodies, so contacts enter the Newton matrix only through a 3 x 3 matrix.
"""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.laws.linearized_cone import begin_linear, direction, linear_step, rise

LIMIT, EXACT, LINEAR, DRY, TURN = range(5)
"""Kinds of cones. From DRY on they have friction only: the gam of a TURN acts through its contact, not through it."""

CONES = 3
"""Largest number of cones of one contact: sliding, torsional, rolling friction."""

SPIN, ROLL = 1, 2
"""Which friction a TURN is, stored in `directions`: torsional or rolling."""

HOLD = -1.0
"""Value of kappa that keeps every complementarity product at its present value, so that only residuals are reduced."""

DIRECTIONS = 32
"""Largest number of directions of a linearised friction cone."""

CONE = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # bodies, -1 for the world
        ("b", "i8"),
        ("edge", "i8"),  # edge of the graph between them
        ("source", "i8"),  # index of the contact, or -1 - index of the coordinate
        ("side", "f8"),  # 1: lower limit, -1: upper; dry friction: share of the step; contacts: see `contact_setup`
        ("key", "i8"),  # identifies the cone from step to step
        ("previous", "i8"),  # index of the same cone in the step before, -1 for a new one
        ("mode", "i8"),  # see `maximal.step.solver.semismooth_newton`
        ("directions", "i8"),  # of a linearised cone; SPIN or ROLL of a TURN
        ("mu", "f8"),
        ("weight", "f8"),  # effective mass along the normal or coordinate, with that attached by joints [kg or kg m^2]
        ("drag", "f8"),  # effective mass of its two bodies alone along its friction; of a TURN their inertia
        ("bound", "f8"),  # of dry friction [N s]
        ("target_share", "f8"),  # share of kappa by the scale of the cone's own energy
        ("share", "f8"),  # share of kappa at present
        ("rest", "f8"),  # lower bound of the gap at the end of the step [m], negative if it starts in penetration
        ("gravity_drop", "f8"),  # g dt^2 [m]: limits how fast a penetration is resolved
        ("slight", "f8"),  # penetration that counts as none [m], see `penetration_recovery.slight_overlap`
        ("gap", "f8"),  # at the start of the step [m]; at its end once the step is solved
        ("da", "f8", 18),  # wrenches of unit impulses along n, t1, t2 at the start, on a and b
        ("db", "f8", 18),
        ("ea", "f8", 6),  # gradient of the gap at the end by the velocities of a and b
        ("eb", "f8", 6),
        ("ya", "f8", 12),  # gradients of the sliding velocities y by the velocities of a and b
        ("yb", "f8", 12),
        ("ra", "f8", 3),  # arms of the points that go with a and b where they touch, see `gap.material_points` [m]
        ("rb", "f8", 3),
        ("point", "f8", 3),  # contact point at the start [m]
        ("normal", "f8", 3),
        ("drift", "f8", 2),  # sliding velocity along t1, t2 due to moving surfaces [m/s]
        ("compliance", "f8"),  # slack per unit of normal impulse [1/kg]: see `contact.laws.compliance` ...
        ("deepest", "f8"),  # ... and the upper bound of that slack [m/s]
        ("slip_compliance", "f8"),  # slip velocity per unit of friction impulse [1/kg]; of a TURN per torque impulse
        ("offset", "f8"),  # term added to the gap rate in the second phase of a step [m/s]
        ("gam", "f8"),
        ("s", "f8"),
        ("psi", "f8"),
        ("sigma", "f8"),
        ("beta", "f8", 2),  # friction impulse along t1, t2
        ("y", "f8", 2),
        ("dgam", "f8"),  # Newton steps of these unknowns
        ("ds", "f8"),
        ("dpsi", "f8"),
        ("dsigma", "f8"),
        ("dbeta", "f8", 2),
        ("dy", "f8", 2),
        ("rs", "f8"),  # residuals of s and y
        ("ry", "f8", 2),
        ("W", "f8", 9),
        ("w0", "f8", 3),
        ("step", "f8", 3),  # steps of the three impulses in the active-set method
        # ea, ya and da, eb, yb and db of a matrix that is reused, see `maximal.step.solver.semismooth_newton`
        ("ma", "f8", 36),
        ("mb", "f8", 36),
        # of the linearised cone only, last so that the exact cone does not load them into the cache
        ("part", "f8", DIRECTIONS),  # beta_i
        ("eta", "f8", DIRECTIONS),
        ("dpart", "f8", DIRECTIONS),
        ("deta", "f8", DIRECTIONS),
    ],
    align=True,
)
"""One contact, joint limit or joint with dry friction."""

KEPT = np.dtype([("mode", "i8"), ("W", "f8", 9), ("ma", "f8", 36), ("mb", "f8", 36)], align=True)
"""A cone's contribution to a factorised matrix that is reused in the next step."""


@routine(allocates=False)
def copy_block(source, target):
    """Copy a cone's contribution to a matrix into a `KEPT` record, or back."""
    target.mode = source.mode
    for i in range(9):
        target.W[i] = source.W[i]
    for i in range(36):
        target.ma[i], target.mb[i] = source.ma[i], source.mb[i]


@inline
def yielding(c):
    """Return the slack by the compliance of a cone [m/s], and its derivative by the normal impulse [1/kg]."""
    push = c.compliance * max(c.gam, 0.0)
    if push == 0.0:
        return c.compliance * c.gam, c.compliance
    share = c.deepest / (c.deepest + push)
    return share * push, share * share * c.compliance


@inline
def impulses_of_motion(c):
    """Set the impulses of a cone from its slack `rs` and sliding velocity `ry` by its compliance; 0 if it is rigid."""
    if c.kind != DRY:
        give = c.compliance * (1.0 + min(c.rs, 0.0) / c.deepest)
        c.gam = -min(c.rs, 0.0) / give if give > 0.0 else 0.0
    if c.kind != LIMIT and c.slip_compliance > 0.0:
        bound, size = friction_bound(c), math.sqrt(c.ry[0] ** 2 + c.ry[1] ** 2)
        share = -min(1.0 / c.slip_compliance, bound / size) if size > 0.0 else 0.0
        c.beta[0], c.beta[1] = share * c.ry[0], share * c.ry[1]


@inline
def friction_bound(c):
    """Return the radius of the friction disc at the present normal impulse."""
    return c.bound if c.kind == DRY else c.mu * c.gam


@routine(allocates=False)
def local_step(c, u0, u1, u2, kappa, second):
    """Newton steps of all unknowns of a cone towards kappa, for changes u of slack and sliding velocity.

    Returns the steps of (normal impulse, friction impulses (2), s, psi, y (2)). `second` = 1 adds Mehrotra's corrector:
    the products of the steps stored in the cone, which must not be overwritten meanwhile. Callers therefore use
    `second` = 1 only through `reduce` and `take`, which keep the two apart.
    """
    kappa *= c.share
    q0 = q1 = q2 = q3 = 0.0
    give, creep = yielding(c)[1], c.slip_compliance
    if second == 1:
        q0 = c.dgam * c.ds
        bound_step = 0.0 if c.kind == DRY else c.mu * c.dgam
        q1 = bound_step * c.dpsi + c.dbeta[0] * c.dy[0] + c.dbeta[1] * c.dy[1]
        q2 = bound_step * c.dy[0] + c.dpsi * c.dbeta[0]
        q3 = bound_step * c.dy[1] + c.dpsi * c.dbeta[1]
    ds = u0 - c.rs
    dgam = 0.0
    if c.kind != DRY:
        dgam = (rise(c.gam * c.s, kappa) - q0 - c.gam * ds) / (c.s + give * c.gam)
        ds += give * dgam
    if c.kind == LIMIT:
        return dgam, 0.0, 0.0, ds, 0.0, 0.0, 0.0
    if c.kind == LINEAR:
        return linear_step(c, dgam, ds, u1, u2, kappa, second)
    dy0, dy1 = u1 - c.ry[0], u2 - c.ry[1]
    bound = friction_bound(c)
    dbound = c.mu * dgam
    b0, b1, y0, y1, psi = c.beta[0], c.beta[1], c.y[0], c.y[1], c.psi
    r = rise(bound * psi + b0 * y0 + b1 * y1, kappa) - q1
    e0 = -(bound * y0 + psi * b0) - q2 - bound * dy0 - y0 * dbound
    e1 = -(bound * y1 + psi * b1) - q3 - bound * dy1 - y1 * dbound
    # dy includes creep dbeta as well: psi dbeta = e - beta dpsi - bound creep dbeta.
    stiff, a0, a1 = psi + bound * creep, y0 + creep * b0, y1 + creep * b1
    slope = bound - (b0 * a0 + b1 * a1) / stiff
    dpsi = (r - psi * dbound - b0 * dy0 - b1 * dy1 - (a0 * e0 + a1 * e1) / stiff) / slope
    f0, f1 = (e0 - b0 * dpsi) / stiff, (e1 - b1 * dpsi) / stiff
    return dgam, f0, f1, ds, dpsi, dy0 + creep * f0, dy1 + creep * f1


@routine(allocates=False)
def impulse_step(c, u0, u1, u2, kappa, second):
    """Steps of the impulses that act on the bodies: those of `local_step`, with 0 for the normal impulse of a TURN."""
    dgam, f0, f1, _, _, _, _ = local_step(c, u0, u1, u2, kappa, second)
    return dgam if c.kind < DRY else 0.0, f0, f1


@routine(allocates=False)
def friction_slope(c):
    """Derivative of the friction impulse (2) by its bound, at fixed motion and normal impulse."""
    if c.kind == LIMIT:
        return 0.0, 0.0
    if c.kind != LINEAR:
        b0, b1, y0, y1, psi, creep = c.beta[0], c.beta[1], c.y[0], c.y[1], c.psi, c.slip_compliance
        stiff, a0, a1 = psi + friction_bound(c) * creep, y0 + creep * b0, y1 + creep * b1
        slope = friction_bound(c) - (b0 * a0 + b1 * a1) / stiff
        dpsi = ((a0 * y0 + a1 * y1) / stiff - psi) / slope
        return -(y0 + b0 * dpsi) / stiff, -(y1 + b1 * dpsi) / stiff
    weight = 0.0
    for i in range(c.directions):
        weight += c.part[i] / c.eta[i]
    dpsi = -c.psi / (c.sigma + c.psi * weight)
    f0, f1 = 0.0, 0.0
    for i in range(c.directions):
        b0, b1 = direction(i, c.directions)
        f0 -= c.part[i] / c.eta[i] * dpsi * b0
        f1 -= c.part[i] / c.eta[i] * dpsi * b1
    return f0, f1


@routine(allocates=False)
def reduce(c, kappa, second):
    """Compute the affine map from motion to impulses, steps of the impulses = w0 - W u."""
    z0, z1, z2 = impulse_step(c, 0.0, 0.0, 0.0, kappa, second)
    c.w0[0], c.w0[1], c.w0[2] = z0, z1, z2
    for j in range(3):
        a0, a1, a2 = impulse_step(
            c, 1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0, kappa, second
        )
        c.W[j], c.W[3 + j], c.W[6 + j] = z0 - a0, z1 - a1, z2 - a2


@routine(allocates=False)
def take(c, u0, u1, u2, kappa, second):
    """Store the Newton steps of the cone's unknowns for the motion u."""
    dgam, f0, f1, ds, dpsi, dy0, dy1 = local_step(c, u0, u1, u2, kappa, second)
    if c.kind == LINEAR:
        load, change = 0.0, 0.0
        n, own = c.directions, c.share * kappa
        for i in range(n):
            b0, b1 = direction(i, n)
            q = c.dpart[i] * c.deta[i] if second == 1 else 0.0
            deta = b0 * u1 + b1 * u2 + dpsi - (c.eta[i] - (b0 * c.y[0] + b1 * c.y[1] + c.psi))
            c.dpart[i] = (rise(c.part[i] * c.eta[i], own) - q - c.part[i] * deta) / c.eta[i]
            c.deta[i] = deta
            load += c.part[i]
            change += c.dpart[i]
        c.dsigma = c.mu * dgam - change - (c.sigma - (c.mu * c.gam - load))
    c.dgam, c.ds, c.dpsi = dgam, ds, dpsi
    c.dbeta[0], c.dbeta[1] = f0, f1
    c.dy[0], c.dy[1] = dy0, dy1


@inline
def to_boundary(x, dx, longest):
    """Step length along dx at which a positive x reaches 0, at most `longest`."""
    return min(longest, -x / dx) if dx < 0.0 else longest


@inline
def to_cone(x0, x1, x2, d0, d1, d2, longest):
    """Step length along d at which a point in the second-order cone x0 >= |(x1, x2)| leaves it, at most `longest`."""
    a = d0 * d0 - d1 * d1 - d2 * d2
    b = x0 * d0 - x1 * d1 - x2 * d2
    c = max(x0 * x0 - x1 * x1 - x2 * x2, 0.0)
    longest = to_boundary(x0, d0, longest)
    # First positive root of a t^2 + 2 b t + c, c > 0, in the form without cancellation.
    D = b * b - a * c
    if D >= 0.0:
        root = math.sqrt(D)
        if b < 0.0:
            longest = min(longest, c / (root - b))
        elif a < 0.0:
            longest = min(longest, (b + root) / -a)
    return longest


@routine(allocates=False)
def longest_step(c, longest):
    """Step length at which the first of the cone's unknowns reaches the boundary of its cone, at most `longest`."""
    if c.kind != DRY:
        longest = to_boundary(c.gam, c.dgam, to_boundary(c.s, c.ds, longest))
    if c.kind == EXACT or c.kind >= DRY:
        dbound = 0.0 if c.kind == DRY else c.mu * c.dgam
        longest = to_cone(friction_bound(c), c.beta[0], c.beta[1], dbound, c.dbeta[0], c.dbeta[1], longest)
        longest = to_cone(c.psi, c.y[0], c.y[1], c.dpsi, c.dy[0], c.dy[1], longest)
    elif c.kind == LINEAR:
        longest = to_boundary(c.psi, c.dpsi, to_boundary(c.sigma, c.dsigma, longest))
        for i in range(c.directions):
            longest = to_boundary(c.part[i], c.dpart[i], to_boundary(c.eta[i], c.deta[i], longest))
    return longest


@routine(allocates=False)
def gauge(c, t):
    """Return the sums of complementarity products and of their shares of kappa, after a step of length t."""
    total, count = 0.0, 0
    if c.kind < DRY:
        total += (c.gam + t * c.dgam) * (c.s + t * c.ds)
        count += 1
    if c.kind == EXACT or c.kind >= DRY:
        bound = friction_bound(c) + (0.0 if c.kind == DRY else t * c.mu * c.dgam)
        total += bound * (c.psi + t * c.dpsi)
        total += (c.beta[0] + t * c.dbeta[0]) * (c.y[0] + t * c.dy[0])
        total += (c.beta[1] + t * c.dbeta[1]) * (c.y[1] + t * c.dy[1])
        count += 1
    elif c.kind == LINEAR:
        total += (c.sigma + t * c.dsigma) * (c.psi + t * c.dpsi)
        for i in range(c.directions):
            total += (c.part[i] + t * c.dpart[i]) * (c.eta[i] + t * c.deta[i])
        count += 1 + c.directions
    return total, c.share * count


@routine(allocates=False)
def worst_product(c, kappa):
    """Largest deviation of a complementarity product from its share of kappa."""
    kappa *= c.share
    worst = 0.0 if c.kind >= DRY else abs(c.gam * c.s - kappa)
    if c.kind == EXACT or c.kind >= DRY:
        bound = friction_bound(c)
        worst = max(worst, abs(bound * c.psi + c.beta[0] * c.y[0] + c.beta[1] * c.y[1] - kappa))
        worst = max(worst, abs(bound * c.y[0] + c.psi * c.beta[0]), abs(bound * c.y[1] + c.psi * c.beta[1]))
    elif c.kind == LINEAR:
        worst = max(worst, abs(c.sigma * c.psi - kappa))
        for i in range(c.directions):
            worst = max(worst, abs(c.part[i] * c.eta[i] - kappa))
    return worst


@routine(allocates=False)
def advance(c, t):
    """Update the cone's unknowns by a step of length t."""
    c.gam += t * c.dgam
    c.s += t * c.ds
    if c.kind == LIMIT:
        return
    c.psi += t * c.dpsi
    if c.kind != LINEAR:
        for i in range(2):
            c.beta[i] += t * c.dbeta[i]
            c.y[i] += t * c.dy[i]
        return
    c.sigma += t * c.dsigma
    c.beta[0] = c.beta[1] = 0.0
    for i in range(c.directions):
        b0, b1 = direction(i, c.directions)
        c.part[i] += t * c.dpart[i]
        c.eta[i] += t * c.deta[i]
        c.beta[0] += c.part[i] * b0
        c.beta[1] += c.part[i] * b1


@routine(allocates=False)
def least_product(c, t):
    """Smallest complementarity product after a step of length t, divided by its share of kappa.

    For second-order cones x, z it is sqrt(det x det z), with det x = x0^2 - |(x1, x2)|^2.
    """
    least = 1e300
    if c.kind < DRY:
        least = (c.gam + t * c.dgam) * (c.s + t * c.ds)
    if c.kind == EXACT or c.kind >= DRY:
        bound = friction_bound(c) + (0.0 if c.kind == DRY else t * c.mu * c.dgam)
        b0, b1 = c.beta[0] + t * c.dbeta[0], c.beta[1] + t * c.dbeta[1]
        psi, y0, y1 = c.psi + t * c.dpsi, c.y[0] + t * c.dy[0], c.y[1] + t * c.dy[1]
        det = max(bound * bound - b0 * b0 - b1 * b1, 0.0) * max(psi * psi - y0 * y0 - y1 * y1, 0.0)
        least = min(least, math.sqrt(det))
    elif c.kind == LINEAR:
        least = min(least, (c.sigma + t * c.dsigma) * (c.psi + t * c.dpsi))
        for i in range(c.directions):
            least = min(least, (c.part[i] + t * c.dpart[i]) * (c.eta[i] + t * c.deta[i]))
    return least / c.share


@routine(allocates=False)
def begin(c, slack, y0, y1, kappa):
    """Initialise the cone on the central path for a slack and a sliding velocity: all products = share of kappa."""
    kappa *= c.share
    c.s, c.gam = slack, kappa / slack
    c.beta[0] = c.beta[1] = 0.0
    c.y[0], c.y[1] = y0, y1
    if c.kind == LIMIT:
        return
    bound = friction_bound(c)
    if c.kind == LINEAR:
        begin_linear(c, bound, kappa)
        return
    # bound psi^2 - kappa psi - bound |y|^2 = 0, beta = -bound y / psi.
    c.psi = (kappa + math.sqrt(kappa * kappa + 4.0 * bound * bound * (y0 * y0 + y1 * y1))) / (2.0 * bound)
    c.beta[0], c.beta[1] = -bound * y0 / c.psi, -bound * y1 / c.psi
