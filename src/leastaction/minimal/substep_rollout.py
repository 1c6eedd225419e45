"""Compiled loop over steps and their substeps, for both rules of `Galerkin`, `Midpoint`, and for closed loops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import inline, routine
from leastaction.minimal.floating_origin import move_back, move_origin
from leastaction.minimal.initial_guesses import kinetic_energy
from leastaction.step_control.bisection import controls_of_substep, next_substep, recorded, substep_length
from leastaction.typing import FloatArray


class SubstepData(NamedTuple):
    """Data of a substep.

    Attributes:
        q, p: states at both ends, shapes (2, nq) and (2, nv).
        u: controls, shape (nodes, nu).
        nodes: times of the controls within a step, as fractions of it, shape (nodes,).
        origin: of the world in the step, for each tree, see `floating_origin`; shape (trees, 3) [m].
    """

    q: FloatArray
    p: FloatArray
    u: FloatArray
    nodes: FloatArray
    origin: FloatArray


def substep_data(stepper: Any) -> SubstepData:
    """`SubstepData` of a stepper."""
    m, nodes = stepper.mechanism, np.array(stepper.control_nodes)
    u, origin = np.zeros((len(nodes), m.nu)), np.zeros((len(stepper.model.native.shiftable), 3))
    return SubstepData(np.zeros((2, m.nq)), np.zeros((2, m.nv)), u, nodes, origin)


@inline
def _copy(a, out):
    for k in range(a.shape[0]):
        out[k] = a[k]


@routine
def write_no_forces(model, settings, data, multipliers, row, first):
    """See `rollout_of`: a tree has no loops."""


def rollout_of(attempt, shortened, write_forces=write_no_forces):
    """Make the loop over steps and their substeps.

    Args:
        attempt: `attempt(model, settings, data, u, q, p, q_next, p_next, before)` solves a substep from (q, p), where
            `kinetic_energy` has just returned `before`; it returns its iterations, whether it is accepted,
            and the kinetic energy at its end.
        shortened: `shortened(settings, dt)`, the settings of a substep.
        write_forces: `write_forces(model, settings, data, multipliers, row, first)` writes loop forces at the end of
            an accepted substep to the row of multipliers, those at its start to the one before if it is the first.
    """

    @routine
    def rollout(model, settings, data, U, Q, P, iterations, divided, multipliers):
        """Steps from row 0 of Q and P with the controls U (steps, nodes, nu); returns the number of steps done.

        A rejected step is bisected, into `settings.finest` substeps at most. The iterations of the first step that
        fails even so are counted.
        """
        own = data.substep
        q, p, u = own.q, own.p, own.u
        native, guess, before = model.native, data.guess, 0.0
        for k in range(U.shape[0]):
            _copy(Q[k], q[0])
            _copy(P[k], p[0])
            if move_origin(native.shiftable, q[0], own.origin) or k == 0:
                before = kinetic_energy(native, guess, q[0], p[0])
            substeps, substep, halvings, count = 1, 0, 1, 0
            while substep < substeps:
                part = shortened(settings, substep_length(settings.dt, substeps))
                controls_of_substep(U[k], own.nodes, substeps, substep, u)
                its, accepted, after = attempt(model, part, data, u, q[0], p[0], q[1], p[1], before)
                count += its
                if accepted:
                    before = after
                    write_forces(model, part, data, multipliers, k + 1, substep == 0)
                    _copy(q[1], q[0])
                    _copy(p[1], p[0])
                elif substeps < settings.finest:
                    before = kinetic_energy(native, guess, q[0], p[0])
                else:
                    iterations[k + 1] = count
                    return k
                substeps, substep, halvings = next_substep(substeps, substep, halvings, accepted)
            _copy(q[0], Q[k + 1])
            move_back(native.shiftable, Q[k + 1], own.origin)
            _copy(p[0], P[k + 1])
            iterations[k + 1] = count
            divided[k + 1] = recorded(halvings)
        return U.shape[0]

    return rollout
