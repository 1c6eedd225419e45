"""One step of a variational integrator: Newton iterations, shortened only when needed, from several first guesses."""

from leastaction._jit import inline, routine
from leastaction.dynamics import recursions
from leastaction.forces.passive import clear
from leastaction.kinematics.sweeps import positions, velocities
from leastaction.minimal.predict import predict, quaternion_at
from leastaction.minimal.residual import next_momentum, residual, start_point
from leastaction.minimal.simplified import PER_ORDER, relax
from leastaction.spatial import (
    dot,
    load6,
    mattvec,
    matvec,
    quat_exp,
    quat_mul,
    quat_normalize,
    quat_to_rotation,
)

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

PLAUSIBLE, IMPLAUSIBLE = 0.05, 0.5
"""Shares of energy out of nowhere, see `balance`: a solution below the first is taken at once, the best of the others
after all guesses are tried; above the second it leaves a doubt."""


@routine
def to_split(free, q, p, out):
    """Momenta of free joints, from (angular, linear) in the child's frame to (linear in the joint's frame, angular)."""
    for k in range(p.shape[0]):
        out[k] = p[k]
    for f in range(free.shape[0]):
        i, n = free[f, 0], free[f, 1]
        R = quat_to_rotation(quaternion_at(q, i + 3))
        out[n], out[n + 1], out[n + 2] = matvec(R, (p[n + 3], p[n + 4], p[n + 5]))
        out[n + 3], out[n + 4], out[n + 5] = p[n], p[n + 1], p[n + 2]


@routine
def from_split(free, q, p, out):
    """The way back of `to_split`."""
    for k in range(p.shape[0]):
        out[k] = p[k]
    for f in range(free.shape[0]):
        i, n = free[f, 0], free[f, 1]
        R = quat_to_rotation(quaternion_at(q, i + 3))
        out[n + 3], out[n + 4], out[n + 5] = mattvec(R, (p[n], p[n + 1], p[n + 2]))
        out[n], out[n + 1], out[n + 2] = p[n + 3], p[n + 4], p[n + 5]


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
            r = quat_mul(quaternion_at(q, j), quat_exp((X[s, n], X[s, n + 1], X[s, n + 2])))
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
    of the points, variations, arrays of the solver and of `simplified` (empty where it is not wanted), work space of
    the classical recursions, scratch momentum, update, residual norms and doubts); `settings`: (tolerance, iterations
    allowed from each first guess).

    A solution from any but the first guess is taken at once if its energy is plausible, else the most plausible one of
    all guesses; where that is in doubt, `doubts` gets its (share, kinetic energies before and after, work), see
    `balance`.
    """
    model, forces, free, rule, work, var, solver, simple, classical, split, dx, history, doubts = problem
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
        swept = turn == 0 and simple[1].shape[0] > 0
        predict(forces, rule, classical, X, q, p, u[0], dt, 3 if swept else way)
        start_point(model, rule, work, q)
        to_split(free, q, p, split)
        converged = False
        if swept:
            allowed = min(limit, PER_ORDER * dx.shape[0])
            done, converged, nearer = relax(model, rule, work, simple, split, u, dt, tolerance, allowed)
            converged = converged and not turns_too_far(model[0], X)
            if not nearer:
                predict(forces, rule, classical, X, q, p, u[0], dt, way)
        if not converged:
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
        if share <= PLAUSIBLE:
            return done, True
        if turn == len(ATTEMPTS):
            if share > IMPLAUSIBLE:
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
