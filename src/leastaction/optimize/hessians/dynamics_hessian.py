"""Second derivatives of the discrete Euler-Lagrange equations, contracted with multipliers.

The rows of a step are derivatives E_a L_d of the discrete Lagrangian along the tangents of its control points. So
multipliers . rows is one derivative of a scalar, E_lam L_d, and its second derivatives follow from how the blocks
D[a, b] = E_b E_a L_d change along lam: no tensor of third order, and one direction for each step. Displacements of
ball and free joints do not commute, which brackets make good:

    E_b E_a E_lam = E_lam E_b E_a + E_[b, lam] E_a + E_b E_[a, lam]

Forces that are no gradients must have no second derivatives: dampers in joints with single axes, and controls whose
rows do not depend on the configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from leastaction._jit import entry
from leastaction.forces.arrays import force_model
from leastaction.integration.integrators import Stepper
from leastaction.mechanism import Mechanism
from leastaction.optimize.functions.manifold_derivatives import CENTRAL_STEP, Tangents
from leastaction.optimize.hessians.rotational_drive_hessian import TurningControls
from leastaction.optimize.transcriptions.chain_rule import Motion
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.variational import Variational


def is_gradient(mechanism: Mechanism) -> bool:
    """Whether forces other than gradients have no second derivatives.

    Springs and cables without dampers, in joints that close loops too, and contacts without damping and friction, are
    gradients.
    """
    dofs, forces = mechanism.tree.dofs, force_model(mechanism.tree)
    own = None if forces.user is None else forces.user.addresses
    others = (forces.wrenches, forces.drags, forces.tendons, forces.balls, own)
    if any(x is not None and len(x) > 0 for x in others) or (forces.drives.dof < 0).any() or dofs.limit_damping.any():
        return False
    contacts = forces.penalties
    if forces.paths.damping.any() or contacts.damping.any() or contacts.friction.any():
        return False
    if mechanism.tree.closure.rows.damping.any():  # of joints that close loops, in their angles or along their axes
        return False
    return not any(dofs.damping[g.iv : g.iv + g.nv].any() for g in mechanism.coordinate_groups if g.nv > 1)


def contract(stepper: Stepper, q: FloatArray, u: FloatArray, dt: float, lam: FloatArray, out: FloatArray) -> None:
    """How D of all steps changes along lam (steps, s + 1, nv): shape (steps, s + 1, nv, s + 1, nv), by differences.

    q: configurations at all control points. Steps share points, so where their multipliers differ, even and odd steps
    move one after the other.
    """
    s = lam.shape[1] - 1
    size = float(np.abs(lam).max(initial=0.0))
    out[:] = 0.0
    if size == 0.0:
        return
    h = CENTRAL_STEP / size
    m, N = stepper.mechanism, len(lam)
    rows, D = np.zeros(lam.shape), np.zeros(out.shape)
    C = np.zeros((N, *lam.shape[1:], len(stepper.control_nodes), m.nu))
    alike = np.array_equal(lam[:-1, s], lam[1:, 0])
    for steps in (slice(None),) if alike else (slice(0, N, 2), slice(1, N, 2)):
        x = np.zeros((len(q), m.nv))
        points = s * np.arange(N)[steps, None] + np.arange(s + 1)
        x[points] = lam[steps]
        for sign in (1.0, -1.0):
            stepper.horizon_blocks(m.integrate(q, sign * h * x), u, dt, rows, D, C)
            out[steps] += (0.5 * sign / h) * D[steps]


@entry
def _make_symmetric(T):
    """(T + T') / 2 of matrices (steps, n, n), in place."""
    for k in range(T.shape[0]):
        for i in range(T.shape[1]):
            for j in range(i):
                T[k, i, j] = T[k, j, i] = 0.5 * (T[k, i, j] + T[k, j, i])


class Contraction:
    """d^2 (multipliers . rows of the dynamics) of one transcription, step by step.

    Attributes:
        blocks: by the unknown configurations of each step, shape (steps, s + 1, nv, s + 1, nv).
        by_time: by these and the final time, shape (steps, s + 1, nv); None where it is given.
        controls_by_time: by the controls at the nodes and the final time, shape (steps, nodes, nu).
        twice_by_time: by the final time twice.
        by_controls: by the controls and the unknown configurations, shape (steps, nu, s + 1, nv); None: zero.
    """

    def __init__(self, program: Variational) -> None:
        self.program = program
        self.tangents = Tangents(program.mechanism)
        self.blocks = np.zeros(program._D.shape)
        self.lam = np.zeros(program.kept.shape)
        free = program.layout.duration >= 0
        self.by_time = np.zeros(self.lam.shape) if free else None
        self.controls_by_time = np.zeros((program.steps, *program._C.shape[3:])) if free else None
        self.twice_by_time = 0.0
        turning = TurningControls(program) if len(program.nodes) == 1 else None
        self.turning = turning if turning is not None and turning.joints else None
        self.by_controls = None if self.turning is None else self.turning.by_controls
        self._none = np.zeros((program.steps, len(program.nodes), program.mechanism.nu))

    def evaluate(self, z: FloatArray, multipliers: FloatArray, runs: Sequence[slice] = ()) -> None:
        """Fill in all attributes; of other steps than those of the `runs`, if there are any, `blocks` are not whole."""
        program, lam = self.program, self.lam
        motion, stepper = program.motion(z), program.stepper
        np.copyto(lam, np.append(multipliers, 0.0)[program.kept])
        q, u, dt = motion.q, motion.u, motion.dt
        rows, D, C = program._rows, program._D, program._C
        curved = motion.turns is not None
        # Of forces that turn with joints only those without controls are gradients.
        w = self._none if self.turning is not None else u
        for run in runs or (slice(0, len(lam)),):
            steps_of_run = q[program.s * run.start : program.s * run.stop + 1], w[run], dt
            if not stepper.horizon_contractions(*steps_of_run, rows[run], lam[run], self.blocks[run]):
                contract(stepper, *steps_of_run, lam[run], self.blocks[run])
        if curved:
            stepper.horizon_blocks(q, w, dt, rows, D, C)
            self._commute(D)
        _make_symmetric(self.blocks.reshape(len(lam), lam[0].size, lam[0].size))
        if self.turning is not None:
            self.turning.add(q, u[:, 0], dt, lam, self.blocks)
            stepper.horizon_blocks(q, u, dt, rows, D, C)
        gradient = np.einsum("kai,kaibj->kbj", lam, D) if curved else np.zeros(lam.shape)
        program.ends.add_curvatures(motion.q, multipliers, lam, self.blocks, gradient)
        if motion.turns is not None:
            points = program._points()
            self._to_unknowns(z[program.layout.q][points], motion.turns[points], gradient)
        if self.by_time is not None:
            self._by_time(motion, lam)

    def _commute(self, D: FloatArray) -> None:
        """Brackets of the multipliers with the displacements."""
        Z = self.tangents.brackets(self.lam)
        assert Z is not None
        self.blocks += np.einsum("kaibj,kbcj->kaibc", D, Z) + np.einsum("kaij,kajbc->kaibc", Z, D)

    def _to_unknowns(self, x: FloatArray, turns: FloatArray, gradient: FloatArray) -> None:
        """From tangents at the control points to unknowns: displacements x from the reference."""
        H = np.einsum("kaji,kajbc->kaibc", turns, self.blocks)
        H = np.einsum("kaibc,kbcj->kaibj", H, turns)
        curvature = self.tangents.curvature(x, gradient)
        assert curvature is not None
        for chi in range(x.shape[1]):
            H[:, chi, :, chi] += curvature[:, chi]
        self.blocks[:] = H
        if self.by_controls is not None:
            self.by_controls[:] = np.einsum("kuai,kaij->kuaj", self.by_controls, turns)

    def _by_time(self, motion: Motion, lam: FloatArray) -> None:
        """At given configurations rows are a / dt + b + c dt (see `Variational._rates`), found by three dt."""
        program, stepper, N = self.program, self.program.stepper, self.program.steps
        assert self.by_time is not None
        assert self.controls_by_time is not None
        r, dt = 1.01, motion.dt
        rows, D, C = program._rows, program._D, program._C
        self.by_time[:], self.controls_by_time[:] = 0.0, 0.0
        stepper.horizon_rows(motion.q, motion.u, dt, rows)
        totals = [float((lam * rows).sum())]
        for stretched, sign in ((r * dt, 1.0), (dt / r, -1.0)):
            stepper.horizon_blocks(motion.q, motion.u, stretched, rows, D, C)
            share = sign / ((r - 1.0 / r) * dt * N)
            self.by_time += share * np.einsum("kai,kaibj->kbj", lam, D)
            self.controls_by_time += share * np.einsum("kai,kaibj->kbj", lam, C)
            totals.append(float((lam * rows).sum()))
        if motion.turns is not None:
            self.by_time[:] = np.einsum("kbi,kbij->kbj", self.by_time, motion.turns[program._points()])
        middle, more, less = totals
        rate = (more - less) / (r - 1.0 / r)  # dt times the first derivative: c dt - a / dt
        both = (more + less - 2.0 * middle) / (r + 1.0 / r - 2.0)  # c dt + a / dt
        self.twice_by_time = (both - rate) / (dt * N) ** 2
