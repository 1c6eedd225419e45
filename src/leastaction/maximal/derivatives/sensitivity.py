"""Derivatives of a solved step and of what is read off a pose, as linear maps that work both ways in linear time.

At the solution x = (velocities, joint impulses) of F(x; z, P, u) = 0 the implicit function theorem gives

    dx = -F_x^-1 (F_z dz - dP - (dI/du) du)

with the Newton matrix F_x, which the graph factorises in linear time; contacts are eliminated from it as in Newton
(Bruedigam 2023, Section 5; Howell et al. 2022, Dojo, Section IV-E). Bodies vary by a turn in their own directions and a
shift in the world's: dz has six entries for each body.

What restitution asks of a step depends on the velocities V of the step before, so these are part of the state. Where
it is bounded by the work of the impulses (`contact.bounces`), the share that is kept is one more unknown, and that this
work stays what it is one more equation: a change of rank one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.cones import DRY
from leastaction.maximal.contact.features import by_moving_features, moved_features, moving_of
from leastaction.maximal.derivatives.colours import Neighbours
from leastaction.maximal.derivatives.second_phase import SecondPhase
from leastaction.maximal.derivatives.solved_steps import Solved, pairs_of
from leastaction.maximal.derivatives.sparse_blocks import Entries, Pushes, applied, factored, node_velocities, rotations

FloatArray = NDArray[np.float64]

INDEPENDENT = 1e-13
"""Share of a loop's equations that must be left beside stiff contacts for them to count as independent; without loops
they are independent all the same."""


class Bars(NamedTuple):
    """Gradient of an objective by a state of bodies: poses, momenta and velocities of the step before, (bodies, 6)."""

    poses: FloatArray
    momenta: FloatArray
    velocities: FloatArray

    @classmethod
    def zero(cls, n: int) -> Bars:
        """Of an objective that does not know the state of the n bodies."""
        return cls(*np.zeros((3, n, 6)))


class Late(NamedTuple):
    """Contacts that a solution of a step had missed, and where they are by where the bodies end in it.

    Attributes:
        step: derivative of that solution.
        by_ends: outputs of the next solution by the poses at the end of this one.
        found: those contacts again at displaced poses, for the second phase.
    """

    step: StepMap
    by_ends: Entries
    found: Any


class Told(NamedTuple):
    """Gradient by all that a solved step computes at its unknowns.

    Attributes:
        step: its derivative.
        outputs: gradient by its outputs.
        work: gradient by the work of the impulses at fixed impulses and velocities, see `StepMap.work`.
        momenta: gradient by the momenta after its second phase.
    """

    step: StepMap
    outputs: FloatArray
    work: float
    momenta: FloatArray


class StepMap:
    """Derivative of a solved step by poses, momenta, velocities before and controls.

    All that a step computes are its outputs (`sensitivity_kernels.outputs`): equations, what cones ask for, momenta at
    the end, and what the cones push with. Their partial derivatives by poses and velocities and Newton's factors make
    the derivative both ways. Contacts that are found in an earlier solution of the step depend on that one.

    Args:
        solved: the step.
        neighbours: bodies that stand in common equations.
        earlier: those of its earlier solutions.

    Attributes:
        Jz, Jx: outputs by poses at the start, and momenta at the end by velocities.
        ldu: factors of the Newton matrix, cones eliminated.
        second: its second phase; carried: state at the end, before momenta are projected on closed loops.
        push: impulses (bodies, 6) of the cones at the start.
        cones: their unit wrenches; motion: what they ask of their impulses by the velocities.
        approach: what cones ask for by the velocities before, of those where restitution acts; numbers of these.
        kept: what they ask for by the share of their restitution that they keep, shape (number, 3); None where that is
            all of it.
        start_drives, end_drives: impulses at the start and end per control.
        late: contacts that its earlier solutions missed, if any of them moves with these.
        turned, spun: turns at the end by turns at the start and by angular velocities, shape (bodies, 3, 3).
    """

    def __init__(self, solved: Solved, neighbours: Neighbours, earlier: Sequence[StepMap] = ()) -> None:
        self.solved, self.neighbours = solved, neighbours
        s, n = solved.stepper, len(solved.V)
        sparsity = neighbours.step
        J = np.zeros((len(sparsity.owner), 12))
        result, cones = solved.outputs(sparsity.colours, J, solved.model, solved.contacts)
        spun = s.dt * rotations(solved.end.Z).transpose(0, 2, 1) @ solved.data.bodies.E.reshape(-1, 3, 3)
        self.ldu = factored(s.ldu, solved.data.factors.values, self._dependent() if solved.count else s.ldu.tolerance)
        out, size = result.out, len(result.out)
        self.late: list[Late] = []
        self.found: list[Any] = []  # contacts of the second phase that move, found at the start
        moving = moving_of(solved) if len(solved.contacts) else np.zeros(0, np.int64)
        for k, (begin, end, Z) in enumerate(solved.found):
            own = moving[(moving >= begin) & (moving < end)]
            if not len(own):
                continue
            by_poses = by_moving_features(solved, own, Z, sparsity, neighbours.none)
            moved = moved_features(solved, own, Z) if s.halves < 1.0 else []
            if k == 0:
                J[:, :6] += by_poses
                self.found = moved
            else:
                self.late.append(Late(earlier[k - 1], Entries(sparsity, by_poses, size), moved))
        self.size = neighbours.size
        self.end = self.size + 3 * solved.count
        self.Jz, self.Jx = Entries(sparsity, J[:, :6], size), Entries(sparsity, J[:, 6:], size)
        cones = np.asarray(cones)  # whose fields are quicker to find than those of a record array
        bodies, wrenches = pairs_of(cones)
        self.cones = Pushes(n, bodies, wrenches)
        # Gaps are those of the end of the step, and so are their gradients; -W of them, as Newton eliminates cones.
        ends = np.stack([cones["ea"], cones["eb"]], axis=1)[:, :, None]
        rates = np.concatenate([ends, wrenches[:, :, 1:]], axis=2)
        self.motion = Pushes(n, bodies, -np.einsum("pij,psjk->psik", cones["W"].reshape(-1, 3, 3), rates))
        self.bouncing, self.approach, self.kept = self._approach(cones, solved, n)
        # Not those of the run, which may have been projected on closed loops: that comes at the end of a whole step.
        self.second = SecondPhase(solved, out[self.end : self.end + 6 * n].reshape(n, 6))
        self.carried = replace(solved.end, P=self.second.P)
        # As it was solved: derivatives are those of cones at the end of the central path (`rigid_response`).
        self.push = self.cones.on_bodies(impulses_of(solved.cones))
        self.start_drives = Pushes(n, result.start_bodies, result.start_columns[:, :, None])
        self.end_drives = Pushes(n, result.end_bodies, result.end_columns[:, :, None])
        self.spun, self.turned = spun, rotations(solved.end.Z).transpose(0, 2, 1) @ rotations(solved.start.Z)

    def _approach(self, cones: Any, solved: Solved, n: int) -> tuple[NDArray[np.int64], Pushes, FloatArray | None]:
        """What the cones ask of their impulses by the velocities of the step before, and by the share that is kept.

        The slack s = (gap - rest) / dt falls by e v_n where restitution acts, and impulses change by -W of that.
        """
        k = np.flatnonzero(np.zeros(len(cones), bool))
        bodies, wrenches = pairs_of(cones[k])
        change = -np.asarray(solved.contacts)["restitution"][cones["source"][k]][:, None] * cones["W"][k, ::3]
        share = np.ones(len(k))
        approach = Pushes(n, bodies, np.einsum("pj,psi->psji", share[:, None] * change, wrenches[:, :, 0]))
        # Shares that are all of it, or nothing, do not change with the state.
        if not ((share > 0.0) & (share < 1.0)).any():
            return k, approach, None
        V = np.where(bodies[:, :, None] >= 0, solved.start.V[bodies], 0.0)
        return k, approach, change * np.einsum("psi,psi->p", wrenches[:, :, 0], V)[:, None]

    @property
    def bounces(self) -> bool:
        """Whether restitution acts, so that velocities before count."""
        return len(self.bouncing) > 0

    def _dependent(self) -> float:
        """Share of a joint's equations beside stiff contacts below which they count as dependent."""
        return INDEPENDENT if self.solved.stepper.loops else 0.0

    @cached_property
    def _by_share(self) -> tuple[tuple[FloatArray, ...], float]:
        """Changes, as of `forward`, by the share of the restitution that is kept, and that of the impulses' work."""
        n, direct = len(self.solved.V), np.zeros((self.Jz.size, 1))
        direct[self.size : self.end].reshape(-1, 3)[self.bouncing] = self.kept
        none, controls = np.zeros((n, 6, 1)), np.zeros((max(self.solved.nodes) + 1, self.solved.u.shape[1], 1))
        changes = self._forward(none, none, none, controls, direct)
        return changes, float(self._work(none, changes)[0])

    @cached_property
    def _at_start(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._velocities(self.solved.stepper.model.bodies)

    def _velocities(self, bodies: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean of the velocities before and after the impulses of the start, see `bounces.work_of_cones`; slopes."""
        before, left = node_velocities(bodies, self.solved.start.V, -self.solved.start.before)
        after, right = node_velocities(bodies, self.solved.V, self.solved.stepper.dt)
        return 0.5 * (before + after), left, right

    def work(self, bodies: Any) -> float:
        """Work of the impulses of the start if the bodies were these, at the same impulses and velocities [J]."""
        return 0.0 if self.kept is None else float(np.vdot(self.push, self._velocities(bodies)[0]))

    def _work(self, dV: FloatArray, changes: tuple[FloatArray, ...]) -> FloatArray:
        """Change of the work of the impulses with the mean of the velocities before and after them, shape (m,)."""
        velocities, left, right = self._at_start
        _, _, dx, push = changes
        both = dV + dx
        both[:, :3] = applied(left, dV[:, :3]) + applied(right, dx[:, :3])
        return np.einsum("bi,bim->m", velocities, push) + np.einsum("bi,bim->m", 0.5 * self.push, both)

    def forward(self, dz: Any, dP: Any, dV: Any, du: Any, of: Any = None) -> tuple[FloatArray, ...]:
        """Changes (dz1, dP1, velocities), each shape (bodies, 6, m).

        Args:
            dz, dP: at the start, shape (bodies, 6, m).
            dV: of the velocities before, shape (bodies, 6, m).
            du: of the controls at the nodes of the whole step, shape (nodes, nu, m).
            of: gives, for a `StepMap`, the change of all its outputs by something else, shape (outputs, m), that of the
                work of the impulses, at fixed impulses and velocities, and that of the momenta of its second phase;
                None where there is nothing else.
        """
        direct, by_work, by_second = (None, 0.0, 0.0) if of is None else of(self)
        by_second = by_second + self.second.found_forward(self.found, dz)
        for step, by_ends, found in self.late:
            at = step.forward(dz, dP, dV, du, of)[0]
            moved = by_ends.times(at)
            by_second = by_second + self.second.found_forward(found, at)
            direct = moved if direct is None else direct + moved
        changes = self._forward(dz, dP, dV, du, direct)
        if self.kept is not None:
            by_share, work = self._by_share
            share = -(self._work(dV, changes) + by_work) / work
            changes = tuple(change + by * share for change, by in zip(changes, by_share, strict=True))
        return changes[0], self.second.forward(*changes[:2]) + by_second, changes[2]

    def _forward(self, dz: Any, dP: Any, dV: Any, du: Any, direct: Any) -> tuple[FloatArray, ...]:
        """`forward` while the share of the restitution stays.

        Args:
            dz, dP: at the start, shape (bodies, 6, m).
            dV: of the velocities before, shape (bodies, 6, m).
            du: of the controls at the nodes of the whole step, shape (nodes, nu, m).
            direct: change of all outputs by something else, shape (outputs, m).
        """
        (n, _, m), (start, end), N = dz.shape, self.solved.nodes, self.size
        change = self.Jz.times(dz) if direct is None else self.Jz.times(dz) + direct
        asked = change[N : self.end].reshape(-1, 3, m)
        asked[self.bouncing] += self.approach.of_bodies(dV)
        b = change[:N]
        on_bodies = dP + self.start_drives.on_bodies(du[start][:, None]) + self.cones.on_bodies(asked)
        b[: 6 * n] -= on_bodies.reshape(6 * n, m)
        dx = -self.ldu.solve(b, refinements=1)[: 6 * n].reshape(n, 6, m)
        change += self.Jx.times(dx)
        asked += self.motion.of_bodies(dx)
        dP1, push = change[self.end :].reshape(2, n, 6, m)
        dP1 = dP1 + self.end_drives.on_bodies(du[end][:, None])
        turns = applied(self.turned, dz[:, :3]) + applied(self.spun, dx[:, :3])
        shifts = dz[:, 3:] + self.solved.stepper.dt * dx[:, 3:]
        return np.concatenate([turns, shifts], axis=1), dP1, dx, push + self.cones.on_bodies(asked)

    def backward(self, bars: Bars) -> tuple[Bars, FloatArray, FloatArray, list[Told]]:
        """Gradients by (state at the start, controls at the start, at the end, what it computes at fixed unknowns).

        The last are those of this step and of its earlier solutions, if these count.

        Args:
            bars: gradients by the state at the end.
        """
        bP = bars.momenta
        bars = Bars(*self.second.backward(bars.poses, bP), bars.velocities)
        before, by_start, by_end, W, work = self._with_share(bars)
        told = [Told(self, W, work, bP)]
        before = before._replace(poses=before.poses + self.second.by_found(self.found, bP))
        for step, by_ends, found in self.late:
            bz = by_ends.transposed(W) + self.second.by_found(found, bP)
            more, at_start, at_end, own = step.backward(Bars(bz, np.zeros_like(bz), np.zeros_like(bz)))
            before = Bars(*(a + b for a, b in zip(before, more, strict=True)))
            by_start, by_end, told = by_start + at_start, by_end + at_end, told + own
        return before, by_start, by_end, told

    def _with_share(self, bars: Bars) -> tuple[Bars, FloatArray, FloatArray, FloatArray, float]:
        """`backward` of this solution alone: (state, controls at the start, at the end, outputs, work)."""
        if self.kept is None:
            return *self._backward(bars, None), 0.0
        (dz1, dP1, dx, _), work = self._by_share
        given = (bars.poses, dz1), (bars.momenta, dP1), (bars.velocities, dx)
        share = -sum(float((a * b[:, :, 0]).sum()) for a, b in given) / work
        velocities, left, right = self._at_start
        more, early, late = share * velocities, 0.5 * share * self.push, 0.5 * share * self.push
        early[:, :3] = applied(left.transpose(0, 2, 1), early[:, :3])
        late[:, :3] = applied(right.transpose(0, 2, 1), late[:, :3])
        bars = bars._replace(velocities=bars.velocities + late)
        before, by_start, by_end, W = self._backward(bars, more)
        before = before._replace(velocities=before.velocities + early)
        return before, by_start, by_end, W, share

    def _backward(self, bars: Bars, push: Any) -> tuple[Bars, FloatArray, FloatArray, FloatArray]:
        """`backward` while the share of the restitution stays."""
        n, dt, N = len(self.solved.V), self.solved.stepper.dt, self.size
        W = np.zeros(self.Jz.size)
        W[self.end : self.end + 6 * n] = bars.momenta.reshape(-1)
        if push is not None:
            W[self.end + 6 * n :] = push.reshape(-1)
            W[N : self.end] = self.cones.of_bodies(push).reshape(-1)
        right = np.zeros(N)
        by_velocities = self.Jx.transposed(W) + bars.velocities
        if push is not None:
            by_velocities += self.motion.on_bodies(W[N : self.end].reshape(-1, 3))
        by_velocities[:, :3] += applied(self.spun.transpose(0, 2, 1), bars.poses[:, :3])
        by_velocities[:, 3:] += dt * bars.poses[:, 3:]
        right[: 6 * n] = by_velocities.reshape(-1)
        y = -self.ldu.solve_transposed(right, refinements=1)
        by_momenta = -y[: 6 * n].reshape(n, 6)
        W[:N] = y
        if self.solved.count:
            W[N : self.end] += self.cones.of_bodies(by_momenta).reshape(-1)
        bz = self.Jz.transposed(W)
        bz[:, :3] += applied(self.turned.transpose(0, 2, 1), bars.poses[:, :3])
        bz[:, 3:] += bars.poses[:, 3:]
        bV = np.zeros((n, 6))
        if self.bounces:
            bV = self.approach.on_bodies(W[N : self.end].reshape(-1, 3)[self.bouncing])
        by_start = self.start_drives.of_bodies(by_momenta)[:, 0]
        return Bars(bz, by_momenta, bV), by_start, self.end_drives.of_bodies(bars.momenta)[:, 0], W


def impulses_of(cones: Any) -> FloatArray:
    """Impulses (cones, 3) along the directions of `pairs_of`; TURN has that of its contact, which pushes."""
    cones = np.asarray(cones)
    normal = np.where(cones["kind"] >= DRY, 0.0, cones["gam"])
    return np.concatenate([normal[:, None], cones["beta"]], axis=1)
