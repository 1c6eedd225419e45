"""Solving the steps of a run again, one by one and in the parts that they were solved in, to differentiate them.

A step that Newton cannot solve is divided (`rollout.run`). What it computes is then the chain of its parts, and so
is its derivative: that of the division as it was. Where a slight change of the state would divide the step otherwise,
the step jumps, as at a contact that switches.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.cones import CONE
from leastaction.contact.records import CONTACT
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError
from leastaction.integrators import FloatArray
from leastaction.maximal.arrays import plain
from leastaction.maximal.contact.features import moving_of
from leastaction.maximal.contact.missed_contacts import LAST_ROUND
from leastaction.maximal.coordinates.placement import momenta_of, place
from leastaction.maximal.derivatives.colours import Neighbours
from leastaction.maximal.derivatives.parted_steps import ends_of
from leastaction.maximal.derivatives.pose_map import PoseMap
from leastaction.maximal.derivatives.second_phase import first_wrenches
from leastaction.maximal.derivatives.sensitivity import StepMap
from leastaction.maximal.derivatives.solved_steps import BodyState, Solved
from leastaction.maximal.derivatives.sparse_blocks import places_of
from leastaction.maximal.prescribed import goals_at, mixed_goals, spread_goals
from leastaction.maximal.records import BALL, records
from leastaction.maximal.step.division import LAST
from leastaction.maximal.step.guess import AGAIN, FIRST, LATER
from leastaction.step_control.substeps import UNKNOWN

SAME = 1e-4
"""Largest difference of poses to those of the run [m and quaternions, relative to one and the largest position]."""

ALIKE = 1e-7
"""The same for the parts of a step that are found by halving it again: should it be divided otherwise than in the run,
as where Newton comes to its end from another guess, the difference is larger."""

MOST = 1000
"""Most patterns of contacts whose neighbourhoods are kept."""

PATIENT = 5
"""How many times as many iterations steps may take when they are solved again: from another guess, perhaps."""


OTHERWISE = (
    "Maximal: a step could not be solved again as it was the first time, so it has no derivative; take a smaller dt or "
    "a larger max_iterations"
)


class Parts:
    """The steps that one step of an integrator is composed of, each with a stepper of its own.

    Args:
        stepper: a `MaximalStepper`.

    Attributes:
        lengths: of the composition [s]; each of them may be divided further.
        goals: where prescribed motions are at the end of the step that is solved, a row of `MaximalRecord.goals`; None
            where they stay.
        fast: bodies whose spin at the start of a run is beyond the chart of a step, and not guessed.
    """

    def __init__(self, stepper: Any) -> None:
        self.stepper = stepper
        self.steppers: dict[tuple[float, int], Any] = {}
        self.lengths: list[float] = (stepper.substeps * stepper.dt).tolist()
        self.near_pairs_at: BodyState | None = None
        self.goals: FloatArray | None = None
        self.fast = np.zeros((len(stepper.model.bodies), 1), bool)
        self.places = places_of(stepper.model, stepper.mechanism.nv)
        coordinates = stepper.model.coordinates
        self.ends = np.stack([coordinates.a, coordinates.b], axis=1)[self.places[:, 0]]
        self._single = np.flatnonzero((coordinates.iq >= 0) & (coordinates.kind < BALL))
        self._single_q = coordinates.iq[self._single]
        self._neighbours: dict[bytes, Neighbours] = {}

    def stepper_of(self, h: float, patience: int) -> Any:
        """Stepper for a part of length h with so many times the iterations."""
        if (h, patience) not in self.steppers:
            own = self.stepper.integrator
            plain = replace(own, order=min(own.order, 2), max_iterations=patience * own.max_iterations)
            # Not by `prepare`: parts of a composed step may go backwards.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they came when `stepper` was made
                s = self.steppers[h, patience] = type(self.stepper)(plain, self.stepper.mechanism, h)
            own = self.stepper.settings
            names = ("kappa", "whole", "balanced", "compliance", "angular_compliance", "response_smoothing")
            s.acts, s.settings = self.stepper.acts, s.settings._replace(**{name: getattr(own, name) for name in names})
            s._plan(None)
            if self.near_pairs_at is not None:
                self._plan(s, self.near_pairs_at)
        return self.steppers[h, patience]

    def start(self, q: FloatArray, p: FloatArray) -> BodyState:
        """Bodies of joint positions and momenta, as at the start of a run."""
        s = self.stepper
        v = velocity_of_momentum(s.mechanism, q[None], p[None])[0]
        Z, twists, rates = place(s.model, q, v)
        # The guess of `MaximalStepper.begin`.
        self.fast = 0.5 * s.dt * np.linalg.norm(twists[:, :3], axis=1, keepdims=True) > 0.9
        V = np.hstack([np.where(self.fast, 0.0, twists[:, :3]), twists[:, 3:]])
        goals = goals_at(s.model, q) if len(s.model.goals) else None
        return BodyState(Z, momenta_of(s.model, Z, twists, rates), q.copy(), self.near(q), V, True, goals)

    def near(self, q: FloatArray) -> FloatArray:
        """Coordinates of the joints; zero for those that close loops, and for balls."""
        out = np.zeros(len(self.stepper.model.coordinates))
        out[self._single] = q[self._single_q]
        return out

    def plan(self, at: BodyState) -> None:
        """Lay out which bodies may touch near a state."""
        self.near_pairs_at = at
        for s in self.steppers.values():
            self._plan(s, at)

    def _plan(self, s: Any, at: BodyState) -> None:
        if s.contact is not None and len(s.table.movers) > 1:
            s.data.bodies.w, s.data.bodies.vc = at.V[:, :3], at.V[:, 3:]
            s._plan(at.Z)

    def divided(self, q: FloatArray, p: FloatArray, u: FloatArray) -> Any:
        """How the steps of the composition are divided from (q, p) on; None for a plain step, which tells itself."""
        if len(self.lengths) == 1:
            return None
        s = self.stepper
        record = s.record(1)
        record["q"][0], record["p"][0] = q, p
        if s.advance(record, 0, 1, u[None]) < 1:
            raise s.failure(0, record)
        return record["substeps"][1]

    def solve(
        self, h: float, at: BodyState, u: FloatArray, nodes: Any, patience: int, goals: Any = None
    ) -> tuple[Solved, FloatArray]:
        """Solve a part of length h; with it comes where its substeps end, so it holds only where there are none.

        Args:
            u: controls at the nodes of the whole step, (nodes, nu).
            nodes: those at the ends of this part.
            patience: see `stepper_of`.
            goals: where prescribed motions are at its end; by default `goals` of this.
        """
        s = self.stepper_of(h, patience)
        solved, divided, rounds = self._solve(s, at, u, nodes, goals)
        if divided.any() or not rounds or not len(moving_of(solved)):
            return solved, divided
        earlier: list[Solved] = []
        for k in range(rounds):
            one, otherwise, _ = self._solve(s, at, u, nodes, goals, k)
            if otherwise.any():
                raise IntegratorError(OTHERWISE)
            earlier.append(replace(one, earlier=tuple(earlier)))
        return replace(solved, earlier=tuple(earlier)), divided

    def _solve(
        self, s: Any, at: BodyState, u: FloatArray, nodes: Any, goals: Any, rounds: int = LAST_ROUND
    ) -> tuple[Solved, FloatArray, int]:
        """`solve` with a stepper, up to a solution of a number of rounds; with it comes how many there were."""
        u = u[list(nodes)]
        record = s.record(2)
        record["rigid_poses"][:2], record["momenta"][1], record["q"][1] = at.Z, at.P, at.q
        ends = (at.goals, self.goals if goals is None else goals)
        ends = ends if ends[1] is not None else (at.goals, at.goals)
        if at.goals is not None:
            s.told, record["goals"][1:] = True, ends
        data, bodies = s.data, s.data.bodies
        data.coordinates.value = at.near
        bodies.w, bodies.vc = at.V[:, :3], at.V[:, 3:]
        bodies.x, bodies.slope, data.past.known = at.V, 0.0, FIRST if at.fresh else AGAIN
        if at.slope is not None:
            bodies.slope, data.past.known = at.slope, LATER
        data.past.dt, data.past.kinetic, data.kicks[:] = at.before, -1.0, 0.0
        data.rows.lam = data.rows.mu = data.rows.owed = 0.0
        if s.contact is not None:
            s.contact.now.known = 0  # no warm start
        own = s.settings
        if rounds != own.rounds:
            s.settings = own._replace(rounds=rounds)
            s._bind()
        try:
            if s.advance(record, 1, 2, u[None] if s.halves < 1.0 else u[None, :1]) < 2:
                raise s.failure(0, record)
        finally:
            if s.settings is not own:
                s.settings = own
                s._bind()
        if s.contact is not None and s.contact.now[0].hits:
            raise IntegratorError("Maximal: an impact with restitution has no derivative step by step")
        data = s.data
        V = np.hstack([data.bodies.w, data.bodies.vc])
        Z, P, q = (np.array(record[name][2]) for name in ("rigid_poses", "momenta", "q"))
        end = BodyState(Z, P, q, data.coordinates.value.copy(), V, goals=ends[1], before=s.dt)
        impulses, u = np.array(data.rows.lam), np.array(u, order="C")
        spread = np.stack([spread_goals(s.model, row) for row in ends])
        cones, contacts = records(0, CONE), records(0, CONTACT)
        if s.contact is not None:
            first_wrenches(*s.problem, plain(s.contact), (at.Z, at.P, at.near, at.q.copy()))
            cones = s.contact.cones[: s.contact.now[0].count].copy()
            contacts = s.contact.contacts[: int(cones.source.max(initial=-1)) + 1].copy()
        solved = Solved(s, at, V, nodes, u, s.arrays, data, cones, contacts, impulses, end, self.places, spread)
        rounds = 0
        if s.contact is not None:
            now = s.contact.now[0]
            rounds, scale = int(now.rounds), (float(now.load), float(now.energy))
            solved = replace(solved, scale=scale)
        return solved, record["substeps"][2, 0].copy(), rounds

    def run(self, at: BodyState, u: FloatArray, divided: Any = None) -> list[StepMap]:
        """Solve and differentiate all parts of a step.

        Args:
            u: controls at the nodes of the whole step, (nodes, nu).
            divided: how each step of the composition was divided; to be found out by default.
        """
        maps: list[StepMap] = []
        for j, h in enumerate(self.lengths):
            nodes = (0, 0) if self.stepper.halves == 1.0 else (j, j + 1)
            maps += self._parts(h, at, u, nodes, None if divided is None else divided[j])
            at = maps[-1].carried
        return maps

    def _parts(self, h: float, at: BodyState, u: FloatArray, nodes: Any, divided: Any) -> list[StepMap]:
        """One step of the composition."""
        if divided is not None and divided[0] == UNKNOWN:
            raise IntegratorError("Maximal: a step was divided so finely that the run does not tell its substeps")
        patient = divided is not None and not divided.any()
        whole, found = self.solve(h, at, u, nodes, PATIENT if patient else 1)
        divided = found if divided is None else divided
        if not found.any() and not divided.any():
            return [self._map(whole)]
        if divided[0] == UNKNOWN:
            return self._found_again(h, at, u, nodes, whole)
        maps: list[StepMap] = []
        begin, share = at, 0.0
        for end in ends_of(divided)[0]:
            length, share = end - share, end
            solved, found = self.solve(h * length, at, u, nodes, PATIENT, self._goals_at(begin, share))
            if found.any():
                raise IntegratorError(OTHERWISE)
            maps.append(self._map(solved))
            at = maps[-1].carried
        return maps

    def _goals_at(self, begin: BodyState, share: float) -> FloatArray | None:
        """Where prescribed motions are when a share of the step from `begin` is over; None where they stay."""
        if begin.goals is None or self.goals is None:
            return None
        return mixed_goals(self.stepper.model, begin.goals, self.goals, share)

    def _found_again(self, h: float, at: BodyState, u: FloatArray, nodes: Any, whole: Solved) -> list[StepMap]:
        """Parts of a step of h whose record has no room for how it was divided.

        Args:
            whole: the step, as a run divides it.
        """
        maps = self._halves(h, at, u, nodes, at, (0.0, 1.0))
        found, Z = maps[-1].carried.Z, whole.end.Z
        if np.abs(found - Z).max() > ALIKE * (1.0 + np.abs(Z).max()):
            raise IntegratorError(OTHERWISE)
        return maps

    def _halves(
        self, h: float, at: BodyState, u: FloatArray, nodes: Any, begin: BodyState, shares: tuple[float, float]
    ) -> list[StepMap]:
        """Parts of a step of h from `begin` on between two shares of it, halved until each is solved as a whole.

        Their guess is that of the run: how far it is halved depends on how fast Newton converges.
        """
        maps: list[StepMap] = []
        middle = 0.5 * (shares[0] + shares[1])
        for half in ((shares[0], middle), (middle, shares[1])):
            length = h * (half[1] - half[0])
            if abs(length) * LAST < abs(h):
                raise IntegratorError(OTHERWISE)
            solved, found = self.solve(length, at, u, nodes, 1, self._goals_at(begin, half[1]))
            maps += self._halves(h, at, u, nodes, begin, half) if found.any() else [self._map(solved)]
            last = maps[-1].solved
            apart = last.stepper.dt if last.start.fresh else 0.5 * (last.start.before + last.stepper.dt)
            at = replace(maps[-1].carried, slope=(last.V - last.start.V) / apart)
        return maps

    def _map(self, solved: Solved) -> StepMap:
        """Differentiate a solved step, and its earlier solutions."""
        maps: list[StepMap] = []
        for one in (*solved.earlier, solved):
            cones = np.asarray(one.cones)
            pairs = np.stack([cones["a"], cones["b"]], axis=1)
            maps.append(StepMap(one, self._neighbours_of(one.stepper, pairs), tuple(maps)))
        return maps[-1]

    def _neighbours_of(self, s: Any, pairs: NDArray[np.int64]) -> Neighbours:
        """Bodies that stand in common equations, with cones between these pairs."""
        key = pairs.tobytes()
        if key not in self._neighbours:
            if len(self._neighbours) >= MOST:
                self._neighbours.clear()
            self._neighbours[key] = Neighbours(s.model, s.ldu.rows, map(tuple, pairs.tolist()))
        return self._neighbours[key]

    def poses(self, at: BodyState, like: StepMap | None = None) -> PoseMap:
        """Joints and bodies at a state; like: a step that has been differentiated, any."""
        if like is not None:
            return PoseMap(like.solved.stepper, like.neighbours, at, self.ends)
        s = self.stepper_of(self.lengths[0], PATIENT)
        return PoseMap(s, self._neighbours_of(s, np.zeros((0, 2), np.int64)), at, self.ends)


class Replay:
    """The steps of a run, or of a piece of it, each from the state that the run had.

    Args:
        parts: of the run's stepper.
        record: states of the run by name, such as a `Record`.
        u: controls at the nodes of each step, shape (steps, nodes, nu).
        row: row of the record from which its steps start; where it is not 0, the run has begun before.
        first: number of the step that starts there.
    """

    def __init__(self, parts: Parts, record: Any, u: FloatArray, row: int = 0, first: int = 0) -> None:
        self.parts, self.record, self.u, self.row, self.first = parts, record, u, row, first
        none = np.zeros((len(record["q"]), len(parts.lengths), 1))
        self.divided = record.get("substeps", none)
        self.planned = False
        self._lengths: dict[int, float] = {}

    def step(self, k: int) -> list[StepMap]:
        """Solve and differentiate step k of the record, from its row `row + k`."""
        end = self.row + k + 1
        at = self.start(end - 1)
        if not self.planned or len(self.parts.stepper.table.movers) > 1:
            self.parts.plan(at)
            self.planned = True
        goals = self.record.get("goals")
        self.parts.goals = None if goals is None else goals[end]
        maps = self.parts.run(at, self.u[k], self.divided[end])
        found, stored = maps[-1].carried.Z, self.record["rigid_poses"][end]
        if np.abs(found - stored).max(initial=0.0) > SAME * (1.0 + np.abs(stored).max(initial=0.0)):
            raise IntegratorError(
                f"Maximal: step {self.first + k} of the run was solved again with another result: it has several "
                "solutions, so no derivative; take a smaller dt"
            )
        return maps

    def last_length(self, row: int) -> float:
        """Length of the last part of the step that ends at a row and was divided as the record cannot tell [s]."""
        if row not in self._lengths:
            self._lengths[row] = self.step(row - 1 - self.row)[-1].solved.stepper.dt if row > self.row else 0.0
        return self._lengths[row] or self.parts.lengths[-1]

    def start(self, row: int) -> BodyState:
        """State of a row, with the velocities of the step, or part of one, before it."""
        record, parts = self.record, self.parts
        if row == 0:
            start = parts.start(record["q"][0], record["p"][0])
            return start if "goals" not in record else replace(start, goals=record["goals"][0])
        q, Z, P = record["q"][row], record["rigid_poses"][row], record["momenta"][row]
        V = record.get("velocities")
        V = velocities(record["rigid_poses"][row - 1], Z, parts.stepper.dt) if V is None else V[row]
        goals, divided = record.get("goals"), self.divided[row, -1]
        before = parts.lengths[-1]
        if divided[0] == UNKNOWN:
            before = self.last_length(row)
        elif divided.any():
            before *= np.diff(np.append(0.0, ends_of(divided)[0]))[-1]
        return BodyState(Z, P, q, parts.near(q), V, goals=None if goals is None else goals[row], before=before)


def velocities(before: FloatArray, Z: FloatArray, dt: float) -> FloatArray:
    """Mean velocities (bodies, 6) of the step of dt [s] between two poses, where a record does not tell them."""
    a, b = before[:, 3:], Z[:, 3:]
    scalar = (a * b).sum(axis=1, keepdims=True)
    turn = a[:, :1] * b[:, 1:] - b[:, :1] * a[:, 1:] - np.cross(a[:, 1:], b[:, 1:])
    w = 2.0 * np.where(scalar < 0.0, -turn, turn) / dt
    return np.hstack([w, (Z[:, :3] - before[:, :3]) / dt])
