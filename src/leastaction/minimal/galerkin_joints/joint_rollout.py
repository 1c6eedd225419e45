"""Substeps: a first guess from the state alone, then Newton's method, then the energy balance."""

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_joints.arrays import GalerkinSettings
from leastaction.minimal.galerkin_joints.joint_work import is_off_balance
from leastaction.minimal.galerkin_joints.newton.joint_newton import begin, end_state, newton_with, turns_too_far
from leastaction.minimal.galerkin_joints.newton.simplified_newton import PER_ORDER, relax
from leastaction.minimal.initial_guesses import (
    constant_acceleration,
    kinetic_energy,
    quadratic_acceleration,
    start_velocity,
)
from leastaction.minimal.substep_rollout import rollout_of

FIRST_LIMIT = 12
"""Largest number of Newton iterations from the first guess, even where more are allowed: bisection is faster than a
long search, which seldom ends near the motion."""

FIRST_CAP = 0.5
"""Bound of their updates [rad or m], see `joint_newton`."""


@inline
def shortened(settings, dt):
    """The same settings with another step size."""
    rule, tolerance, most = settings.rule, settings.tolerance, settings.max_iterations
    return GalerkinSettings(rule, dt, tolerance, most, settings.energy, settings.finest)


@routine
def _finish(model, settings, data, q, p, q_next, p_next, before):
    """The state at the end of the solved step: (whether its energy balance holds, its kinetic energy)."""
    end_state(model.tree, settings, data, q, q_next, p_next)
    after = kinetic_energy(model.native, data.guess, q_next, p_next)
    return not is_off_balance(model, settings, data.points, before, after, p, p_next), after


def rollout_with(direction, limit=FIRST_LIMIT, cap=FIRST_CAP):
    """The loop over steps with a solver of the Newton direction, one of `newton_directions`.

    `limit` and `cap` as FIRST_...
    """
    newton = newton_with(direction)

    @routine
    def attempt(model, settings, data, u, q, p, q_next, p_next, before):
        """See `substep_rollout.rollout_of`."""
        most = min(settings.max_iterations, limit)
        constant_acceleration(model.native, settings, data.guess, data.points.X, q, u[0])
        begin(model.tree, settings, data, q, p)
        iterations, good = newton(model.tree, settings, data, u, most, cap)
        after = 0.0
        if good:
            good, after = _finish(model, settings, data, q, p, q_next, p_next, before)
        return iterations, good, after

    return rollout_of(attempt, shortened)


def swept_rollout_with(direction):
    """`rollout_with`, where each step begins with the sweeps of `simplified_newton`."""
    newton = newton_with(direction)

    @routine
    def attempt(model, settings, data, u, q, p, q_next, p_next, before):
        """See `substep_rollout.rollout_of`; Newton starts from the result of the sweeps, or from the first guess."""
        limit = min(settings.max_iterations, FIRST_LIMIT)
        native, guess, points = model.native, data.guess, data.points
        allowed = min(settings.max_iterations, PER_ORDER * data.dx.shape[0])
        quadratic_acceleration(native, settings, guess, points.X, q, u[0])
        begin(model.tree, settings, data, q, p)
        iterations, good, nearer = relax(model.tree, settings, points, data.sweeps, data.p, u, allowed)
        good = good and not turns_too_far(model.tree.nodes, points.X)
        if not nearer:
            start_velocity(native, guess, q, p)
            constant_acceleration(native, settings, guess, points.X, q, u[0])
        if not good:
            more, good = newton(model.tree, settings, data, u, limit, FIRST_CAP)
            iterations += more
        after = 0.0
        if good:
            good, after = _finish(model, settings, data, q, p, q_next, p_next, before)
        return iterations, good, after

    return rollout_of(attempt, shortened)
