"""First guesses for the control points X of a step, all from the velocity M^-1 p (`start_velocity`).

They depend on the state (q, p) alone, never on earlier steps, so that a run can be restarted from any of its states and
gives the same numbers bit for bit.
"""

from leastaction._jit import inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.applied_forces import forced_accelerations, start_accelerations
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import FREE, positions
from leastaction.spatial import add3, cross, quat_rotate, se3_exp

FAR = 0.5
"""Changes of acceleration that would move the end of a step by more than this [rad or m] are no help to a guess."""

LONG = 48
"""Degrees of freedom above which a second look at the middle of a step saves more than it costs, one forward dynamics:
it makes guesses thirty times as good, which saves an iteration in long chains."""


@inline
def quaternion_at(q, i):
    """Four entries of q from i on."""
    return (q[i], q[i + 1], q[i + 2], q[i + 3])


@routine
def start_velocity(native, guess, q, p):
    """guess.v = M^-1 p, the velocity at the start of the step; leaves what `start_acceleration` needs in the guess."""
    positions(native.nodes, guess.links, guess.screws, q)
    recursions.articulate(native.nodes, native.dofs, guess.links, guess.screws, None, None)
    recursions.respond(native.nodes, guess.links, guess.screws, p, guess.v)


@routine
def start_acceleration(native, guess, q, u):
    """guess.a: acceleration at the start with the controls u, after `start_velocity` at the same q."""
    start_accelerations(native, guess, q, guess.v, u, guess.a)


@routine
def kinetic_energy(native, guess, q, p):
    """Kinetic energy [J] of a state (q, p); leaves its velocity in guess.v."""
    start_velocity(native, guess, q, p)
    energy = 0.0
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * guess.v[k]
    return energy


@routine
def acceleration(native, guess, q, v, u, a):
    """a: accelerations at (q, v) with all forces and the controls u."""
    forced_accelerations(native, guess, q, v, u, a)


@routine
def predict_acceleration(native, guess, q, u, dt):
    """guess.middle: accelerations at dt/2 of the motion from q with the acceleration guess.a; u: controls there.

    With more than LONG degrees of freedom found twice, first where the acceleration of the start leads to, then where
    that and the first ones do. False where they are so far from those of the start that they are no help; they are then
    the same.
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
            if not abs(middle[k] - a[k]) <= size:  # a NaN must win
                size = abs(middle[k] - a[k])
        if not 2.0 * dt * dt * size <= FAR:
            for k in range(x.shape[0]):
                middle[k] = a[k]
            return False
    return True


@inline
def displace(nodes, guess, c, dt, ahead):
    """guess.x: displacements at the share c of a step; with `ahead` its acceleration is linear through guess.middle.

    At the end of the step these are right to one order more than if it were linear to what it is there.
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

    Above order 2 the acceleration changes, see `displace`.
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
    """Control points of a motion from q with an acceleration of second degree in time, after `start_velocity` there."""
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
    """Control point ga from the exponential coordinates x of the native joints."""
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
    """Accelerations at dt/2 and dt, each along the motion that those before it give; those at the start are there."""
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
    """Add what the exponential coordinates of ball and free joints have to third order: h^3 / 12 [v, a]."""
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
