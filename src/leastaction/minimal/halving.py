"""Steps and their parts in one compiled loop: `leastaction.division` without a way back to Python between two parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.division import LONGEST, halves_of_controls
from leastaction.minimal.predict import kinetic_energy
from leastaction.minimal.wandering import move_back, move_origin

FloatArray = NDArray[np.float64]


class HalvingData(NamedTuple):
    """Parts of a step while it is solved.

    Attributes:
        q, p: states at both ends of a part, shapes (2, nq) and (2, nv).
        u: controls of the whole step, of the half of it at hand, and so on, shape (levels + 1, nodes, nu).
        weights: of the controls of both halves of a part, shape (2, nodes, nodes).
        origin: of the world in which the step is taken, for each tree, see `wandering`; shape (trees, 3) [m].
    """

    q: FloatArray
    p: FloatArray
    u: FloatArray
    weights: FloatArray
    origin: FloatArray


def halving_data(stepper: Any, levels: int) -> HalvingData:
    """For steps of a stepper that may be halved so many times."""
    m, nodes = stepper.mechanism, stepper.control_nodes
    weights = np.array(halves_of_controls(nodes))
    u, origin = np.zeros((levels + 1, len(nodes), m.nu)), np.zeros((len(stepper.model.native.wandering), 3))
    return HalvingData(np.zeros((2, m.nq)), np.zeros((2, m.nv)), u, weights, origin)


@inline
def _copy(a, out):
    for k in range(a.shape[0]):
        out[k] = a[k]


@routine
def _halve(u, W, level):
    """Controls of a half, u[level], from those of the whole, u[level - 1]; what is held stays the same to the bit."""
    for a in range(u.shape[1]):
        for c in range(u.shape[2]):
            first = u[level - 1, 0, c]
            t = 0.0
            for b in range(u.shape[1]):
                t += W[a, b] * (u[level - 1, b, c] - first)
            u[level, a, c] = first + t


@inline
def _told(number, bit):
    """The number that tells how a step is halved, with one part more; see `division.LONGEST`."""
    number = -1 if number < 0 else 2 * number + bit
    return number if number < LONGEST else -1


def rollout_of(attempt, shortened):
    """The loop over steps and their parts.

    Args:
        attempt: `attempt(model, settings, data, u, q, p, q_next, p_next, before)` solves a part from (q, p), where
            `kinetic_energy` was just called and gave `before`; it gives back its iterations, whether there is a
            plausible solution, and the kinetic energy at its end.
        shortened: `shortened(settings, dt)`, the settings of a part.
    """

    @routine
    def rollout(model, settings, data, halving, U, Q, P, iterations, divided):
        """Steps from row 0 of Q and P with the controls U (steps, nodes, nu); gives back the steps done.

        A step without a plausible solution is halved, and so are its halves, as far as `halving` has levels. Of the
        first that has none even so the iterations are counted.
        """
        q, p, u, weights = halving.q, halving.p, halving.u, halving.weights
        levels = u.shape[0] - 1
        native, guess, before = model.native, data.guess, 0.0
        for k in range(U.shape[0]):
            _copy(Q[k], q[0])
            _copy(P[k], p[0])
            if move_origin(native.wandering, q[0], halving.origin) or k == 0:
                before = kinetic_energy(native, guess, q[0], p[0])
            for a in range(U.shape[1]):
                _copy(U[k, a], u[0, a])
            done, level, number, count = 0, 0, 1, 0  # done: in units of the finest part
            while done < 1 << levels:
                part = shortened(settings, settings.dt / (1 << level))
                its, good, after = attempt(model, part, data, u[level], q[0], p[0], q[1], p[1], before)
                count += its
                if good:
                    before = after
                    _copy(q[1], q[0])
                    _copy(p[1], p[0])
                    done += 1 << (levels - level)
                    # What was the second half of a part has finished that part.
                    while level > 0 and done % (1 << (levels - level + 1)) == 0:
                        level -= 1
                    if level > 0:
                        _halve(u, weights[1], level)
                    number = _told(number, 0)
                elif level < levels:
                    before = kinetic_energy(native, guess, q[0], p[0])
                    level += 1
                    _halve(u, weights[0], level)
                    number = _told(number, 1)
                else:
                    iterations[k + 1] = count
                    return k
            _copy(q[0], Q[k + 1])
            move_back(native.wandering, Q[k + 1], halving.origin)
            _copy(p[0], P[k + 1])
            iterations[k + 1] = count
            divided[k + 1] = 0 if number == 2 else number
        return U.shape[0]

    return rollout
