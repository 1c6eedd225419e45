"""First guesses for the control points X of a step, all from the velocity M^-1 p (`start_velocity`).

They depend on the state (q, p) alone, not on earlier steps, so that a run restarted from any of its states yields
identical numbers.
"""

from leastaction._jit import inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.applied_forces import forced_accelerations, start_accelerations
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import FREE, positions
from leastaction.spatial import add3, cross, quat_rotate, se3_exp

FAR = 0.5
"""Largest displacement [rad or m] at the end of a step by a change of acceleration that first guesses use."""

LONG = 48
"""Degrees of freedom above which a second midpoint acceleration saves more than its forward dynamics costs:
it makes guesses thirty times as accurate, which saves an iteration in long chains."""


@inline
def quaternion_at(q, i):
    """Quaternion q[i:i+4] as a tuple."""
    return (q[i], q[i + 1], q[i + 2], q[i + 3])


@routine
def start_velocity(native, guess, q, p):
    """Set guess.v = M^-1 p, the velocity at the start of the step, and the data for `start_acceleration`."""
    positions(native.nodes, guess.links, guess.screws, q)
    recursions.articulate(native.nodes, native.dofs, guess.links, guess.screws, None, None)
    recursions.respond(native.nodes, guess.links, guess.screws, p, guess.v)


@routine
def start_acceleration(native, guess, q, u):
    """Set guess.a, the acceleration at the start with the controls u, after `start_velocity` at the same q."""
    start_accelerations(native, guess, q, guess.v, u, guess.a)


@routine
def kinetic_energy(native, guess, q, p):
    """Kinetic energy [J] of a state (q, p); sets guess.v to its velocity."""
    start_velocity(native, guess, q, p)
    energy = 0.0
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * guess.v[k]
    return energy


@routine
def acceleration(native, guess, q, v, u, a):
    """Set a, the accelerations at (q, v) with all forces and the controls u."""
    forced_accelerations(native, guess, q, v, u, a)


@routine
def predict_acceleration(native, guess, q, u, dt):
    """Set guess.middle, accelerations at dt/2 of the motion from q with the acceleration guess.a and the controls u.

    With more than LONG degrees of freedom they are computed twice, first with the constant acceleration of the start,
    then with the linear one of the first result. Returns False where they differ from those of the start by more than
    `FAR` allows, and sets them equal to these.
    """
    v, a, x, y, z, middle = guess.v, guess.a, guess.x, guess.y, guess.z, guess.middle
    h = 0.5 * dt
    for k in range(x.shape[0]):
        middle[k] = a[k]
    for look in range(2 if x.shape[0] > LONG else 1):
        for k in range(x.shape[0]):
            change = middle[k] - a[k]
            x[k], y[k] = h * (v[k] + 0.5 * h * (a[k] + change / 3.0)), v[k] + h * (a[k] + 0.5 * change)
        if look > 0:
            add_third_order(native.nodes, v, a, h, x)
        retract(native.nodes, q, x, z)
        acceleration(native, guess, z, y, u, middle)
        size = 0.0
        for k in range(x.shape[0]):
            if not abs(middle[k] - a[k]) <= size:  # propagates NaN
                size = abs(middle[k] - a[k])
        if not 2.0 * dt * dt * size <= FAR:
            for k in range(x.shape[0]):
                middle[k] = a[k]
            return False
    return True


@inline
def displace(nodes, guess, c, dt, ahead):
    """Set guess.x to the displacements at the share c of a step; `ahead`: acceleration linear through guess.middle.

    At the end of the step these are one order more accurate than with an acceleration linear through that at the end.
    """
    v, a, x, middle = guess.v, guess.a, guess.x, guess.middle
    h = c * dt
    for k in range(x.shape[0]):
        x[k] = h * (v[k] + 0.5 * h * a[k])
        if ahead:
            x[k] += h * h * c / 3.0 * (middle[k] - a[k])
    if ahead:
        add_third_order(nodes, v, a, h, x)


@routine
def constant_acceleration(native, settings, guess, X, q, u):
    """Control points of a motion from q with the acceleration of the start, after `start_velocity` there.

    Above order 2 the acceleration is linear, see `displace`.
    """
    c, dt = settings.rule.c, settings.dt
    start_acceleration(native, guess, q, u)
    ahead = c.shape[0] > 2 and predict_acceleration(native, guess, q, u, dt)
    for ga in range(c.shape[0]):
        displace(native.nodes, guess, c[ga], dt, ahead)
        place(native.nodes, q, guess.x, X, ga)


@routine
def constant_velocity(native, settings, guess, X, q):
    """Control points of a motion from q with the velocity guess.v."""
    c, v, x = settings.rule.c, guess.v, guess.x
    for ga in range(c.shape[0]):
        for k in range(x.shape[0]):
            x[k] = c[ga] * settings.dt * v[k]
        place(native.nodes, q, x, X, ga)


@routine
def quadratic_acceleration(native, settings, guess, X, q, u):
    """Control points of a motion from q with an acceleration quadratic in time, after `start_velocity` there."""
    c, v, a, x, middle, end = settings.rule.c, guess.v, guess.a, guess.x, guess.middle, guess.end
    start_acceleration(native, guess, q, u)
    _accelerations_ahead(native, settings, guess, q, u)
    for ga in range(c.shape[0]):
        h = c[ga] * settings.dt
        for k in range(x.shape[0]):
            # Through the accelerations at 0, dt/2 and dt.
            c1 = (4.0 * middle[k] - 3.0 * a[k] - end[k]) * c[ga]
            c2 = (a[k] - 2.0 * middle[k] + end[k]) * c[ga] * c[ga]
            x[k] = h * v[k] + 0.5 * h * h * a[k] + h * h * (c1 + c2) / 6.0
        add_third_order(native.nodes, v, a, h, x)
        place(native.nodes, q, x, X, ga)


@inline
def place(nodes, q, x, X, ga):
    """Set control point ga from the exponential coordinates x of the native joints."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, j = node.iv, node.iq
        if node.kind == FREE:
            w = (x[n], x[n + 1], x[n + 2])
            _, d = se3_exp((w, (x[n + 3], x[n + 4], x[n + 5])))
            d = quat_rotate(quaternion_at(q, j + 3), d)
            for k in range(3):
                X[ga, n + k] = q[j + k] + d[k]
                X[ga, n + 3 + k] = w[k]
        else:
            for k in range(node.nv):
                X[ga, n + k] = x[n + k] + (q[j] if node.nv == 1 else 0.0)


@routine
def _accelerations_ahead(native, settings, guess, q, u):
    """Accelerations at dt/2 and dt, each along the motion given by the earlier ones; guess.a must be set."""
    v, a, x, y, z, middle, end = guess.v, guess.a, guess.x, guess.y, guess.z, guess.middle, guess.end
    dt = settings.dt
    h = 0.5 * dt
    for k in range(a.shape[0]):
        x[k] = h * v[k] + 0.5 * h * h * a[k]
        y[k] = v[k] + h * a[k]
    retract(native.nodes, q, x, z)
    acceleration(native, guess, z, y, u, middle)
    for k in range(a.shape[0]):
        x[k] = dt * v[k] + dt * dt * (a[k] + 2.0 * middle[k]) / 6.0
        y[k] = v[k] + dt * middle[k]
    retract(native.nodes, q, x, z)
    acceleration(native, guess, z, y, u, end)


@routine
def add_third_order(nodes, v, a, h, x):
    """Add the third-order term of the exponential coordinates of ball and free joints: h^3 / 12 [v, a]."""
    t = h * h * h / 12.0
    for i in range(nodes.shape[0]):
        n = nodes[i].iv
        if nodes[i].nv == 1:
            continue
        w, al = (v[n], v[n + 1], v[n + 2]), (a[n], a[n + 1], a[n + 2])
        turn = cross(w, al)
        for k in range(3):
            x[n + k] += t * turn[k]
        if nodes[i].kind == FREE:
            shift = add3(cross(w, (a[n + 3], a[n + 4], a[n + 5])), cross((v[n + 3], v[n + 4], v[n + 5]), al))
            for k in range(3):
                x[n + 3 + k] += t * shift[k]
