"""Derivatives of whole steps of `Minimal`, and the backward pass (adjoint) over its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Reversal
from leastaction.minimal.contact.arrays import bounces
from leastaction.minimal.contact.derivatives.impact_map import HitMap
from leastaction.minimal.contact.derivatives.one_step import Linearization
from leastaction.minimal.contact.derivatives.parameter_map import Derivative
from leastaction.minimal.contact.derivatives.step_replay import Replay
from leastaction.minimal.contact.derivatives.substep_map import PartMap, State
from leastaction.parameters.parameter_differences import by_name, stencils
from leastaction.typing import FloatArray

CONTROLS = "controls"

ALIKE = 1e-6
"""Largest difference [rad or m], for momenta relative to the largest, at which a repeated step counts as the same."""


class Sweep:
    """Backward pass over steps, with accumulated parameter gradients."""

    def __init__(self, derivatives: Sequence[Derivative]) -> None:
        self.derivatives = derivatives
        self.by_parameters = np.zeros(len(derivatives))

    def over(self, maps: Sequence[PartMap], bar: State) -> tuple[State, FloatArray]:
        """Gradients by the state at the start of a step and by its controls, from those by the state at its end.

        Args:
            maps: of its substeps.
            bar: gradients by the state at its end.
        """
        by_controls: Any = 0.0
        for j in range(len(maps) - 1, -1, -1):
            bar, by_u, W = maps[j].backward(bar)
            by_controls = by_controls + by_u
            for k, derivative in enumerate(self.derivatives):
                self.by_parameters[k] += W @ derivative.of(maps[j])
        return bar, by_controls


class OneStep:
    """Derivative of a whole step (q, p, u) -> (q', p'), as at the start of a run.

    Args:
        replay: of the stepper.
        q, p: start of the step; u: controls, shape (nu,).
    """

    def __init__(self, replay: Replay, q: FloatArray, p: FloatArray, u: FloatArray) -> None:
        self.replay, self.start = replay, replay.start(q, p)
        self.maps, self.end = replay.step(self.start, u, replay.stepper.dt)

    def forward(self, dq: FloatArray, dp: FloatArray, du: FloatArray, direct: Any = None) -> FloatArray:
        """Jacobian-vector products: changes of (q', p'), shape (2 nv, columns).

        Args:
            dq, dp, du: changes of start and controls, shapes (nv, columns) and (nu, columns).
            direct: derivative by a parameter for each substep, see `PartMap.forward`.
        """
        parts = [None] * len(self.maps) if direct is None else direct
        state = State(dq, dp, np.zeros((1, dq.shape[1])))
        for part, own in zip(self.maps, parts, strict=True):
            state = part.forward(state, du, own)
        return np.concatenate([state.q, state.p])

    def jacobians(self) -> tuple[FloatArray, FloatArray]:
        """(A, B) of `leastaction.linearize`."""
        n, nu = len(self.start.p), len(self.maps[0].solved.u)
        eye = np.eye(2 * n + nu)
        W = self.forward(eye[:n], eye[n : 2 * n], eye[2 * n :])
        return W[:, : 2 * n], W[:, 2 * n :]

    def backward(self, sweep: Sweep, bq: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients by q, p and the controls from those by q' and p'; `sweep` accumulates those by parameters."""
        bar, by_controls = sweep.over(self.maps, State(bq, bp))
        return bar.q, bar.p, by_controls

    def by_parameter(self, derivative: Derivative) -> FloatArray:
        """Derivative of (q', p') by one entry of a parameter, shape (2 nv,)."""
        n, nu = len(self.start.p), len(self.maps[0].solved.u)
        direct = [derivative.split(part) for part in self.maps]
        return self.forward(np.zeros((n, 1)), np.zeros((n, 1)), np.zeros((nu, 1)), direct)[:, 0]


class GroundReversal(Reversal):
    """See `Reversal`.

    Args:
        stepper: a `GroundStepper`.
        names: as for `Stepper.reverse`.
    """

    def __init__(self, stepper: Any, names: Sequence[str]) -> None:
        self.stepper, self.replay = stepper, Replay(stepper)
        m = stepper.mechanism
        self.names = [name for name in names if name != CONTROLS]
        found = [stencil for name in self.names for stencil in stencils(m, name)]
        self.sweep = Sweep([Derivative(stepper, stencil) for stencil in found])
        self.keeps_controls = CONTROLS in names
        self.controls: list[FloatArray] = []
        self.bar: State | None = None
        self.hit: HitMap | None = None  # impact at the start of the piece processed last
        self.before = np.zeros((2, 0, m.nv))  # gradients by q and p of states of the preceding piece
        self.first = np.zeros((2, m.nv))
        plain = not found and not bounces(stepper.model)
        self.quick: Linearization | None = stepper.linearization if plain else None

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """See `Reversal.piece`."""
        bars = np.stack([bq, bs])
        last = bars.shape[1] - 1
        bars[:, last - self.before.shape[1] : last] += self.before
        if self.quick is not None:
            bar = self.bar
            try:
                self._single_steps(self.quick, record, row, first, u, bars)
                return
            except IntegratorError:  # the run, with its warm start, has found another solution
                self.bar = bar
        maps, _ = self.replay.piece(record, row, first, u)
        if self.hit is not None:
            maps[-1][-1] = self.replay.ending_at(self.hit, maps[-1][-1], u[-1, 0])
        self.hit = maps[0][0] if row > 0 and isinstance(maps[0][0], HitMap) else None
        controls = np.zeros(u.shape)
        if self.bar is None:
            self.bar = State(bars[0, last], bars[1, last])
        for k in range(len(u) - 1, -1, -1):
            q, p = bars[:, row + k]
            bar, by_controls = self.sweep.over(maps[k], self.bar)
            self.bar = State(bar.q + q, bar.p + p, bar.t)
            controls[k, 0] += by_controls
        self._end(row, bars, controls)

    def _single_steps(
        self, quick: Linearization, record: Any, row: int, first: int, u: FloatArray, bars: FloatArray
    ) -> None:
        """`piece` by A and B of single steps, each from its state, where nothing but the state is carried over."""
        controls, n, replay = np.zeros(u.shape), bars.shape[2], self.replay
        if self.bar is None:
            self.bar = State(bars[0, -1], bars[1, -1])
        for k in range(len(u) - 1, -1, -1):
            at = row + k
            acting = np.clip(u[k, 0], replay.lower, replay.upper)
            found = quick.at(record["q"][at], record["p"][at], acting)
            if found is not None and self._same(quick, record, at + 1):
                A, B = found
                bar = np.concatenate([self.bar.q, self.bar.p])
                by_state, by_controls = bar @ A, np.where(acting == u[k, 0], bar @ B, 0.0)
                self.bar = State(by_state[:n], by_state[n:])
            else:
                self.bar, by_controls = self.sweep.over(replay.single(record, at, first + k, u[k, 0]), self.bar)
            self.bar = State(self.bar.q + bars[0, at], self.bar.p + bars[1, at])
            controls[k, 0] = by_controls
        self._end(row, bars, controls)

    def _same(self, quick: Linearization, record: Any, row: int) -> bool:
        """Whether a repeated step has the same end, within `ALIKE`."""
        q, p = quick.end
        moved = np.abs(self.stepper.mechanism.difference(record["q"][row], q)).max(initial=0.0)
        pushed = np.abs(record["p"][row] - p).max(initial=0.0)
        return bool(moved <= ALIKE and pushed <= ALIKE * max(1.0, np.abs(p).max(initial=0.0)))

    def _end(self, row: int, bars: FloatArray, controls: FloatArray) -> None:
        """Store the gradients of a piece that begins at a row."""
        if row == 0 and self.bar is not None:
            self.first = np.stack([self.bar.q, self.bar.p])
        self.before = bars[:, :row].copy()
        if self.keeps_controls:
            self.controls.append(controls)

    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """See `Reversal.finish`."""
        m = self.stepper.mechanism
        out = {"q": self.first[0], "p": self.first[1]}
        if self.keeps_controls:
            out[CONTROLS] = np.concatenate([*self.controls[::-1], np.zeros((0, 1, m.nu))])
        return out | by_name(m, self.names, self.sweep.by_parameters)
