"""One step of a variational integrator: predictor and Newton iterations, shortened only when needed.

The predictor depends on the state (q, p) alone, never on earlier steps, so that a run can be restarted from any of its
states and gives the same numbers bit for bit.
"""

from leastaction._jit import inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.explicit import full_acceleration
from leastaction.dynamics.kinematics import FREE, positions, velocities
from leastaction.dynamics.manifold import chart_rate, retract
from leastaction.forces.passive import clear
from leastaction.minimal.residual import next_momentum, residual, start_point
from leastaction.spatial import (
    dot,
    load6,
    mattvec,
    matvec,
    quat_exp,
    quat_mul,
    quat_normalize,
    quat_rotate,
    quat_to_rotation,
    se3_exp,
)

SUBSTEPS = 24
"""Small steps between two control points when the first guess needs care."""

ROUND_OFF = 1e-10
"""Updates below this [rad or m] that no longer shrink are round-off of a long chain ..."""

SHARPEST = 1e-13
"""... unless the tolerance asked for less than this."""

ATTEMPTS = (
    (0, 0.5),
    (2, 0.3),
    (2, 1.0),
    (1, 0.5),
    (0, 1.0),
    (1, 0.2),
    (2, 0.1),
    (0, 0.2),
    (2, 3.0),
    (1, 1.5),
    (2, 0.6),
    (1, 0.1),
    (0, 3.0),
    (2, 0.05),
    (1, 0.8),
    (0, 0.1),
    (2, 1.7),
    (1, 3.0),
    (0, 0.05),
    (1, 0.05),
    (2, 0.45),
    (0, 0.7),
)
"""(way of `predict`, cap of the Newton update) tried in turn; all but the first are for steps that are too large."""

IMPLAUSIBLE = 0.5
"""Share of energy out of nowhere, see `balance`, from which on a solution is not taken while there may be a better."""


@inline
def _quaternion(q, i):
    return (q[i], q[i + 1], q[i + 2], q[i + 3])


@routine
def to_split(free, q, p, out):
    """Momenta of free joints, from (angular, linear) in the child's frame to (linear in the joint's frame, angular)."""
    for k in range(p.shape[0]):
        out[k] = p[k]
    for f in range(free.shape[0]):
        i, n = free[f, 0], free[f, 1]
        R = quat_to_rotation(_quaternion(q, i + 3))
        out[n], out[n + 1], out[n + 2] = matvec(R, (p[n + 3], p[n + 4], p[n + 5]))
        out[n + 3], out[n + 4], out[n + 5] = p[n], p[n + 1], p[n + 2]


@routine
def from_split(free, q, p, out):
    """The way back of `to_split`."""
    for k in range(p.shape[0]):
        out[k] = p[k]
    for f in range(free.shape[0]):
        i, n = free[f, 0], free[f, 1]
        R = quat_to_rotation(_quaternion(q, i + 3))
        out[n + 3], out[n + 4], out[n + 5] = mattvec(R, (p[n], p[n + 1], p[n + 2]))
        out[n], out[n + 1], out[n + 2] = p[n + 3], p[n + 4], p[n + 5]


@routine
def predict(forces, rule, classical, X, q, p, u, dt, way):
    """First guess of the control points from the velocity M^-1 p.

    way 0: constant acceleration; 1: an explicit integration in small steps; 2: constant velocity.
    `forces`: arrays of the mechanism with native free joints; `classical`: work space of its recursions.
    """
    links, screws, external, tau, v, a, zero3, zero, y, x, z = classical
    nodes, dofs = forces[0], forces[1]
    c = rule[0]
    clear(external, tau)
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, zero)
    recursions.accelerations(nodes, dofs, zero3, links, screws, zero, p, external, v)
    for k in range(a.shape[0]):
        a[k] = 0.0
        x[k] = 0.0
    if way == 0:
        full_acceleration(forces, links, screws, external, tau, q, v, u, a)
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
            d = quat_rotate(_quaternion(q, j + 3), d)
            for k in range(3):
                X[ga, n + k] = q[j + k] + d[k]
                X[ga, n + 3 + k] = w[k]
        else:
            for k in range(node.nv):
                X[ga, n + k] = x[n + k] + (q[j] if node.nv == 1 else 0.0)


@routine
def finish(nodes, q, X, q_next):
    """The configuration at the end of the step."""
    s = X.shape[0] - 1
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, j = node.iv, node.iq
        if node.nv == 1:
            q_next[j] = X[s, n]
        else:
            r = quat_mul(_quaternion(q, j), quat_exp((X[s, n], X[s, n + 1], X[s, n + 2])))
            q_next[j], q_next[j + 1], q_next[j + 2], q_next[j + 3] = quat_normalize(r)


@routine
def turns_too_far(nodes, X):
    """Whether a ball joint turns by pi or more within the step, where its chart ends."""
    for i in range(nodes.shape[0]):
        if nodes[i].nv == 3:
            n = nodes[i].iv
            for a in range(1, X.shape[0]):
                if X[a, n] ** 2 + X[a, n + 1] ** 2 + X[a, n + 2] ** 2 > 9.8:
                    return True
    return False


@routine(inline="always")
def newton(direction, model, rule, work, var, solver, p, u, dt, tolerance, limit, cap, dx, history):
    """Solve the DEL equations for the control points in X. Gives back (iterations, converged).

    Converged: the last Newton update is below `tolerance` [rad or m], or the one that would come next, estimated by how
    much the last one shrank the residual; or updates are at the level of round-off.
    Updates larger than `cap` [rad or m] are shortened to it; a search for a smaller residual instead gets stuck where
    the Jacobian is singular. `history`: residual norms.
    """
    X = work[5]
    for it in range(history.shape[0]):
        history[it] = 0.0
    norm = residual(model, rule, work, p, u, dt)
    history[0] = norm
    if norm == 0.0:
        return 0, not turns_too_far(model[0], X)
    for it in range(1, limit + 1):
        direction(model, rule, work, var, solver, dt, dx)
        size = largest(dx)
        if not size < 1e12:
            return it, False
        shorten = min(1.0, cap / size)
        for a in range(dx.shape[0]):
            for k in range(dx.shape[1]):
                X[a + 1, k] += shorten * dx[a, k]
        new = residual(model, rule, work, p, u, dt)
        history[it] = new
        done = size <= tolerance or size * new <= tolerance * norm
        # Long chains reach round-off first: updates that are tiny and shrink no more.
        floor = size <= ROUND_OFF and new > 0.25 * norm and tolerance >= SHARPEST
        if shorten == 1.0 and (done or floor):
            return it, not turns_too_far(model[0], X)
        norm = new
    return limit, False


@inline
def largest(dx):
    """Largest entry of an update; NaN if there is one."""
    size = 0.0
    for a in range(dx.shape[0]):
        for k in range(dx.shape[1]):
            # A NaN must win: it fails every comparison from here on.
            if not abs(dx[a, k]) <= size:
                size = abs(dx[a, k])
    return size


@routine
def kinetic_energy(forces, classical, q, p):
    """Kinetic energy [J] of a state (q, p), by the velocity M^-1 p."""
    links, screws, external, tau, v, _, zero3, zero = classical[:8]
    nodes, dofs = forces[0], forces[1]
    clear(external, tau)
    positions(nodes, links, screws, q)
    velocities(nodes, links, screws, zero)
    recursions.accelerations(nodes, dofs, zero3, links, screws, zero, p, external, v)
    energy = 0.0
    for k in range(v.shape[0]):
        energy += 0.5 * p[k] * v[k]
    return energy


@routine
def work_of_forces(model, rule, work, dt):
    """Work [J] of gravity, springs, dampers, drives and other forces over the step, by its quadrature."""
    pts, scr, rate, force = work[0], work[1], work[6], work[7]
    nodes = model[0]
    w = rule[1]
    total = 0.0
    for al in range(w.shape[0]):
        for i in range(nodes.shape[0]):
            # The impulse on the subtree, along its joint: over all joints that is the impulse on each body, along its
            # twist.
            G = load6(pts[al, i].G)
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                total += rate[al, k] * (w[al] * dt * force[al, k] + dot(load6(scr[al, k].S), G))
    return total


@inline
def balance(before, after, done):
    """How much of the kinetic energy of a step's end came from nowhere: 0 where it changed by the work done.

    Relative to what there was, before the step and in the work. The equations of a step that is too large have several
    solutions; those far from the motion show by this, at any order and whatever forces act: of a 32-link pendulum at
    random, with steps up to 0.06 s, solutions within 1 rad of the motion have at most 0.3, most others more than 1.
    """
    return abs(after - before - done) / (before + abs(done) + 1e-300)


@routine(inline="always")
def step(direction, problem, q, p, u, dt, settings, q_next, p_next):
    """One step (q, p) -> (q_next, p_next); gives back (iterations, converged).

    `problem`: (arrays of the mechanism with split and with native free joints, where the free joints are, rule, state
    of the points, variations, arrays of the solver, work space of the classical recursions, scratch momentum, update,
    residual norms and doubts); `settings`: (tolerance, iterations allowed from each first guess).

    A solution from any but the first guess is taken at once if its energy is plausible. If none is, the one that is
    least so is taken, and `doubts` gets its (share, kinetic energies before and after, work), see `balance`.
    """
    model, forces, free, rule, work, var, solver, classical, split, dx, history, doubts = problem
    tolerance, limit = settings
    X = work[5]
    done = 0
    best, least = -1, 1e300
    before = 0.0
    for turn in range(len(ATTEMPTS) + 1):
        # The last turn goes back to the best of the implausible solutions.
        attempt = turn if turn < len(ATTEMPTS) else best
        if attempt < 0:
            break
        way, cap = ATTEMPTS[attempt]
        predict(forces, rule, classical, X, q, p, u[0], dt, way)
        start_point(model, rule, work, q)
        to_split(free, q, p, split)
        few = min(limit, 12) if attempt == 0 else limit
        iterations, converged = newton(
            direction, model, rule, work, var, solver, split, u, dt, tolerance, few, cap, dx, history
        )
        done += iterations
        if not converged:
            continue
        finish(model[0], q, X, q_next)
        next_momentum(model, rule, free, work, split, dt)
        from_split(free, q_next, split, p_next)
        if turn == 0:
            return done, True
        before = kinetic_energy(forces, classical, q, p)
        after = kinetic_energy(forces, classical, q_next, p_next)
        supplied = work_of_forces(model, rule, work, dt)
        share = balance(before, after, supplied)
        if share <= IMPLAUSIBLE:
            return done, True
        if turn == len(ATTEMPTS):
            doubts[0], doubts[1], doubts[2], doubts[3] = share, before, after, supplied
            return done, True
        if share < least:
            best, least = attempt, share
    return done, False


@routine(inline="always")
def rollout(direction, problem, U, dt, settings, Q, P, its):
    """Steps from row 0 of Q and P; U: controls, shape (steps, Q, nu). Gives back the steps done.

    `problem[-1]`: doubts (steps, 4), a row of zeros for each step beyond doubt, see `step`.
    """
    doubts = problem[-1]
    for k in range(U.shape[0]):
        its[k + 1], converged = step(
            direction, (*problem[:-1], doubts[k]), Q[k], P[k], U[k], dt, settings, Q[k + 1], P[k + 1]
        )
        if not converged:
            return k
    return U.shape[0]
