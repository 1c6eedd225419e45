"""Going back over runs of `Maximal`: one transposed solve for each step, whatever the number of controls.

What a run carries from step to step are the poses and momenta of the bodies, and their velocities, which restitution
looks at. Joint positions and momenta are read off them.

A parameter stands in the equations of every step, in the projection of momenta on closed loops, and where joints are
read off bodies. With the gradients W by all of these at fixed unknowns, which the way back finds, its gradient is the
sum of W' d(equations)/d(parameter): a few evaluations for each step, no solve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.integrators import FloatArray, Reversal
from leastaction.maximal.derivatives.parameters import Derivative
from leastaction.maximal.derivatives.pose_map import PoseMap
from leastaction.maximal.derivatives.replay import Parts, Replay
from leastaction.maximal.derivatives.sensitivity import Bars, StepMap
from leastaction.maximal.derivatives.solved_steps import BodyState
from leastaction.maximal.derivatives.way_back import WayBack
from leastaction.maximal.prescribed import next_goals
from leastaction.parameter_stencils import by_name, stencils

CONTROLS = "controls"


class Sweep:
    """The way back over steps, and the sums of gradients by parameters on it.

    Args:
        parts: of a `MaximalStepper`.
        derivatives: by entries of parameters.
    """

    def __init__(self, parts: Parts, derivatives: Sequence[Derivative] = ()) -> None:
        self.parts, self.derivatives = parts, derivatives
        self.by_parameters = np.zeros(len(derivatives))

    def over(self, maps: list[StepMap], bars: Bars) -> tuple[Bars, FloatArray]:
        """(gradients by the state at the start of a step, by the controls at its nodes).

        Args:
            maps: of its parts.
            bars: gradients by the state at its end.
        """
        s = self.parts.stepper
        bu = np.zeros((len(s.control_nodes), s.mechanism.nu))
        for j in range(len(maps) - 1, -1, -1):
            bars, start, end, told = maps[j].backward(bars)
            bu[maps[j].solved.nodes[0]] += start
            bu[maps[j].solved.nodes[1]] += end
            for step, W, work, bP in told:
                for k, derivative in enumerate(self.derivatives):
                    self.by_parameters[k] += W @ derivative.outputs(step) + work * derivative.work(step)
                    self.by_parameters[k] += derivative.second(step, bP)
        return bars, bu

    def read(self, pose: PoseMap, bq: FloatArray, bp: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients by (poses, momenta), each (bodies, 6), from those by the q and p that are read off them."""
        for k, derivative in enumerate(self.derivatives):
            dq, dp = derivative.read(pose)
            self.by_parameters[k] += bq @ dq + bp @ dp
        bz = pose.positions_transposed(bq)
        return (bz + pose.momenta_transposed(bp), pose.move(bp)) if bp.any() else (bz, np.zeros_like(bz))

    def read_start(self, pose: PoseMap, P: FloatArray, bq: Any, bp: Any) -> Bars:
        """Gradients by the state that q and p are read off, with the momenta P of the bodies."""
        pose.hold(P, False, bend=bp.any())
        bz, bP = self.read(pose, bq, bp)
        return self.project(pose, Bars(bz, bP, np.zeros_like(bz)))

    def project(self, pose: PoseMap, bars: Bars) -> Bars:
        """Gradients by the state before its momenta were projected on closed loops."""
        if pose.projection is None:
            return bars
        bz, bP, y = pose.project_transposed(bars.momenta)
        for k, derivative in enumerate(self.derivatives):
            equations, pushed = derivative.projected(pose)
            self.by_parameters[k] += y @ equations + np.vdot(bars.momenta, pushed)
        return Bars(bars.poses + bz, bP, bars.velocities)

    def start(self, pose: PoseMap, bars: Bars) -> tuple[FloatArray, FloatArray]:
        """Gradients by the initial (q, p) from those by the state of the bodies there."""
        bz, bP = bars.poses, bars.momenta
        if pose.projection is not None:
            by_pose, by_momenta, y = pose.velocities_transposed(guessed(self.parts) * bars.velocities)
            bz, bP = bz + by_pose, bP + by_momenta
            for k, derivative in enumerate(self.derivatives):
                self.by_parameters[k] += y @ derivative.projected(pose)[0]
        by_p = pose.spread_transposed(bP)
        bz = bz - pose.momenta_transposed(by_p)
        for k, derivative in enumerate(self.derivatives):
            self.by_parameters[k] += np.vdot(bz, derivative.placed(pose.at)) - by_p @ derivative.read(pose)[1]
        return pose.gather(bz), by_p

    def end(self, end: BodyState, like: StepMap | None, bq: Any, bp: Any) -> Bars:
        """Gradients by the last state of a run, its momenta projected.

        Args:
            like: last part of the last step, if it has been differentiated.
            bq, bp: gradients by its joint positions and momenta.
        """
        if not (bq.any() or bp.any()):
            return Bars.zero(len(end.Z))
        pose = self.parts.poses(end, like)
        return self.read_start(pose, end.P, bq, bp)


class MaximalReversal(Reversal):
    """See `Reversal`.

    Args:
        stepper: a `MaximalStepper`, after its `prepare_start`.
        names: as for `Stepper.reverse`.
    """

    def __init__(self, stepper: Any, names: Sequence[str]) -> None:
        self.stepper, self.parts = stepper, Parts(stepper)
        self.names = [name for name in names if name != CONTROLS]
        found = [stencil for name in self.names for stencil in stencils(stepper.mechanism, name)]
        self.sweep = Sweep(self.parts, [Derivative(stepper, stencil) for stencil in found])
        self.compiled = has_way_back(self.sweep.derivatives)
        self.keeps_controls = CONTROLS in names
        self.controls: list[FloatArray] = []
        self.bars: Bars | None = None
        self.ahead: FloatArray | None = None  # goals after the end of the run
        nv = stepper.mechanism.nv
        self.before = np.zeros((2, 0, nv))  # gradients by q and p of states that belong to the piece before
        self.first = np.zeros((2, nv))

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """See `Reversal.piece`."""
        bq, bp = bars = np.stack([bq, bs])
        told = self.before.shape[1]
        if "goals" in record and self.bars is None:
            self.ahead = next_goals(record["goals"])
        bars[:, bars.shape[1] - 1 - told : bars.shape[1] - 1] += self.before
        replay, controls = Replay(self.parts, record, u, row, first), np.zeros(u.shape)
        way, k = None, len(u) - 1
        if self.compiled and "velocities" in record and k >= 0:
            way = WayBack(self.parts, record, replay.start(row), row, u, self.sweep.derivatives)
            if self.bars is None:
                last = replay.start(row + len(u))
                self.parts.plan(last)
                self.parts.goals = self.ahead
                self.bars = self.sweep.end(last, None, bq[row + len(u)], bp[row + len(u)])
        while k >= 0:
            if way is not None:
                assert self.bars is not None
                k, self.bars = way.over(k, self.bars, bq[row:], bp[row:], controls)
                if k < 0:
                    break
            maps, at = replay.step(k), row + k
            self._close(maps, bq[at + 1], bp[at + 1])
            assert self.bars is not None
            if at > 0:
                self._step(maps, bq[at], bp[at], controls[k])
            else:
                self.bars, by_controls = self.sweep.over(maps, self.bars)
                controls[k] += by_controls
            k -= 1
        if way is not None:
            self.sweep.by_parameters += way.by_parameters
        if row == 0 and self.bars is not None:
            start = replay.start(0)
            pose = self.parts.poses(start)
            pose.hold(start.P, bool(self.bars.velocities.any()))
            self.first = np.stack(self.sweep.start(pose, self.bars))
        if row == 0:
            self.first = self.first + bars[:, 0]
        self.before = bars[:, :row].copy()
        if self.keeps_controls:
            self.controls.append(controls)

    def _close(self, maps: list[StepMap], bq: Any, bp: Any) -> None:
        """From the end of a step to the momenta before they were projected.

        Gradients bq, bp by q and p only count at the end of a run: else the step after has seen to them.
        """
        last = maps[-1]
        end, pose = last.carried, None
        if self.stepper.loops:
            pose = self.parts.poses(end, last)
            end = replace(end, P=pose.hold(end.P, True))
        if self.bars is None:
            self.parts.goals = self.ahead
            self.bars = self.sweep.end(end, last, bq, bp)
        if pose is not None:
            self.bars = self.sweep.project(pose, self.bars)

    def _step(self, maps: list[StepMap], bq: Any, bp: Any, controls: FloatArray) -> None:
        """From the end of a step to its start, where q and p are read off."""
        assert self.bars is not None
        start, own = maps[0].solved.start, Bars.zero(len(self.bars.poses))
        if bq.any() or bp.any():
            own = self.sweep.read_start(self.parts.poses(start, maps[0]), start.P, bq, bp)
        bars, by_controls = self.sweep.over(maps, self.bars)
        controls += by_controls
        self.bars = Bars(*(a + b for a, b in zip(bars, own, strict=True)))

    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """See `Reversal.finish`."""
        m = self.stepper.mechanism
        out = {"q": self.first[0].copy(), "p": self.first[1].copy()}
        out["q"][prescribed_freedoms(m)] = 0.0  # a run starts where its motions say
        if self.keeps_controls:
            shape = (0, len(self.stepper.control_nodes), m.nu)
            out[CONTROLS] = np.concatenate([*self.controls[::-1], np.zeros(shape)])
        return out | by_name(m, self.names, self.sweep.by_parameters)


def has_way_back(derivatives: Sequence[Derivative]) -> bool:
    """Whether the compiled way back knows these gradients by parameters."""
    return all(variant.quick for derivative in derivatives for _, variant in derivative)


def guessed(parts: Parts) -> FloatArray:
    """1 for velocities (bodies, 6) that a run starts with, 0 for spins that are not guessed."""
    return np.where(np.arange(6) < 3, ~parts.fast, True).astype(float)
