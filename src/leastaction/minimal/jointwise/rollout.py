"""Runs of whole steps; one that does not converge soon, or to something implausible, is left to `division`."""

from leastaction._jit import routine
from leastaction.minimal.jointwise.newton import begin, conclude, newton_with, turns_too_far
from leastaction.minimal.jointwise.simplified import PER_ORDER, relax
from leastaction.minimal.jointwise.work import is_astray
from leastaction.minimal.predict import constant_acceleration, kinetic_energy, quadratic_acceleration, start_velocity

FIRST_LIMIT = 12
"""Newton iterations from the first guess, where more are allowed: two halves are quicker than a long search,
which seldom ends near the motion."""

FIRST_CAP = 0.5
"""Cap of their updates [rad or m], see `newton`."""


def rollout_with(direction, limit=FIRST_LIMIT, cap=FIRST_CAP):
    """`rollout` with a way to solve for the Newton direction, one of `directions`; `limit` and `cap` as FIRST_..."""
    newton = newton_with(direction)

    @routine
    def rollout(model, settings, data, U, Q, P, iterations):
        """Steps from row 0 of Q and P; U: controls, shape (steps, Q, nu). Gives back the steps done.

        The step after these must be divided; its iterations so far are counted.
        """
        most = min(settings.max_iterations, limit)
        native, guess, points = model.native, data.guess, data.points
        before = kinetic_energy(native, guess, Q[0], P[0])
        for k in range(U.shape[0]):
            constant_acceleration(native, settings, guess, points.X, Q[k], U[k, 0])
            begin(model.tree, settings, data, Q[k], P[k])
            iterations[k + 1], converged = newton(model.tree, settings, data, U[k], most, cap)
            if not converged:
                return k
            conclude(model.tree, settings, data, Q[k], Q[k + 1], P[k + 1])
            after = kinetic_energy(native, guess, Q[k + 1], P[k + 1])
            if is_astray(model, settings, points, before, after, P[k], P[k + 1]):
                return k
            before = after
        return U.shape[0]

    return rollout


def swept_rollout_with(direction):
    """`rollout` that begins each step with the sweeps of `simplified`."""
    newton = newton_with(direction)

    @routine
    def rollout(model, settings, data, U, Q, P, iterations):
        """As that of `rollout_with`; Newton goes on from where the sweeps have come, or from the first guess."""
        limit = min(settings.max_iterations, FIRST_LIMIT)
        native, guess, points = model.native, data.guess, data.points
        allowed = min(settings.max_iterations, PER_ORDER * data.dx.shape[0])
        before = kinetic_energy(native, guess, Q[0], P[0])
        for k in range(U.shape[0]):
            quadratic_acceleration(native, settings, guess, points.X, Q[k], U[k, 0])
            begin(model.tree, settings, data, Q[k], P[k])
            done, converged, nearer = relax(model.tree, settings, points, data.sweeps, data.p, U[k], allowed)
            converged = converged and not turns_too_far(model.tree.nodes, points.X)
            if not nearer:
                start_velocity(native, guess, Q[k], P[k])
                constant_acceleration(native, settings, guess, points.X, Q[k], U[k, 0])
            if not converged:
                more, converged = newton(model.tree, settings, data, U[k], limit, FIRST_CAP)
                done += more
            iterations[k + 1] = done
            if not converged:
                return k
            conclude(model.tree, settings, data, Q[k], Q[k + 1], P[k + 1])
            after = kinetic_energy(native, guess, Q[k + 1], P[k + 1])
            if is_astray(model, settings, points, before, after, P[k], P[k + 1]):
                return k
            before = after
        return U.shape[0]

    return rollout
