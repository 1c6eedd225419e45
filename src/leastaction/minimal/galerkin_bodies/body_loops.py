"""Body-wise steps with closed loops, couplings and rolling contacts.

Unknowns are the joint coordinates at the nodes 1 ... s and the multipliers at 0 ... s - 1; equations are the rows of
the action at the nodes 0 ... s - 1 and the loops at 1 ... s. For bodies that is the Lobatto IIIA-IIIB pair with the
joints and the loops as constraints at the nodes (Jay 1996), at order 2 RATTLE. The momentum at the end gets the impulse
of the loops there (`fit_momentum`), so that its velocity keeps them closed.
"""

from leastaction._jit import entry, routine
from leastaction.kinematics.manifold import retract
from leastaction.minimal.convergence import ROUND_OFF, SHARPEST, largest
from leastaction.minimal.elimination import CAPS, eliminate, fit_momentum, hinges_turn_too_far, loop_forces
from leastaction.minimal.galerkin_bodies.body_one_sided_forces import open_or_close
from leastaction.minimal.galerkin_bodies.body_residual import end_momentum, hold_controls, place_bodies, residual
from leastaction.minimal.galerkin_bodies.body_rollout import shortened, update
from leastaction.minimal.galerkin_bodies.body_work import is_off_balance
from leastaction.minimal.galerkin_bodies.derivatives.body_hessian import hessian
from leastaction.minimal.galerkin_bodies.derivatives.body_linearization import system as matrix
from leastaction.minimal.galerkin_bodies.loop_impulses import loop_rows
from leastaction.minimal.galerkin_bodies.newton.residual_carry import carry_residuals
from leastaction.minimal.initial_guesses import kinetic_energy
from leastaction.minimal.one_sided_forces import reset_modes
from leastaction.minimal.substep_rollout import rollout_of


@routine
def _predict(model, settings, data):
    """First guess of Q[1] ... Q[s] from the velocity guess.v; accelerations would depend on loop forces."""
    guess, Q, c = data.guess, data.Q, model.rule.c
    for j in range(1, Q.shape[0]):
        for k in range(guess.x.shape[0]):
            guess.x[k] = c[j] * settings.dt * guess.v[k]
        retract(model.nodes, Q[0], guess.x, Q[j])


@routine
def newton(model, settings, data, system, p, u, cap):
    """Solve for Q[1] ... Q[s] and the multipliers. Returns (iterations, converged).

    Converged: the last update is below the tolerance [rad or m], or the next one, predicted by the ratio of the last
    one to that before it; or updates are at the level of round-off.
    """
    history, tolerance, lam, dense = data.history, settings.tolerance, data.lam, data.dense
    s, count = data.r.shape[0], lam.shape[1]
    lam[:] = 0.0
    for it in range(history.shape[0]):
        history[it] = 0.0
    history[0] = residual(model, settings, data, p, u)
    open_or_close(model.jumps, model, data)
    last = 0.0  # size of the last update, 0 where it was shortened
    for it in range(1, settings.max_iterations + 1):
        hessian(model, settings, data, u, 1)
        matrix(dense.H, dense.J, False)
        loop_rows(model, settings, data, system)
        eliminate(system, dense.J, data.r, data.dx)
        size = largest(data.dx)
        if not size < 1e12:
            return it, False
        share = min(1.0, cap / size)
        update(model, data, share)
        for j in range(s):
            for c in range(count):
                lam[j, c] += share * system.dlam[j * count + c, 0]
        history[it] = residual(model, settings, data, p, u)
        floor = size <= ROUND_OFF and size > 0.25 * last > 0.0 and tolerance >= SHARPEST
        if share == 1.0 and (size <= tolerance or size * size <= tolerance * last or floor):
            if open_or_close(model.jumps, model, data) == 0:
                return it, not hinges_turn_too_far(model.nodes, data.Q[0], data.Q[s], False)
            residual(model, settings, data, p, u)
        last = size if share == 1.0 else 0.0
    return settings.max_iterations, False


@routine
def _attempt(model, settings, data, u, q, p, q_next, p_next, before):
    """See `substep_rollout.rollout_of`."""
    last = data.Q.shape[0] - 1
    for k in range(q.shape[0]):
        data.Q[0, k] = q[k]
    place_bodies(model, data, 0)
    hold_controls(model, data, u)
    iterations, accepted, after = 0, False, 0.0
    for again in range(len(CAPS)):
        reset_modes(model.jumps, data.modes)
        _predict(model, settings, data)
        its, accepted = newton(model, settings, data, data.loops, p, u, CAPS[again])
        iterations += its
        if accepted:
            break
    if accepted:
        for k in range(q.shape[0]):
            q_next[k] = data.Q[last, k]
        end_momentum(model, settings, data, u, p_next)
        carry_residuals(model, data, p_next)
        fit_momentum(model.native, data.guess, data.loops, q_next, p_next)
        after = kinetic_energy(model.native, data.guess, q_next, p_next)
        accepted = not is_off_balance(model, settings, data, u, before, after, p, p_next)
    return iterations, accepted, after


@routine
def _write_forces(model, settings, data, multipliers, row, first):
    """See `substep_rollout.rollout_of`."""
    loop_forces(data.loops, data.lam, settings.dt, model.rule.w, multipliers, row, first)


_rollout = rollout_of(_attempt, shortened, _write_forces)


@entry
def rollout(model, settings, data, U, Q, P, iterations, divided, multipliers):
    """Steps from row 0 of Q and P with loops; returns the number of steps done.

    `multipliers`: those of the loops as forces [N or N m], one row per state.
    """
    return _rollout(model, settings, data, U, Q, P, iterations, divided, multipliers)


@entry
def equations(model, settings, data, system):
    """Values and derivatives of the loop equations at the last evaluation of `body_horizon.rows`."""
    loop_rows(model, settings, data, system)
