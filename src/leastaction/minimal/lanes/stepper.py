"""The stepper of `Grounded`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction._jit.walk import Walk
from leastaction._tuples import plain
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import ConvergenceError
from leastaction.integrators import FloatArray, Stepper
from leastaction.mechanism import Mechanism
from leastaction.minimal.lanes.arrays import (
    CONTACT,
    BatchSettings,
    GroundRecord,
    Touch,
    lane_arrays,
    lane_model,
)
from leastaction.minimal.lanes.cones import cones
from leastaction.minimal.lanes.known import refuse_unknown
from leastaction.minimal.lanes.rollout import rollout
from leastaction.minimal.lanes.steps import FINEST
from leastaction.record import Record

CARRIED, TOUCHED = ("near", "far"), ("lam", "kick", "before")
"""Arrays of a lane and of its contacts that go from step to step beside the record."""


WRITTEN = tuple(name for name in GroundRecord._fields if name != "memory")
"""Arrays of a record that the rollout fills."""


class GroundStepper(Stepper):
    """State (q, p); p of a time holds half of the impulses there, which belong to the step after.

    Attributes:
        model, settings, lane: what kernels read and write, see `arrays`.
        cones: `LANE_CONE` records; table: the shapes that they come from.
    """

    momentum = True
    acts = frozenset({"contacts", "limits", "dry friction"})
    carries = ("before",)

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        refuse_unknown(mechanism, "Grounded", "Maximal")
        self.cones, self.table = cones(mechanism)
        self.model = lane_model(mechanism, np.float64, self.cones)
        self.lane = lane_arrays(self.model, mechanism.nq)
        most = int(integrator.max_iterations)
        self.settings = BatchSettings(dt, float(integrator.tolerance), 1e-10, most, 0, 1, False)
        contacts = self.cones[self.cones.kind == CONTACT]  # which come first
        self.bodies = np.array([mechanism.body_index(self.table.names[k][0]) for k in contacts["shape"]], np.int64)
        self.steady = np.zeros(1, np.int64)
        self.reached = (0, np.zeros(mechanism.nu))
        self.log: list[tuple[int, FloatArray, FloatArray]] = []
        touch: Touch = self.lane.touch
        self._rollout = Bound(rollout, *plain((self.model, self.settings, self.lane[:-1], touch)))

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with momenta before impulses, the impulses of each step, iterations and parts."""
        self.log = []
        return super().record(steps) | {
            "before": np.zeros((steps + 1, self.mechanism.nv)),
            "impulses": np.zeros((steps + 1, len(self.lane.touch.lam))),
            "places": np.zeros((steps + 1, len(self.bodies), 4)),
            "iterations": np.zeros(steps + 1, np.int64),
            "divided": np.zeros(steps + 1, np.int64),
        }

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        lane = self.lane
        if first == 0:
            q, p = record["q"][:1], record["p"][:1]
            record["before"][0] = p[0]
            lane.near[:] = velocity_of_momentum(self.mechanism, q, p)[0] if p.any() else 0.0
            lane.far[:] = lane.near
            lane.touch.lam[:] = lane.touch.kick[:] = lane.touch.before[:] = 0.0
            self.steady[0] = 0
        rows = tuple(record[name][first : last + 1] for name in WRITTEN)
        controls = np.ascontiguousarray(u[:, 0, :, None])
        done = self._rollout(controls, (*rows, self.steady), first > 0)
        self.reached = (first + done, controls[-1, :, 0])
        if len(self.bodies):
            done_rows = slice(first + 1, first + done + 1)
            self.log.append((first, record["impulses"][done_rows], record["places"][done_rows]))
        return first + done

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        arrays, controls = [record[name] for name in WRITTEN], u.reshape(1, self.mechanism.nu, 1)
        walk = Walk(self._rollout, lambda row: (controls, (*(x[row : row + 2] for x in arrays), self.steady), True))
        impulses, places = record["impulses"], record["places"]

        def step(first: int) -> int:
            if first == 0:
                return self.advance(record, 0, 1, u)
            done = first + walk(first)
            self.reached = (done, u[0, 0])
            if len(self.bodies):
                self.log.append((first, impulses[first + 1 : done + 1], places[first + 1 : done + 1]))
            return done

        return step

    def _contacts_of(self, first: int, impulses: FloatArray, places: FloatArray) -> FloatArray:
        """Rows of contacts of steps from `first` on, as in `Record.contacts`, from their impulses and places."""
        touching = self.cones[: places.shape[1]]
        step, c = np.nonzero(impulses[:, touching.row] > 0.0)
        at, cone = places[step, c], touching[c]
        parts = impulses[step[:, None], cone.row[:, None] + np.arange(3)] / self.dt
        force = parts[:, :1] * cone.normal + parts[:, 1:2] * cone.first + parts[:, 2:] * cone.second
        point = at[:, :3] - cone.radius[:, None] * cone.normal
        pair = np.column_stack([np.full(len(c), -1), self.bodies[c]])
        return np.column_stack([first + step, pair, point, force, at[:, 3]]).astype(float)

    def noted_contacts(self) -> FloatArray:
        """See `Stepper.noted_contacts`."""
        return np.concatenate([*(self._contacts_of(*piece) for piece in self.log), np.zeros((0, 10))])

    def forget_contacts(self) -> None:
        """See `Stepper.forget_contacts`."""
        self.log = []

    def finish(self, record: Record) -> None:
        """Add the contacts, and to the last momentum half of the impulses there: those of a step that is forgotten."""
        record["contacts"] = self.noted_contacts()
        last, u = self.reached
        if 0 < last == len(record["p"]) - 1:
            memory, log = self.memory(), self.log
            ahead = self.record(2)
            for name in ("q", "p", "before"):
                ahead[name][1] = record[name][last]
            if self.advance(ahead, 1, 2, np.tile(u, (1, 1, 1))) == 2:
                record["p"][last] = ahead["p"][1]
            self.remember(memory)
            self.log = log

    def memory(self) -> Any:
        """See `Stepper.memory`."""
        touch: Touch = self.lane.touch
        kept = [getattr(self.lane, name).copy() for name in CARRIED]
        kept += [getattr(touch, name).copy() for name in TOUCHED]
        last, u = self.reached
        return kept, self.steady.copy(), (last, u.copy())

    def remember(self, memory: Any) -> None:
        """See `Stepper.remember`."""
        kept, self.steady[:], self.reached = memory
        for name, values in zip((*CARRIED, *TOUCHED), kept, strict=True):
            getattr(self.lane if name in CARRIED else self.lane.touch, name)[:] = values

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        return ConvergenceError(f"Grounded: no step of dt / {FINEST} converged", step=step, residuals=[])
