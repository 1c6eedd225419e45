"""First guesses for a step. They depend on the state (q, p) alone, never on earlier steps, so that a run can be
restarted from any of its states and gives the same numbers bit for bit.
"""

from leastaction._jit import inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.applied_forces import full_acceleration
from leastaction.forces.passive import clear
from leastaction.kinematics.manifold import chart_rate, retract
from leastaction.kinematics.sweeps import FREE, positions, velocities
from leastaction.spatial import add3, cross, quat_rotate, se3_exp

SUBSTEPS = 24
"""Small steps between two control points when the first guess needs care."""


@inline
def quaternion_at(q, i):
    """Four entries of q from i on."""
    return (q[i], q[i + 1], q[i + 2], q[i + 3])


@routine
def predict(forces, rule, classical, X, q, p, u, dt, way):
    """First guess of the control points from the velocity M^-1 p.

    way 0: constant acceleration; 1: an explicit integration in small steps; 2: constant velocity; 3: acceleration of
    second degree in time.
    `forces`: arrays of the mechanism with native free joints; `classical`: work space of its recursions.
    """
    links, screws, external, tau, v, a, zero3, zero, y, x, z, middle, end = classical
    nodes, dofs = forces[0], forces[1]
    c = rule[0]
    clear(external, tau)
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, zero)
    recursions.accelerations(nodes, dofs, zero3, links, screws, zero, p, external, v)
    for k in range(a.shape[0]):
        a[k] = 0.0
        x[k] = 0.0
    if way in (0, 3):
        full_acceleration(forces, links, screws, external, tau, q, v, u, a)
    if way == 3:
        _accelerations_ahead(forces, classical, q, u, dt)
    for ga in range(1, c.shape[0]):
        h = c[ga] * dt
        if way == 1:
            # Semi-implicit Euler in small steps, each of which starts where the last one ended.
            small = (c[ga] - c[ga - 1]) * dt / SUBSTEPS
            for _ in range(SUBSTEPS):
                retract(nodes, q, x, z)
                full_acceleration(forces, links, screws, external, tau, z, v, u, a)
                for k in range(a.shape[0]):
                    v[k] += small * a[k]
                chart_rate(nodes, x, v, y)
                for k in range(a.shape[0]):
                    x[k] += small * y[k]
        else:
            for k in range(a.shape[0]):
                x[k] = h * v[k] + 0.5 * h * h * a[k]
            if way == 3:
                for k in range(a.shape[0]):
                    # Through the accelerations at 0, dt/2 and dt.
                    c1 = (4.0 * middle[k] - 3.0 * a[k] - end[k]) * c[ga]
                    c2 = (a[k] - 2.0 * middle[k] + end[k]) * c[ga] * c[ga]
                    x[k] += h * h * (c1 + c2) / 6.0
                _bend(nodes, v, a, h, x)
        _spread(nodes, q, x, X, ga)
    for k in range(a.shape[0]):
        x[k] = 0.0
    _spread(nodes, q, x, X, 0)


@inline
def _spread(nodes, q, x, X, ga):
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
def _accelerations_ahead(forces, classical, q, u, dt):
    """Accelerations at dt/2 and dt, each along the motion that those before it give; those at the start are there."""
    links, screws, external, tau, v, a, _, _, y, x, z, middle, end = classical
    nodes = forces[0]
    h = 0.5 * dt
    for k in range(a.shape[0]):
        x[k] = h * v[k] + 0.5 * h * h * a[k]
        y[k] = v[k] + h * a[k]
    retract(nodes, q, x, z)
    full_acceleration(forces, links, screws, external, tau, z, y, u, middle)
    for k in range(a.shape[0]):
        x[k] = dt * v[k] + dt * dt * (a[k] + 2.0 * middle[k]) / 6.0
        y[k] = v[k] + dt * middle[k]
    retract(nodes, q, x, z)
    full_acceleration(forces, links, screws, external, tau, z, y, u, end)
    for k in range(a.shape[0]):
        x[k] = 0.0


@routine
def _bend(nodes, v, a, h, x):
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
