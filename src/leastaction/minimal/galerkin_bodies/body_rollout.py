"""Substeps of the body-wise rule: a first guess from the state alone, then Newton's method."""

from leastaction._jit import inline, routine
from leastaction.kinematics.manifold import retract
from leastaction.minimal.convergence import SHARPEST, chords_suffice, is_solved, largest, rate_of
from leastaction.minimal.galerkin_bodies.arrays import GalerkinBodiesSettings
from leastaction.minimal.galerkin_bodies.body_one_sided_forces import open_or_close
from leastaction.minimal.galerkin_bodies.body_residual import end_momentum, hold_controls, place_bodies, residual
from leastaction.minimal.galerkin_bodies.body_work import is_off_balance
from leastaction.minimal.galerkin_bodies.newton.residual_carry import carry_residuals
from leastaction.minimal.initial_guesses import displace, kinetic_energy, predict_acceleration, start_acceleration
from leastaction.minimal.one_sided_forces import reset_modes
from leastaction.minimal.substep_rollout import rollout_of
from leastaction.spatial import add3, axpy3, cross, load3, load6, load9, matvec, scale3, store3

LIMIT = 20
"""Largest number of Newton iterations of a step even where more are allowed: bisection is faster than many."""

CAP = 0.5
"""Bound of Newton updates [rad or m]; longer ones are scaled down to it."""


@routine
def predict(model, settings, data, u):
    """First guess of Q[1] ... Q[s] from Q[0] and the results of `start_velocity` there: from the state alone.

    Constant acceleration; above order 2 one that is linear in time through the midpoint, which also predicts the
    forces at inner nodes, see `body_recursion`.
    """
    guess, Q, c, dt = data.guess, data.Q, model.rule.c, settings.dt
    x = guess.x
    last = c.shape[0] - 1
    start_acceleration(model.native, guess, Q[0], u[0])
    if last > 1:
        expect(model, settings, data, False)
        if predict_acceleration(model.native, guess, Q[0], u[(last + 1) // 2], dt):
            expect(model, settings, data, True)
    for j in range(1, last + 1):
        displace(model.nodes, guess, c[j], dt, last > 1)
        retract(model.nodes, Q[0], x, Q[j])


@routine
def expect(model, settings, data, ahead):
    """Predict forces at inner nodes by the link accelerations at the start; with `ahead` also at the midpoint."""
    nodes, links, bodies, rule = model.nodes, data.guess.links, data.bodies, model.rule
    for i in range(nodes.shape[0]):
        x = add3(load3(links[i].p), matvec(load9(links[i].R), load3(nodes[i].com)))
        (spin, shift), (turning, rising) = load6(links[i].v), load6(links[i].a)
        if not ahead:  # in two parts, see `start_accelerations`
            turning, rising = add3(turning, load6(links[i].f)[0]), add3(rising, load6(links[i].f)[1])
        # Acceleration of the centre of mass minus gravity: `links` contain that relative to free fall.
        a = add3(add3(rising, cross(turning, x)), cross(spin, add3(shift, cross(spin, x))))
        for j in range(1, rule.c.shape[0] - 1):
            f = scale3(-rule.w[j] * settings.dt * nodes[i].mass, a)
            if ahead:
                f = axpy3(1.0 - 2.0 * rule.c[j], load3(bodies[j, i].e), scale3(2.0 * rule.c[j], f))
            store3(bodies[j, i].e, f)


@routine
def update(model, data, share):
    """Move Q[1] ... Q[s] by a share of the Newton update."""
    nodes, Q, dx, x = model.nodes, data.Q, data.dx, data.guess.x
    for j in range(dx.shape[0]):
        for k in range(x.shape[0]):
            x[k] = share * dx[j, k]
        retract(nodes, Q[j + 1], x, Q[j + 1])


def newton_with(direction, again):
    """Newton's method with a solver for its direction, and one for chord steps with the last derivatives.

    `body_recursion.recursive` and `body_recursion.again`, or `dense_direction.solve` for both.
    """

    @routine
    def newton(model, settings, data, p, u):
        """Solve the equations for Q[1] ... Q[s]. Returns (iterations, converged).

        Converged: see `convergence.is_solved`. The last iterations are chord steps with the derivatives of the one
        before, where at most `chords` of them suffice. The first derivatives are not reused where predicted inner
        wrenches rotate bodies about ball joints: the relevant residuals are small there, and would predict too fast a
        convergence.
        """
        history, tolerance = data.history, settings.tolerance
        noise = 0.0 if tolerance < SHARPEST else model.noise
        chords = 1 if data.Q.shape[0] == 2 else 3  # as many as cost one Newton step
        for it in range(history.shape[0]):
            history[it] = 0.0
        norm = residual(model, settings, data, p, u)
        history[0] = norm
        open_or_close(model.jumps, model, data)
        if norm == 0.0:
            return 0, True
        keep, before = False, 0.0
        wary = model.balled and data.Q.shape[0] > 2
        limit = min(settings.max_iterations, LIMIT)
        for it in range(1, limit + 1):
            if keep:
                again(model, settings, data, u)
            else:
                direction(model, settings, data, u)
            size = largest(data.dx)
            if not size < 1e12:
                return it, False
            if size <= noise and open_or_close(model.jumps, model, data) == 0:
                return it, True  # the update would be round-off
            share = min(1.0, CAP / size)
            update(model, data, share)
            new = residual(model, settings, data, p, u)
            history[it] = new
            if share == 1.0 and is_solved(size, before, new, norm, keep, tolerance, noise):
                if open_or_close(model.jumps, model, data) == 0:
                    return it, True
                new = residual(model, settings, data, p, u)
            rate = rate_of(size, before, new, norm, keep)
            keep = share == 1.0 and chords_suffice(size, rate, keep, chords, tolerance, noise)
            keep = keep and not (wary and it == 1)
            norm, before = new, size if share == 1.0 else 0.0
        return limit, False

    return newton


@inline
def shortened(settings, dt):
    """The same settings with another step size."""
    tolerance, most = settings.tolerance, settings.max_iterations
    return GalerkinBodiesSettings(dt, tolerance, most, settings.energy, settings.finest)


def rollout_with(direction, again):
    """The loop over many steps, with the solvers of `newton_with`."""
    newton = newton_with(direction, again)

    @routine
    def attempt(model, settings, data, u, q, p, q_next, p_next, before):
        """See `substep_rollout.rollout_of`."""
        Q = data.Q
        last = Q.shape[0] - 1
        for k in range(Q.shape[1]):
            Q[0, k] = q[k]
        reset_modes(model.jumps, data.modes)
        place_bodies(model, data, 0)
        hold_controls(model, data, u)
        predict(model, settings, data, u)
        iterations, good = newton(model, settings, data, p, u)
        after = 0.0
        if good:
            for k in range(Q.shape[1]):
                q_next[k] = Q[last, k]
            end_momentum(model, settings, data, u, p_next)
            carry_residuals(model, data, p_next)
            after = kinetic_energy(model.native, data.guess, q_next, p_next)
            good = not is_off_balance(model, settings, data, u, before, after, p, p_next)
        return iterations, good, after

    return rollout_of(attempt, shortened)
