"""The loop over steps with closed loops, for both rules: `halving.rollout_of` for those that Python divides."""

from leastaction._jit import routine
from leastaction.minimal.elimination import CAPS, fit_momentum
from leastaction.minimal.predict import kinetic_energy


def loop_rollout_of(attempt, conclude, is_astray, impulses):
    """The loop over steps.

    Args:
        attempt: `attempt(model, settings, data, loops, u, q, p, cap)` solves the step from (q, p), where
            `kinetic_energy` was just called, with updates up to `cap`: (iterations, converged).
        conclude: `conclude(model, settings, data, loops, u, q, q_next, p_next)`, the state at the end of the solved
            step, but for the impulse of the loops there.
        is_astray: `is_astray(model, settings, data, u, before, after, p, p_next)`, whether it is implausible by its
            kinetic energies.
        impulses: `impulses(model, data, loops)`, impulses of the loops at the points, the weights of these, and the
            `LoopSystem`.
    """

    @routine
    def rollout(model, settings, data, loops, U, Q, P, iterations, multipliers):
        """Steps from row 0 of Q and P; gives back the steps done. `multipliers`: of the loops, as forces."""
        native, guess, dt = model.native, data.guess, settings.dt
        lam, w, system = impulses(model, data, loops)
        last = w.shape[0] - 1
        before = kinetic_energy(native, guess, Q[0], P[0])
        for k in range(U.shape[0]):
            converged = False
            for again in range(len(CAPS)):
                done, converged = attempt(model, settings, data, loops, U[k], Q[k], P[k], CAPS[again])
                iterations[k + 1] += done
                if converged:
                    break
            if not converged:
                return k
            conclude(model, settings, data, loops, U[k], Q[k], Q[k + 1], P[k + 1])
            fit_momentum(native, guess, system, Q[k + 1], P[k + 1])
            after = kinetic_energy(native, guess, Q[k + 1], P[k + 1])
            if is_astray(model, settings, data, U[k], before, after, P[k], P[k + 1]):
                return k
            before = after
            for c in range(multipliers.shape[1]):
                multipliers[k, c] = lam[0, c] / (w[0] * dt)
                multipliers[k + 1, c] = system.end.h[c] / (w[last] * dt)  # now the impulses of the loops
        return U.shape[0]

    return rollout
