"""`BatchRun`: what a batch gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError, LeastActionError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.trajectory.trajectory import Trajectory

FloatArray = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class BatchRun:
    """Runs of many robots. `run[k]` is that of robot k, a `Trajectory`; `run[k].save(path)` writes it to a file.

    Attributes:
        mechanism: the robot, where parameters do not differ; see `mechanisms`.
        integrator: of all of them.
        dt: time step [s].
        every: steps from one recorded state to the next.
        t: times of the recorded states [s], shape (rows,).
        device_q, device_second: joint positions, shape (rows, nq, robots), and momenta (or velocities, where the
            integrator solves for them), shape (rows, nv, robots), where they are: arrays of NumPy or of the GPU, which
            PyTorch, JAX and CuPy take without a copy.
        momentum: whether they are momenta.
        failed: step that had no solution, or -1, shape (robots,). States after it are NaN.
        reasons: why, by robot.
        iterations: Newton iterations of all steps of each robot, shape (robots,).
        seconds: what the steps took by the clock [s], compiling of a first call included.
        mechanisms: the robot of each row, where parameters differ.
        parts: of all steps of each robot, more than there are steps where some were divided; None where not recorded.
    """

    mechanism: Mechanism
    integrator: Integrator
    dt: float
    every: int
    t: NDArray[np.float64]
    device_q: Any
    device_second: Any
    momentum: bool
    failed: NDArray[np.int64]
    reasons: dict[int, str]
    iterations: NDArray[np.int64]
    seconds: float
    mechanisms: tuple[Mechanism, ...] = field(default=())
    parts: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Number of robots."""
        return len(self.failed)

    @cached_property
    def q(self) -> FloatArray:
        """Joint positions [rad or m], shape (robots, rows, nq), on this side."""
        return _here(self.device_q)

    @cached_property
    def _second(self) -> FloatArray:
        return _here(self.device_second)

    @cached_property
    def p(self) -> FloatArray:
        """Momenta, shape (robots, rows, nv); only of integrators that solve for them."""
        if not self.momentum:
            raise LeastActionError(f"{type(self.integrator).__name__} solves for velocities: take `v`")
        return self._second

    @cached_property
    def v(self) -> FloatArray:
        """Joint velocities [rad/s or m/s], shape (robots, rows, nv)."""
        if not self.momentum:
            return self._second
        robots = self.mechanisms or (self.mechanism,) * len(self)
        out = np.full(self._second.shape, np.nan)
        for k, robot in enumerate(robots):
            rows = np.isfinite(self.q[k]).all(axis=1)
            q, p = self.q[k, rows].astype(float), self._second[k, rows].astype(float)
            out[k, rows] = velocity_of_momentum(robot, q, p)
        return out

    @property
    def success(self) -> bool:
        """Whether all robots reached the end."""
        return bool((self.failed < 0).all())

    def __getitem__(self, robot: int) -> Trajectory:
        """The run of one robot, up to where it failed: its states, without controls, iterations and contacts."""
        if not isinstance(robot, int | np.integer) or isinstance(robot, bool):
            raise IntegratorError(f"a batch is asked for the number of a robot, got {shown(robot)}")
        if not -len(self) <= robot < len(self):
            raise IndexError(f"there are {len(self)} robots, got number {shown(robot)}")
        robot %= len(self)
        rows = len(self.t) if self.failed[robot] < 0 else int(self.failed[robot]) // self.every + 1
        stored = {"p" if self.momentum else "v": self._second[robot, :rows].astype(float)}
        mechanism = self.mechanisms[robot] if self.mechanisms else self.mechanism
        q = self.q[robot, :rows].astype(float)
        return Trajectory(mechanism, self.integrator, self.dt * self.every, self.t[:rows], q, stored)

    def __repr__(self) -> str:
        bad = int((self.failed >= 0).sum())
        end = f", {bad} failed" if bad else ""
        return f"<BatchRun of {len(self)} x {self.mechanism.name!r}: to {self.t[-1]:g} s{end}>"


def _here(values: Any) -> FloatArray:
    """An array (rows, n, robots), wherever it is, as NumPy's (robots, rows, n)."""
    host = values.copy_to_host() if hasattr(values, "copy_to_host") else np.asarray(values)
    return np.ascontiguousarray(np.moveaxis(host, 2, 0))
