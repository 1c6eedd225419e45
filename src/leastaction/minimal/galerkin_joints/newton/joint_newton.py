"""Newton iterations of one step of a variational integrator, with their preparation and end state."""

from leastaction._jit import routine
from leastaction.minimal.convergence import chords_suffice, is_solved, largest, rate_of, round_off_updates
from leastaction.minimal.galerkin_joints.joint_one_sided_forces import open_or_close
from leastaction.minimal.galerkin_joints.joint_residual import next_momentum, residual, start_point
from leastaction.minimal.galerkin_joints.newton.newton_directions import AGAIN
from leastaction.minimal.initial_guesses import quaternion_at
from leastaction.minimal.one_sided_forces import reset_modes
from leastaction.spatial import (
    mattvec,
    matvec,
    quat_exp,
    quat_mul,
    quat_normalize,
    quat_to_rotation,
)


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
    """The inverse of `to_split`."""
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
    """Whether a ball joint rotates by pi or more within the step, where its chart is singular."""
    for i in range(nodes.shape[0]):
        if nodes[i].nv == 3:
            n = nodes[i].iv
            for a in range(1, X.shape[0]):
                if X[a, n] ** 2 + X[a, n + 1] ** 2 + X[a, n + 2] ** 2 > 9.8:
                    return True
    return False


@routine
def begin(model, settings, data, q, p):
    """Set the constants of the step from (q, p); the first control point must be set."""
    reset_modes(model.jumps, data.points.modes)
    start_point(model, settings.rule, data.points, q)
    to_split(model.free, q, p, data.p)


@routine
def end_state(model, settings, data, q, q_next, p_next):
    """The state at the end of the solved step from q."""
    finish(model.nodes, q, data.points.X, q_next)
    next_momentum(model, settings, data.points, data.p)
    from_split(model.free, q_next, data.p, p_next)


def newton_with(direction):
    """`newton` with a solver of its direction, one of `newton_directions`.

    With chord steps where the solver supports them.
    """
    again = AGAIN.get(direction, direction)

    @routine
    def newton(model, settings, data, u, limit, cap):
        """Solve the DEL equations for the control points in X. Returns (iterations, converged).

        Converged: see `convergence.is_solved`.
        Updates larger than `cap` [rad or m] are scaled down to it; a line search on the residual instead gets stuck
        where the Jacobian is singular. After `limit` iterations it continues only while each update is less than half
        the one before. `data.history`: residual norms. The last iterations are chord steps with the derivatives of the
        one before, where three of them suffice, or four above order 2: they are cheaper by that factor.
        """
        points, dx, history = data.points, data.dx, data.history
        tolerance, noise = settings.tolerance, round_off_updates(settings.tolerance, dx.shape[1])
        X = points.X
        for it in range(history.shape[0]):
            history[it] = 0.0
        norm = residual(model, settings, points, data.p, u)
        history[0] = norm
        open_or_close(model.jumps, model, settings, points)
        if norm == 0.0:
            return 0, not turns_too_far(model.nodes, X)
        keep, before, chords = False, 0.0, 3 if dx.shape[0] == 1 else 4
        most = min(settings.max_iterations, 2 * limit)
        for it in range(1, most + 1):
            if keep:
                again(model, settings, points, data.solver, dx)
            else:
                direction(model, settings, points, data.solver, dx)
            size = largest(dx)
            if not size < 1e12:
                return it, False
            shorten = min(1.0, cap / size)
            for a in range(dx.shape[0]):
                for k in range(dx.shape[1]):
                    X[a + 1, k] += shorten * dx[a, k]
            new = residual(model, settings, points, data.p, u)
            history[it] = new
            if shorten == 1.0 and is_solved(size, before, new, norm, keep, tolerance, noise):
                if open_or_close(model.jumps, model, settings, points) == 0:
                    return it, not turns_too_far(model.nodes, X)
                new = residual(model, settings, points, data.p, u)
            if it >= limit and not (shorten == 1.0 and size < 0.5 * before):
                return it, False
            rate = rate_of(size, before, new, norm, keep)
            keep = shorten == 1.0 and chords_suffice(size, rate, keep, chords, tolerance, noise)
            norm, before = new, size if shorten == 1.0 else 0.0
        return most, False

    return newton
