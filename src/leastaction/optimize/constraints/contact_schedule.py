"""What holds the robot of a problem: loops, feet in phases, contact points; and whether its motion is periodic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.dynamics.loops import close_loops
from leastaction.dynamics.workspace import Workspace
from leastaction.errors import LeastActionError, ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.closure import ROLL
from leastaction.optimize.constraints.contact_implicit import ContactReaction, Touch, contact_reaction, touches
from leastaction.optimize.constraints.feet import Foot, Phase, stretches
from leastaction.optimize.constraints.impact_knots import AtRest
from leastaction.optimize.constraints.reaction_constraints import ForceLimits, HoldsAt, Periodic, PointPiece, StaysAt
from leastaction.optimize.constraints.reactions import Reaction, evaluate
from leastaction.optimize.constraints.terrain import Terrain, flat
from leastaction.optimize.functions import argument_checks
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.problem.problem import Problem
    from leastaction.optimize.transcriptions.transcription import Transcription

IntArray = NDArray[np.int64]

LOOP = "loop"
"""Name of the reaction that closes loops."""


class ContactSchedule:
    """What holds the robot of a problem, and when: loops, feet in phases, contact points, and a period.

    Attributes:
        phases: which feet stand when; none: no foot does.
        touches, terrain: contact points whose forces are found with the motion, and the ground under them.
        early: whether a contact force may act one control point before its point touches.
        shift: how far coordinates move on in a period, shape (nq,); None: the motion is not periodic.
    """

    def __init__(self, mechanism: Mechanism, steps: int) -> None:
        self.mechanism, self.steps = mechanism, steps
        self.phases: list[Phase] = []
        self.touches: list[Touch] = []
        self.terrain: Terrain = flat()
        self.early = False
        self.shift: FloatArray | None = None

    def set_phases(self, phases: Sequence[Phase]) -> None:
        """Check and take them; see `Problem.phases`."""
        for each in phases:
            if not isinstance(each, Phase):
                raise ProblemError(f"phases: expected phases such as optimize.phase(10, foot), got {each!r}")
            for foot in each.feet:
                if foot.body not in self.mechanism.body_names:
                    names = list(self.mechanism.body_names)
                    raise ProblemError(f"phases: there is no body {foot.body!r}{suggestion(foot.body, names)}")
        total = sum(each.steps for each in phases)
        if total != self.steps:
            raise ProblemError(f"phases: they have {total} steps together, the problem has {self.steps}")
        self.phases = list(phases)

    def set_contact(self, points: tuple[Touch, ...], ground: float | Terrain, early: bool) -> None:
        """Check and take them; see `Problem.contact`."""
        self.touches = touches(self.mechanism, points)
        self.terrain = ground if isinstance(ground, Terrain) else flat(ground)
        self.early = argument_checks.flag(early, "contact: early")

    def set_period(self, shift: float | ArrayLike | Mapping[str, float]) -> None:
        """Check and take it; see `Problem.periodic`."""
        m = self.mechanism
        out = np.zeros(m.nq)
        if isinstance(shift, Mapping):
            for name, value in shift.items():
                if name not in m.coordinate_names:
                    raise ProblemError(f"periodic: there is no {name!r}{suggestion(str(name), m.coordinate_names)}")
                k = m.coordinate_names.index(name)
                out[k] = argument_checks.numbers(value, [()], f"periodic: shift of {name!r}")
        else:
            out[:] = argument_checks.numbers(shift, [(), (m.nq,)], "periodic: shift")
        for group in m.coordinate_groups:
            if group.nv > 1:
                first = group.iq + (3 if group.nv == 6 else 0)
                if out[first : first + 4].any():
                    raise ProblemError("periodic: orientations of ball and free joints cannot shift")
        self.shift = out

    # ------------------------------------------------------------------ for transcriptions

    def reactions(self, problem: Problem, points: tuple[float, ...]) -> list[Reaction]:
        """Forces that hold the robot, for steps with these control points."""
        s = len(points) - 1
        if self.shift is not None:
            if problem.momenta:
                raise ProblemError("periodic motions need momenta=False")
            if problem.start_velocity is not None or problem.finish_velocity is not None:
                raise ProblemError("periodic: velocities at the ends are those of the period and cannot be given")
        if problem.momenta and len(self.impact_knots):
            raise ProblemError("phases with different feet need momenta=False")
        out = []
        for first, last, feet in self._stretches():
            at = np.arange(s * first, s * last + 1)
            out += [] if self.mechanism.is_tree else self._loops(problem, at)
            out += [foot.reaction(self.mechanism, at) for foot in feet]
        every = np.arange(s * self.steps + 1)
        return out + [contact_reaction(self.mechanism, t, self.terrain, every, self.early) for t in self.touches]

    def _stretches(self) -> list[tuple[int, int, tuple[Foot, ...]]]:
        return stretches(self.phases) or [(0, self.steps, ())]

    @property
    def impact_knots(self) -> IntArray:
        """Knots at which feet land or leave; the last one where a period ends otherwise than it begins."""
        found = self._stretches()
        out = [last for _, last, _ in found[:-1]]
        if self.shift is not None and len(found) > 1 and set(found[0][2]) != set(found[-1][2]):
            out.append(self.steps)
        return np.array(out, int)

    def _loops(self, problem: Problem, points: IntArray) -> list[Reaction]:
        """Independent equations of the loops and couplings."""
        closure = self.mechanism.tree.closure
        rows = closure.rows[: closure.count]
        if (rows.kind == ROLL).any():
            raise ProblemError(f"{self.mechanism.name!r} rolls, which trajectory optimisation does not take yet")
        if not len(rows):
            return []
        from scipy.linalg import qr

        A = evaluate(self._workspace(), rows, closure.coefficients, self._generic(problem)[None], False)[1][0]
        decomposed: Any = qr(A.T, mode="economic", pivoting=True)
        order, diagonal = decomposed[2], np.abs(np.diag(decomposed[1]))
        taken = np.sort(order[: int((diagonal > 1e-7 * diagonal[0]).sum())])
        names = tuple(f"{closure.names[k]} {k}" for k in taken)
        free = np.full(len(taken), np.inf)
        eye = np.eye(len(taken))
        return [Reaction(LOOP, rows[taken], points, names, -free, free, eye, closure.coefficients)]

    def _workspace(self) -> Workspace:
        return Workspace(self.mechanism)

    def _generic(self, problem: Problem) -> FloatArray:
        """A closed configuration near the start at which equations are dependent only if they always are."""
        m = self.mechanism
        for given in (problem.start_position, problem.finish_position, m.neutral()):
            if given is not None:
                q = np.where(np.isnan(given), m.neutral(), given)
                moved = m.integrate(q, 0.05 * np.random.default_rng(1).normal(size=m.nv))
                try:
                    return close_loops(m, moved, tolerance=1e-10)
                except LeastActionError:
                    continue
        raise ProblemError(f"the loops of {m.name!r} cannot be closed near the start or the finish")

    def point_pieces(self, program: Transcription) -> list[PointPiece]:
        """Constraints that belong to the reactions, and the period."""
        out: list[PointPiece] = []
        feet = iter([foot for _, _, standing in self._stretches() for foot in standing])
        before: dict[str, Reaction] = {}
        for r in program.reactions.all:
            if isinstance(r, ContactReaction):
                out += r.pieces(program.problem.relaxation)
                continue
            asked = self._unfixed(program, r)
            if r.name in before and before[r.name].points[-1] == r.points[0]:
                asked = asked[asked > 0]  # there it is held already
            before[r.name] = r
            held = np.arange(len(r.labels))
            if r.name != LOOP:
                foot = next(feet)
                if foot.at is None:
                    sliding = [k for k, label in enumerate(r.labels) if label in ("x", "y")]
                    held = np.setdiff1d(held, sliding)
                    if sliding:
                        out.append(StaysAt(r, np.arange(1, len(r.points)), np.array(sliding)))
                out.append(ForceLimits(r, *foot.limits(r.labels, program.reactions.weight)))
            self._add_held(out, r, held, asked)
            for k, knot in enumerate(self.impact_knots):
                if r.points[-1] == program.s * knot:
                    out.append(AtRest(r, program.cuts.index[k]))
        if self.shift is not None:
            out.append(Periodic(program, self.shift))
        return out

    def _add_held(self, out: list[PointPiece], r: Reaction, picked: IntArray, at: IntArray) -> None:
        if len(picked) and len(at):
            out.append(HoldsAt(r, at, picked))
        problem = r.owner.problem
        ends = {0: problem.start_position, r.owner.s * self.steps: problem.finish_position}
        for place in np.setdiff1d(np.arange(len(r.points)), at):
            q = ends.get(int(r.points[place]))
            if q is None or np.isnan(q).any():
                continue
            end = "start" if r.points[place] == 0 else "finish"
            values, slopes, _ = evaluate(r.workspace, r.rows, r.coefficients, q[None], False)
            h = values[0][picked]
            if np.abs(h).max(initial=0.0) > 1e-6:
                worst = int(np.argmax(np.abs(h)))
                raise ProblemError(f"{end}: {r.name} ({r.labels[picked[worst]]}) is off by {h[worst]:.3g} [m or rad]")
            v = problem.start_velocity if end == "start" else problem.finish_velocity
            if r.name == LOOP and v is not None:  # a foot may land there
                rates = slopes[0][picked] @ v
                if np.abs(rates).max(initial=0.0) > 1e-6 * max(1.0, float(np.abs(v).max())):
                    label = r.labels[picked[int(np.argmax(np.abs(rates)))]]
                    raise ProblemError(
                        f"{end}: v opens the {r.name} ({label}) by {np.abs(rates).max():.3g} [m/s or rad/s]; "
                        "leastaction.simulate(..., project=True) finds the nearest one that does not"
                    )

    def _unfixed(self, program: Transcription, r: Reaction) -> IntArray:
        """Places in r.points at which equations are to be asked for: not where all is given, nor twice in a period."""
        last, problem = program.s * self.steps, program.problem
        skip = [
            point
            for point, q in ((0, problem.start_position), (last, problem.finish_position))
            if q is not None and not np.isnan(q).any()
        ]
        if self.shift is not None and 0 in r.points:
            skip.append(last)
        return np.flatnonzero(~np.isin(r.points, skip))

    def force_bounds(self, program: Transcription, lower: FloatArray, upper: FloatArray) -> None:
        """Bounds of the forces; where the dynamics of an end are not asked for, no force acts."""
        last, problem = program.s * self.steps, program.problem
        free = self.shift is None and not problem.momenta  # dynamics of an end need its velocity
        idle = [0] if free and problem.start_velocity is None else []
        if free and problem.finish_velocity is None:
            idle.append(last)
        for r in program.reactions.all:
            # Where a period ends it begins: forces of contacts there are those of the beginning.
            seam = [last] if self.shift is not None and isinstance(r, ContactReaction) else []
            acts = ~np.isin(r.points, [*idle, *seam])[:, None]
            lower[r.index] = np.where(acts, r.lower, 0.0)
            upper[r.index] = np.where(acts | (np.array(r.labels) == "slip"), r.upper, 0.0)
