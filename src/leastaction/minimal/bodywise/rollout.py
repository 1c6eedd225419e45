"""Steps of the body-wise rule: a first guess from the state alone, then Newton's method."""

from leastaction._jit import routine
from leastaction.kinematics.manifold import retract
from leastaction.minimal.bodywise.one_sided import open_or_close
from leastaction.minimal.bodywise.residual import end_momentum, hold_controls, place_bodies, residual
from leastaction.minimal.convergence import ROUND_OFF, SHARPEST, largest
from leastaction.minimal.one_sided import forget
from leastaction.minimal.predict import acceleration, start_velocity

CAP = 0.5
"""Newton updates above this [rad or m] are shortened to it."""


@routine
def predict(model, settings, data, p, u):
    """First guess of Q[1] ... Q[s]: constant acceleration from (Q[0], p) alone, so that runs can be taken up."""
    guess, Q, c = data.guess, data.Q, model.rule.c
    v, a, x = guess.v, guess.a, guess.x
    start_velocity(model.native, guess, Q[0], p)
    acceleration(model.native, guess, Q[0], v, u[0], a)
    for j in range(1, Q.shape[0]):
        h = c[j] * settings.dt
        for k in range(x.shape[0]):
            x[k] = h * (v[k] + 0.5 * h * a[k])
        retract(model.nodes, Q[0], x, Q[j])


@routine
def update(model, data, share):
    """Move Q[1] ... Q[s] by a share of the Newton update."""
    nodes, Q, dx, x = model.nodes, data.Q, data.dx, data.guess.x
    for j in range(dx.shape[0]):
        for k in range(x.shape[0]):
            x[k] = share * dx[j, k]
        retract(nodes, Q[j + 1], x, Q[j + 1])


def newton_with(direction):
    """Newton's method with a way to solve for its direction, `recursion.recursive` or `dense_direction.solve`."""

    @routine
    def newton(model, settings, data, p, u):
        """Solve the equations for Q[1] ... Q[s]. Gives back (iterations, converged).

        Converged: the last update is below the tolerance [rad or m], or the one that would come next, estimated by how
        much the last one shrank the residual; or updates are at the level of round-off.
        """
        history, tolerance = data.history, settings.tolerance
        for it in range(history.shape[0]):
            history[it] = 0.0
        norm = residual(model, settings, data, p, u)
        history[0] = norm
        open_or_close(model.jumps, model, data)
        if norm == 0.0:
            return 0, True
        for it in range(1, settings.max_iterations + 1):
            direction(model, settings, data, u)
            size = largest(data.dx)
            if not size < 1e12:
                return it, False
            share = min(1.0, CAP / size)
            update(model, data, share)
            new = residual(model, settings, data, p, u)
            history[it] = new
            done = size <= tolerance or size * new <= tolerance * norm
            floor = size <= ROUND_OFF and new > 0.25 * norm and tolerance >= SHARPEST
            if share == 1.0 and (done or floor):
                if open_or_close(model.jumps, model, data) == 0:
                    return it, True
                new = residual(model, settings, data, p, u)
            norm = new
        return settings.max_iterations, False

    return newton


def rollout_with(direction):
    """The loop over many steps, with a way to solve for the Newton direction."""
    newton = newton_with(direction)

    @routine
    def rollout(model, settings, data, U, states, momenta, iterations):
        """Steps from row 0 of `states` and `momenta` with the controls U (steps, nodes, nu); gives back those done."""
        Q = data.Q
        last = Q.shape[0] - 1
        for step in range(U.shape[0]):
            u, p = U[step], momenta[step]
            for k in range(Q.shape[1]):
                Q[0, k] = states[step, k]
            forget(model.jumps, data.modes)
            place_bodies(model, data, 0)
            hold_controls(model, data, u)
            predict(model, settings, data, p, u)
            iterations[step + 1], converged = newton(model, settings, data, p, u)
            if not converged:
                return step
            for k in range(Q.shape[1]):
                states[step + 1, k] = Q[last, k]
            end_momentum(model, settings, data, u, momenta[step + 1])
        return U.shape[0]

    return rollout
