"""The stepper of `Minimal`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.batched_call import BatchedCall
from leastaction._jit.bound import Bound
from leastaction._tuples import plain
from leastaction.contact.broad_phase import reach_of_bodies
from leastaction.contact.penetration.overlapping_starts import overlapping
from leastaction.contact.penetration.penetration_messages import (
    DEEP,
    ROUNDED,
    contacts_of_failed_step,
    warn_of_overlap,
)
from leastaction.contact.penetration.penetration_resolution import clear_start
from leastaction.contact.penetration.penetration_search import Search
from leastaction.contact.solver.cone_kinds import CONTACT
from leastaction.dynamics.legendre import Velocities, velocity_of_momentum
from leastaction.dynamics.loops import check_closed, fitting_momentum, loop_jacobian
from leastaction.errors import ConvergenceError
from leastaction.initial_state.goal_rows import fill_goals
from leastaction.initial_state.initial_motions import MotionTable, joint_rates, places
from leastaction.integration.first_steps import FirstSteps
from leastaction.integration.integrators import FloatArray, Stepper
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.kept import kept_with_mechanism
from leastaction.minimal.contact.arrays import (
    BatchSettings,
    DetectedContacts,
    GroundRecord,
    RobotData,
    RobotModel,
    Touch,
    robot_arrays,
    robot_model,
)
from leastaction.minimal.contact.derivatives.backward_pass import GroundReversal, OneStep, Sweep
from leastaction.minimal.contact.derivatives.one_step import Linearization, is_plain
from leastaction.minimal.contact.derivatives.parameter_map import Derivative
from leastaction.minimal.contact.derivatives.step_replay import Replay
from leastaction.minimal.contact.detection.constraints import cones_and_shapes, starts_apart
from leastaction.minimal.contact.detection.logged_contacts import list_contacts
from leastaction.minimal.contact.robot_first_steps import GroundFirstSteps
from leastaction.minimal.contact.robot_variants import is_whole, whole_model
from leastaction.minimal.contact.rollout import hit_once, rollout, rollout_with_shapes
from leastaction.minimal.contact.steps import LAST
from leastaction.minimal.contact.unsupported import refuse_unknown

CARRIED = ("v_last", "v_older")
"""Arrays of a robot that are carried from step to step beside the record."""

SAME = 1e-9
"""Relative size of eigenvalues of loop compliances below which loop constraints count as redundant."""

LONG = 1e3
"""Length [m] of a robot from which on contacts may not converge to the tolerances."""

ROOM = 32
"""Initial capacity for detected contacts."""


GOALS = ("goals", "work")
"""Arrays of a record for prescribed motions, if any."""

WRITTEN = tuple(name for name in GroundRecord._fields if name not in ("memory", *GOALS))
"""Other arrays of a record that the rollout fills."""


Noted = tuple[int, int, FloatArray, FloatArray]
"""First of some steps, how many were done, and the impulses and places of their record."""


@kept_with_mechanism
def _model_of(mechanism: Mechanism, self_collision: bool) -> RobotModel:
    cones, shapes, _ = cones_and_shapes(mechanism, self_collision)
    return whole_model(mechanism, robot_model(mechanism, np.float64, cones, shapes))


class GroundStepper(Stepper):
    """Stepper of `Minimal` with the state (q, p).

    Attributes:
        model, settings, data: arrays of the kernels, see `arrays`.
        cones: `ROBOT_CONE` records; table: the shapes that they come from.
        bound: the compiled loop with all arguments but controls and rows.
        unread: row of the last stride whose contacts are not in the log yet; -1 for none.
        is_soft: whether there are soft contacts.
    """

    momentum = True
    can = frozenset({"accuracy", "linearize", "parameters", "reverse"})
    order = 2
    acts = frozenset({"contacts", "limits", "dry friction"})

    def __init__(self, integrator: Any, mechanism: Mechanism, dt: float) -> None:
        super().__init__(integrator, mechanism, dt)
        self.is_soft = "soft contact" in mechanism.special_parts
        refuse_unknown(mechanism, "Minimal", "Maximal", pushes=True)
        self.cones, _, self.table = cones_and_shapes(mechanism, integrator.self_collision)
        self.model = _model_of(mechanism, integrator.self_collision)
        most = int(integrator.max_iterations)
        self.settings = BatchSettings(dt, float(integrator.tolerance), 1e-10, most, 0, 1, False, dt)
        contacts = self.cones[self.cones.kind == CONTACT]  # contacts come first
        self.bodies = np.array([mechanism.body_index(self.table.names[k][0]) for k in contacts["shape"]], np.int64)
        self.own = int(self.cones.width.sum())  # number of impulses of permanent constraints
        self.steady = np.zeros(1, np.int64)
        self.reached = (0, np.zeros(mechanism.nu))
        self.log: list[Noted] = []
        self.found_log: list[Any] = []
        self.unread = -1
        self.no_goals, self.goals_given = (np.zeros((2, 0)), np.zeros(2)), False
        if mechanism.prescribed:
            self.carries = GOALS
        self.data: RobotData
        self._make_room(ROOM)

    def _make_room(self, room: int) -> None:
        """Allocate arrays for `room` detected contacts."""
        self.room, self.data = room, robot_arrays(self.model, self.mechanism.nq, room, is_whole(self.model))
        touch: Touch = self.data.touch
        entry = rollout if touch.found is None else rollout_with_shapes
        self.bound = Bound(entry, *plain((self.model, self.settings, self.data[:-1], touch)))

    def make_more_room(self) -> None:
        """Double the capacity for detected contacts; data carried from step to step are lost."""
        self._make_room(2 * self.room)

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Raise where loops are open at q."""
        if self.mechanism.tree.closure.count:
            check_closed(self.mechanism, q)
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Raise (or, with `project`, correct) where the velocity of p opens the loops."""
        if not self.mechanism.tree.closure.count or not p.any():
            return p
        _, A = loop_jacobian(self.mechanism, q)
        soft = velocity_of_momentum(self.mechanism, np.tile(q, (len(A), 1)), A)
        rates = soft @ p  # A M^-1 p
        impulses = np.linalg.pinv(soft @ A.T, rcond=SAME, hermitian=True) @ rates
        return fitting_momentum(p, p - impulses @ A, project)

    def goal_rows(self, table: MotionTable, first: int, last: int) -> FloatArray:
        """See `goal_rows.fill_goals`: all joint positions and velocities, home values where not prescribed."""
        m = self.mechanism
        rows = np.tile(np.concatenate([m.home(), np.zeros(m.nv)]), (last - first + 1, 1))
        for name, values in table.values.items():
            iq, iv = places(m, name)
            rows[:, iq] = values[first : last + 1]
            rows[:, m.nq + iv.start : m.nq + iv.stop] = joint_rates(values, table.dt)[first : last + 1]
        return rows

    @property
    def goal_rates(self) -> slice:
        """See `goal_rows.fill_goals`."""
        return slice(self.mechanism.nq, None)

    def clear_start(self, q: FloatArray, resting: Sequence[int] = ()) -> FloatArray:
        """Move overlapping links of a robot apart."""
        return clear_start(self._starts, q, resting) if len(self.table.shapes) else q

    def overlapping(self, q: FloatArray) -> NDArray[np.bool_]:
        """See `Stepper.overlapping`."""
        return overlapping(self._starts, q) if len(self.table.shapes) else np.zeros(len(q), bool)

    @cached_property
    def _starts(self) -> Search:
        return starts_apart(self.mechanism, self.integrator.self_collision)

    def record(self, steps: int) -> Record:
        """As `Stepper.record`, with the impulses, iterations and substeps of each step."""
        self.clear_contacts()
        m, rows = self.mechanism, steps + 1
        driven = {"goals": np.zeros((rows, m.nq + m.nv)), "work": np.zeros(rows)} if m.prescribed else {}
        elastic = {"elastic": np.zeros(rows)} if self.is_soft else {}
        return (
            super().record(steps)
            | driven
            | elastic
            | {
                "impulses": np.zeros((steps + 1, self.own)),
                "places": np.zeros((steps + 1, len(self.bodies), 4)),
                "iterations": np.zeros(steps + 1, np.int64),
                "divided": np.zeros(steps + 1, np.int64),
            }
        )

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """See `Stepper.advance`."""
        self._read_log()
        if first == 0:
            self.begin(record)
        if self.carries and not self.goals_given:
            fill_goals(self, record, first, last)
        if self.data.touch.found is not None:
            return self._advance_and_find(record, first, last, u)
        done, _ = self._run(record, first, last, u)
        return first + done

    def begin(self, record: Record) -> None:
        """Clear the memory of earlier steps, at row 0 of a record."""
        data, p = self.data, record["p"][0]
        data.v_last[:] = self._velocities.at(record["q"][0], p) if p.any() else 0.0
        data.v_older[:] = data.v_last
        data.touch.lam[:] = data.touch.kick[:] = 0.0
        self.steady[0] = 0
        if data.touch.found is not None:
            now = data.touch.found.now.view(np.ndarray)  # fields of a recarray are slow
            now["kept"], now["listed"] = 0, -1

    @cached_property
    def _velocities(self) -> Velocities:
        return Velocities(self.mechanism)

    def _run(self, record: Record, first: int, last: int, u: FloatArray) -> tuple[int, int]:
        """Run steps from `first` up to `last`; returns how many were done, and whether one failed."""
        rows = tuple(rows[first : last + 1] for rows in self.record_arrays(record))
        if len(self.no_goals[1]) <= last - first:
            self.no_goals = np.zeros((last - first + 1, 0)), np.zeros(last - first + 1)
        goals = tuple(record[name][first : last + 1] for name in self.carries) or self.no_goals
        controls = np.array(u[:, 0, :, None], order="C")  # a copy, since a read-only array would compile another kernel
        done, failed = self.bound(controls, (*rows, self.steady, *goals), first > 0)
        self.reached = (first + done, controls[-1, :, 0])
        if len(self.bodies):
            self.log.append((first, done, record["impulses"], record["places"]))
        return done, failed

    def record_arrays(self, record: Record) -> list[NDArray[Any]]:
        """`WRITTEN` of a record."""
        own = {"elastic": record["elastic"][:, None] if self.is_soft else np.zeros((len(record.q), 0))}
        return [own[name] if name in own else record[name] for name in WRITTEN]

    def _advance_and_find(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """`advance` with contact detection: restarts with more room where there was not enough."""
        memory, logged, at = self.memory(), (len(self.log), len(self.found_log)), first
        while at < last:
            found: DetectedContacts = self.data.touch.found
            found.now.written = 0
            done, failed = self._run(record, at, last, u[at - first :])
            if failed and found.now[0].full:
                del self.log[logged[0] :], self.found_log[logged[1] :]
                self.make_more_room()
                self.restore_memory(memory)
                at = first
                continue
            log = found.log[: found.now[0].written].copy()
            log = log[log[:, 0] < done]
            log[:, 0] += at
            self.found_log.append(log)
            at += done
            if failed:
                break
        return at

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """See `Stepper.stride`."""
        if self.carries:
            return super().stride(record, u)
        if self.data.touch.found is not None:
            return self._stride_and_find(record, u)
        arrays, controls = self.record_arrays(record), u.reshape(1, self.mechanism.nu, 1)
        last = self.steady, *self.no_goals
        walk = BatchedCall(self.bound, lambda row: (controls, (*(x[row : row + 2] for x in arrays), *last), True))
        impulses, places, at_end, touches = record["impulses"], record["places"], u[0, 0], len(self.bodies) > 0

        def step(first: int) -> int:
            if first == 0:
                return self.advance(record, 0, 1, u)
            done = first + walk(first)[0]
            self.reached = (done, at_end)
            if touches:
                self.log.append((first, done - first, impulses, places))
            return done

        return step

    def _stride_and_find(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """`stride` with contact detection, whose log is read on demand."""
        arrays, controls = self.record_arrays(record), u.reshape(1, self.mechanism.nu, 1)

        def arguments(row: int) -> tuple[Any, ...]:
            return controls, (*(x[row : row + 2] for x in arrays), self.steady, *self.no_goals), True

        impulses, places, last, touches = record["impulses"], record["places"], u[0, 0], len(self.bodies) > 0
        walk, carried = BatchedCall(self.bound, arguments), _Carried(self)

        def step(first: int) -> int:
            nonlocal walk, carried
            if first == 0:
                return self.advance(record, 0, 1, u)
            self._read_log()
            if walk.bound is not self.bound:  # the capacity has grown
                walk, carried = BatchedCall(self.bound, arguments), _Carried(self)
            carried.keep()
            carried.now["written"] = 0
            if walk(first)[1]:
                if not carried.now["full"][0]:
                    return first
                carried.bring_back()
                return self.advance(record, first, first + 1, u)
            self.reached, self.unread = (first + 1, last), first
            if touches:
                self.log.append((first, 1, impulses, places))
            return first + 1

        return step

    def first_steps(self) -> FirstSteps:
        """See `Stepper.first_steps`; prescribed motions follow a table of a run."""
        return super().first_steps() if self.carries else GroundFirstSteps(self)

    def _read_log(self) -> None:
        """Copy the contacts that the last stride has logged, before they are overwritten."""
        if self.unread >= 0:
            found: DetectedContacts = self.data.touch.found
            log = found.log[: int(found.now["written"][0])].copy()
            log[:, 0] += self.unread
            self.found_log.append(log)
            self.unread = -1

    def chunk_runner(self, states: Mapping[str, NDArray[Any]], u: FloatArray) -> Callable[[int], int] | None:
        """See `Stepper.chunk_runner`; not for robots with loops, whose start needs more preparation."""
        if self.data.touch.found is not None or self.mechanism.tree.closure.count or self.carries:
            return None
        names = [name for name in states if name not in ("q", "p")]
        runs = [
            Record(q, p, extras={name: states[name][k] for name in names})
            for k, (q, p) in enumerate(zip(states["q"], states["p"], strict=True))
        ]
        steps, pressing = u.shape[1], self.cones.row[: len(self.bodies)]
        least = -np.maximum(DEEP * self._reach[self.bodies], ROUNDED)

        def run(robot: int) -> int:
            record = runs[robot]
            start = record.q[0]
            if self.clear_start(start) is not start:
                return 0
            self.clear_contacts()
            done = self.advance(record, 0, steps, u[robot])
            if ((record["impulses"][1, pressing] > 0.0) & (record["places"][1, :, 3] < least)).any():
                return 0  # so that a warning names the overlapping bodies
            return done

        return run

    def _contacts_of(self, first: int, done: int, impulses: FloatArray, places: FloatArray) -> FloatArray:
        """Rows of contacts of `done` steps from `first` on, as in `Record.contacts`, from the record's arrays."""
        lam, places = impulses[first + 1 : first + done + 1], places[first + 1 : first + done + 1]
        out = np.empty((len(places) * len(self.bodies), 10))
        return out[: list_contacts(first, self.dt, lam, places, *self._touching, self.bodies, out)]

    @cached_property
    def _touching(self) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
        """Rows, frames and arms of contacts with planes, see `list_contacts`."""
        cones = self.cones.view(np.ndarray)[: len(self.bodies)]
        frames = np.stack([cones["normal"], cones["first"], cones["second"]], axis=1)
        return cones["row"].astype(np.int64), frames, cones["radius"][:, None] * cones["normal"]

    def logged_contacts(self) -> FloatArray:
        """See `Stepper.logged_contacts`."""
        self._read_log()
        return self._contacts(self.found_log, self.log)

    def _first_contacts(self) -> FloatArray:
        """Contacts of the first step."""
        self._read_log()
        found, own = ([log[log[:, 0] == 0] for log in self.found_log], [x for x in self.log if x[0] == 0])
        return self._contacts(found, [(0, min(done, 1), impulses, places) for _, done, impulses, places in own])

    def _contacts(self, found: Sequence[FloatArray], own: Sequence[Noted]) -> FloatArray:
        """Rows as in `Record.contacts`, of detected contacts and of those with planes."""
        on_planes = [self._contacts_of(*piece) for piece in own]
        if len(on_planes) == 1 and not any(map(len, found)):
            return on_planes[0]
        log = found[0].copy() if len(found) == 1 else np.concatenate([*found, np.zeros((0, 10))])
        log[:, 1:3] = self._first_bodies[log[:, 1:3].astype(int)]
        if not on_planes and len(found) == 1:
            return log
        log = np.concatenate([log, *on_planes])
        return log[np.argsort(log[:, 0], kind="stable")]

    @cached_property
    def _first_bodies(self) -> Any:
        """For each node the index of the first body of the mechanism that is part of it; last the world's, -1."""
        first = np.full(len(self.model.nodes) + 1, -1)
        for i in range(len(self.mechanism.bodies) - 1, -1, -1):
            node = self.mechanism.tree.frames[self.mechanism.body_names[i]][0]
            if node >= 0:
                first[node] = i
        return first

    def _say_overlaps(self, log: FloatArray) -> None:
        """Warn of bodies that overlap at the start, from the contacts of the first step."""
        soft = (frozenset(pair) in self._soft_pairs for pair in log[:, 1:3].astype(int).tolist())
        rigid = log[~np.fromiter(soft, bool, len(log))] if self.is_soft else log
        warn_of_overlap(rigid, [*self.mechanism.body_names, WORLD], self._reach)

    @cached_property
    def _soft_pairs(self) -> set[frozenset[int]]:
        """Pairs of bodies with soft contacts, with the indices of `_first_bodies`."""
        own, shapes = self.cones[: len(self.bodies)], self.model.shapes
        found = {frozenset((-1, int(i))) for i in self.bodies[own.compliance > 0.0]}
        if shapes is not None:
            pairs = shapes.pairs[shapes.softness[:, 0] > 0.0]
            ends = self._first_bodies[shapes.shapes.body[np.stack([pairs.a, pairs.b])]]
            found |= {frozenset(pair) for pair in ends.T.tolist()}
        return found

    @cached_property
    def _reach(self) -> FloatArray:
        """`reach_of_bodies` of each body."""
        tree = self.mechanism.tree
        reach = np.append(reach_of_bodies(self.table.shapes, len(tree.nodes)), 0.0)  # fixed bodies: -1
        return np.array([reach[tree.frames[name][0]] for name in self.mechanism.body_names])

    def clear_contacts(self) -> None:
        """See `Stepper.clear_contacts`."""
        self.log, self.found_log, self.unread = [], [], -1

    def finish(self, record: Record) -> None:
        """Add the contacts to the record, and warn of initial overlaps."""
        if self.logs_contacts:
            record["contacts"] = self.logged_contacts()
        self._say_overlaps(self._first_contacts())

    def memory(self) -> Any:
        """See `Stepper.memory`."""
        touch: Touch = self.data.touch
        kept = [getattr(self.data, name).copy() for name in CARRIED]
        kept += [touch.lam[: self.own].copy(), touch.kick.copy()]
        last, u = self.reached
        return kept, self.steady.copy(), (last, u.copy()), self._kept_impulses()

    def _kept_impulses(self) -> Any:
        """Keys and impulses of the detected contacts of the last step."""
        found: DetectedContacts | None = self.data.touch.found
        count = 0 if found is None else int(found.now[0].kept)
        return None if found is None else (found.keys[:count].copy(), found.impulses[:count].copy())

    def restore_memory(self, memory: Any) -> None:
        """See `Stepper.restore_memory`."""
        (v_last, v_older, lam, kick), self.steady[:], self.reached, impulses = memory
        data, touch = self.data, self.data.touch
        data.v_last[:], data.v_older[:], touch.kick[:] = v_last, v_older, kick
        touch.lam[: self.own] = lam
        if impulses is not None:
            count = len(impulses[0])
            if count > self.room:
                self._make_room(2 * count)
                self.restore_memory(memory)
                return
            touch.found.keys[:count], touch.found.impulses[:count] = impulses
            touch.found.now.kept, touch.found.now.listed = count, -1

    # ------------------------------------------------------------------ derivatives

    def with_dt(self, dt: float) -> GroundStepper:
        """See `Stepper.with_dt`; has separate arrays."""
        return self._with(dt, dt)

    def part(self, dt: float) -> GroundStepper:
        """A stepper for substeps of dt [s] of the steps of this one; has separate arrays."""
        return self._with(dt, self.settings.whole)

    def _with(self, dt: float, whole: float) -> GroundStepper:
        other = copy.copy(self)
        for own in ("_hit_once", "linearization"):
            other.__dict__.pop(own, None)
        other.dt, other.settings = dt, self.settings._replace(dt=dt, whole=whole)
        other.steady = np.zeros(1, np.int64)
        other.clear_contacts()
        other._make_room(self.room)
        return other

    def hit(self, q: FloatArray, p: FloatArray, number: int) -> bool:
        """Change momenta p by impact `number` at q; returns whether there is any. See `hit_once`."""
        return bool(self._hit_once(q, p, number))

    @cached_property
    def _hit_once(self) -> Any:
        return Bound(hit_once, *plain((self.model, self.settings, self.data[:-1], self.data.touch)))

    def memory_after(self, v_last: FloatArray, impulses: FloatArray) -> Any:
        """`memory` after a step without substeps, with known mean velocities and impulses."""
        kept = [v_last, v_last, 0.5 * impulses, np.zeros_like(v_last)]
        own: DetectedContacts | None = self.data.touch.found
        found = None if own is None else (own.keys[:0].copy(), own.impulses[:0].copy())
        return kept, np.ones(1, np.int64), (0, np.zeros(self.mechanism.nu)), found

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self)

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.linearize`."""
        found = None if self.linearization is None else self.linearization.at(q, p, u)
        if found is not None:
            return found[0].copy(), found[1].copy()
        return OneStep(self._replay, q, p, u).jacobians()

    @cached_property
    def linearization(self) -> Linearization | None:
        """`Linearization` for A and B in one call, of robots that it supports."""
        return Linearization(self.part(self.dt)) if is_plain(self.model, self.mechanism.nu) else None

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """See `Stepper.pull_back`."""
        return self.pull_back_all(q, p, u, bar, ())[0]

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """See `Stepper.pull_back_all`."""
        n, sweep = self.mechanism.nv, Sweep([Derivative(self, stencil) for stencil in stencils])
        bar[:n], bar[n:], by_controls = OneStep(self._replay, q, p, u[0]).backward(sweep, bar[:n], bar[n:])
        return by_controls[None], sweep.by_parameters

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """See `Stepper.parameter_jacobian`."""
        step = OneStep(self._replay, q, p, u)
        columns = [step.by_parameter(Derivative(self, stencil)) for stencil in stencils]
        return np.column_stack([np.zeros((2 * self.mechanism.nv, 0)), *columns])

    def reverse(self, names: Sequence[str]) -> GroundReversal:
        """See `Stepper.reverse`."""
        return GroundReversal(self, names)

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """See `Stepper.failure`."""
        why = f"Minimal: no step of dt / {LAST} converged"
        if (size := longest(self.mechanism)) > LONG:
            why += f"; with lengths of {size:.2g} m its tolerances [m] are round-off: take a larger unit, or Maximal"
        if len(self.table.shapes):
            why += contacts_of_failed_step(self.table, self._starts.model.poses(record.q[step]), step)
        if names := self.mechanism.prescribed:
            why += f"; do the prescribed motions ({', '.join(names)}) leave room for what they push?"
        return ConvergenceError(why, step=step, residuals=[])


class _Carried:
    """Checkpoint of `GroundStepper.memory` in preallocated arrays, for a step that runs out of room."""

    def __init__(self, stepper: GroundStepper) -> None:
        touch: Touch = stepper.data.touch
        own = [getattr(stepper.data, name) for name in CARRIED]
        own += [touch.lam[: stepper.own], touch.kick, stepper.steady]
        found: DetectedContacts = touch.found
        self.now = found.now.view(np.ndarray)  # fields of a recarray are slow
        self.pairs = [(x, np.empty_like(x)) for x in (*own, found.keys, found.impulses, self.now) if x.size]

    def keep(self) -> None:
        """Store the checkpoint."""
        for x, kept in self.pairs:
            kept[...] = x

    def bring_back(self) -> None:
        """Restore the checkpoint."""
        for x, kept in self.pairs:
            x[...] = kept
        self.now["listed"] = -1


def longest(mechanism: Mechanism) -> float:
    """Largest distance between joints, or from a joint to a centre of mass, or radius of gyration [m]."""
    sizes = [float(np.linalg.norm(joint.pose.position)) for joint in mechanism.joints]
    for body in mechanism.bodies:
        sizes.append(float(np.linalg.norm(body.inertia.com)))
        if body.inertia.mass > 0.0:
            sizes.append(float(np.sqrt(np.trace(body.inertia.matrix) / body.inertia.mass)))
    return max(sizes, default=0.0)
