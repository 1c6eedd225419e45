"""`Problem`: an optimal control problem of a robot, written like its mathematics."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.forces.arrays import force_model, moves_with_bodies
from leastaction.integration.integrators import Integrator, Stepper
from leastaction.integration.settings import is_number
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, suggestion
from leastaction.optimize.constraints.contact_implicit import Touch
from leastaction.optimize.constraints.contact_schedule import ContactSchedule
from leastaction.optimize.constraints.feet import Phase
from leastaction.optimize.constraints.terrain import Terrain
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.costs import Cost
from leastaction.optimize.functions.motion_constraints import Constraint
from leastaction.optimize.functions.motion_functions import Function, Velocity
from leastaction.optimize.functions.servo_forces import ServoForce, force_limits, limited_servos, without_limits
from leastaction.optimize.problem.control_guess import resting_controls
from leastaction.optimize.transcriptions.direct_collocation import Collocation
from leastaction.optimize.transcriptions.layout import CONTROLS
from leastaction.optimize.transcriptions.transcription import TURN, Transcription
from leastaction.optimize.transcriptions.variational import Variational
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Solution

INF = math.inf

Bounds = tuple[ArrayLike, ArrayLike] | Mapping[str, tuple[float, float]]
"""Lower and upper bounds, of all or by name."""


class Problem:
    """Find the motion of a robot that costs least, among those that its dynamics and constraints allow.

        problem = la.optimize.Problem(robot, steps=50, duration=2.0)
        problem.start(q=[0, 0], v=[0, 0])
        problem.finish(q=[0, math.pi], v=[0, 0])
        problem.bounds(u=(-20, 20))
        problem.minimize(la.optimize.effort())
        solution = problem.solve()

    Args:
        mechanism: the robot; loops are closed by forces that are unknowns too.
        steps: number of time steps.
        dt: time step [s]; or
        duration: final time [s], or the range (shortest, longest) in which it is to be found.
        integrator: whose discrete Euler-Lagrange equations are the dynamics: `Midpoint()` (the default, DMOC) or
            `Galerkin(...)`; `ilqr` also takes `Maximal()` and `Minimal()`. `ImplicitTrapezoidal()` and
            `HermiteSimpson()` collocate instead, to compare with.
        controls: "held" over steps, "linear" between knots, or values at all "nodes" of the integrator; by default held
            for `Midpoint` and linear for `Galerkin`.
        momenta: whether momenta at the knots are unknowns too, as in Fan 2018, Table 1; eliminated they mostly take
            fewer iterations.
        limits: whether limits of joints and actuators, and of the forces of servos, bind.

    Attributes:
        planned: the robot as plans see it: servos push without limits where a constraint keeps these.
        schedule: what holds the robot, and when.
        relaxation: how far contacts may break complementarity, gap times force [N m]; see `solve_relaxed`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        steps: int,
        dt: float | None = None,
        duration: float | tuple[float, float] | None = None,
        integrator: Integrator | None = None,
        controls: str | None = None,
        momenta: bool = False,
        limits: bool = True,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise ProblemError(f"Problem needs a Mechanism, such as leastaction.robots.cart_pole(), got {mechanism!r}")
        for actuator in mechanism.actuators:
            if actuator.activation is not None:
                raise ProblemError(
                    f"actuator {actuator.name!r} has an activation, which trajectory optimisation does not know; leave "
                    "it out of the mechanism"
                )
        self.mechanism, self.steps = mechanism, argument_checks.count(steps, "steps")
        self.integrator = _integrator(integrator)
        self.controls = None if controls is None else choice(controls, CONTROLS, "controls", ProblemError)
        self.momenta = argument_checks.flag(momenta, "momenta")
        self.schedule = ContactSchedule(mechanism, self.steps)
        self.relaxation = 1e-5
        self.duration_range = _durations(self.steps, dt, duration)
        self.start_position: FloatArray | None = None
        self.start_velocity: FloatArray | None = None
        self.finish_position: FloatArray | None = None
        self.finish_velocity: FloatArray | None = None
        self.costs: list[Cost] = []
        self.constraints: list[Constraint] = []
        n, nu = mechanism.nv, mechanism.nu
        self.q_bounds = (np.full(n, -INF), np.full(n, INF))
        self.u_bounds = (np.full(nu, -INF), np.full(nu, INF))
        self._guess: dict[str, Any] = {}
        self.planned = mechanism
        if argument_checks.flag(limits, "limits"):
            self._take_limits()
        # An integrator that neither `solve` nor `ilqr` takes is refused at once
        shoots = self.fixed_duration is not None and mechanism.is_tree and controls is None and not momenta
        self._stepper(*["linearize"] * shoots)

    def __repr__(self) -> str:
        """The problem like its mathematics."""
        from leastaction.optimize.problem.formatting import as_mathematics

        return as_mathematics(self)

    # ------------------------------------------------------------------ what is asked

    def start(self, q: ArrayLike | Mapping[str, float] | None = None, v: ArrayLike | None = None) -> Problem:
        """Where the motion starts: positions (nq,), NaN where free, and velocities (nv,); what is omitted is free."""
        self.start_position = self._position(q, "start: q")
        self.start_velocity = self._velocity(v, "start: v")
        return self

    def finish(self, q: ArrayLike | Mapping[str, float] | None = None, v: ArrayLike | None = None) -> Problem:
        """Where the motion ends: positions (nq,), NaN where free, and velocities (nv,); what is omitted is free."""
        self.finish_position = self._position(q, "finish: q")
        self.finish_velocity = self._velocity(v, "finish: v")
        return self

    def bounds(self, *, q: Bounds | None = None, v: Bounds | None = None, u: Bounds | None = None) -> Problem:
        """Bounds (lower, upper) on positions of joints with single axes, mean velocities of steps, and controls.

        Each one a number, an array, or a mapping from names (`coordinate_names`, `velocity_names`, `control_names`).
        Bounds that were given before stay where they are tighter.
        """
        m = self.mechanism
        if q is not None:
            names = [""] * m.nv
            for group in m.coordinate_groups:
                names[group.iv] = m.coordinate_names[group.iq] if group.nv == 1 else ""
            lower, upper = argument_checks.bounds(q, names, "bounds: q")
            for k, name in enumerate(names):
                if not name and isinstance(q, Mapping):
                    lower[k], upper[k] = -INF, INF
                elif not name and (np.isfinite(lower[k]) or np.isfinite(upper[k])):
                    raise ProblemError("bounds: q: ball and free joints take no bounds; use optimize.position or pose")
            self.q_bounds = (np.maximum(self.q_bounds[0], lower), np.minimum(self.q_bounds[1], upper))
        if u is not None:
            lower, upper = argument_checks.bounds(u, list(self.control_names), "bounds: u")
            self.u_bounds = (np.maximum(self.u_bounds[0], lower), np.minimum(self.u_bounds[1], upper))
        if v is not None:
            self.subject_to(
                Constraint(Velocity("velocity"), *argument_checks.bounds(v, list(m.velocity_names), "bounds: v"))
            )
        for what, names, (lower, upper) in (
            ("q", m.velocity_names, self.q_bounds),
            ("u", self.control_names, self.u_bounds),
        ):
            argument_checks.pairs(lower, upper, lambda k, what=what, names=names: f"bounds: {what} of {names[k]!r}")
        return self

    def minimize(self, *costs: Cost) -> Problem:
        """Add costs; their sum is minimised."""
        for cost in costs:
            if not isinstance(cost, Cost):
                raise ProblemError(f"minimize: expected a cost such as optimize.effort(), got {cost!r}")
            cost = copy.deepcopy(cost)  # it may serve other problems too
            cost.prepare(self.mechanism, self.steps)
            self.costs.append(cost)
        return self

    def subject_to(self, *constraints: Constraint) -> Problem:
        """Add constraints."""
        for constraint in constraints:
            if not isinstance(constraint, Constraint):
                raise ProblemError(f"subject_to: expected a constraint such as optimize.position, got {constraint!r}")
            constraint = copy.deepcopy(constraint)
            constraint.prepare(self.mechanism, self.steps)
            self.constraints.append(constraint)
        return self

    def phases(self, *phases: Phase) -> Problem:
        """Which feet stand when: phases one after the other, whose steps are all those of the problem.

        At the knot between two phases a foot may land; the impulse there is among its forces and keeps to their limits.
        """
        self.schedule.set_phases(phases)
        return self

    def contact(self, *points: Touch, ground: float | Terrain = 0.0, early: bool = False) -> Problem:
        """Contact-implicit constraints: points may touch the ground, and the motion found says when.

        Args:
            points: from `optimize.touch`; default: the contact points of the mechanism.
            ground: its height [m], or a terrain such as `optimize.gaps`.
            early: whether a force may act one control point before its point touches, as in time stepping schemes:
                what falls with no control to time its landing needs that.
        """
        self.schedule.set_contact(points, ground, early)
        return self

    def periodic(self, shift: float | ArrayLike | Mapping[str, float] = 0.0) -> Problem:
        """The motion repeats: positions end where they began, moved by `shift`, and velocities as they began.

        Args:
            shift: 0, numbers of shape (nq,), or a mapping from coordinate names; ball joints do not shift.
        """
        self.schedule.set_period(shift)
        return self

    def guess(self, q: ArrayLike | None = None, u: ArrayLike | None = None, duration: float | None = None) -> Problem:
        """Where the search begins.

        Args:
            q: positions at the knots, shape (steps + 1, nq); default: on the shortest way from start to finish.
            u: controls, one row (nu,) or one for each step (steps, nu); default: those with which motors do not push,
                zero, and for servos of positions those that are guessed.
            duration: final time [s], where it is free.
        """
        m, given = self.mechanism, {"q": q, "u": u, "duration": duration}
        if q is not None:
            given["q"] = argument_checks.numbers(q, [(self.steps + 1, m.nq)], "guess: q")
        if u is not None:
            given["u"] = np.broadcast_to(
                argument_checks.numbers(u, [(m.nu,), (self.steps, m.nu)], "guess: u"), (self.steps, m.nu)
            )
        if duration is not None:
            given["duration"] = argument_checks.number(duration, "guess: duration [s]", above=0.0)
        self._guess.update({name: value for name, value in given.items() if value is not None})
        return self

    # ------------------------------------------------------------------ the way to a solution

    def transcribe(self) -> Transcription:
        """The nonlinear program."""
        if not self.costs and not self.constraints and self.finish_position is None and self.finish_velocity is None:
            raise ProblemError("there is nothing to do: no cost, no finish and no constraint")
        stepper = self._stepper()
        return (
            Collocation(self, stepper) if "accelerations" in stepper.can else Variational(self, stepper, self.momenta)
        )

    def _stepper(self, *enough: str) -> Stepper:
        stepper = self.integrator.prepare(self.planned, self.guess_duration / self.steps)
        if not {"accelerations", "residual", *enough} & set(stepper.can):
            stepper.refuse("residual", "; optimize.ilqr shoots through its steps" if "linearize" in stepper.can else "")
        return stepper

    def solve(self, **options: Any) -> Solution:
        """Solve it; options are those of `leastaction.optimize.solve`, with contacts also of `solve_relaxed`."""
        from leastaction.optimize.solvers.complementarity_relaxation import solve_relaxed
        from leastaction.optimize.solvers.solve_problem import solve

        if not self.schedule.touches and "relaxations" in options:
            raise ProblemError("relaxations: the problem has no contacts to relax; add them by Problem.contact")
        return (solve_relaxed if self.schedule.touches else solve)(self, **options)

    # ------------------------------------------------------------------ for transcriptions

    @property
    def fixed_duration(self) -> float | None:
        """Final time [s], or None where it is free."""
        lower, upper = self.duration_range
        return lower if lower == upper else None

    @property
    def guess_duration(self) -> float:
        """Final time [s] at which the search begins."""
        lower, upper = self.duration_range
        wanted = self._guess.get("duration", 0.5 * (lower + upper) if math.isfinite(upper) else 2.0 * lower)
        return float(min(max(wanted, lower), upper))

    @property
    def control_names(self) -> tuple[str, ...]:
        """Names of the actuators, or of the degrees of freedom where there are none."""
        return self.mechanism.control_names

    @property
    def has_body_forces(self) -> bool:
        """Whether forces may join bodies that no path through the tree does."""
        return not moves_with_bodies(force_model(self.planned.tree))

    def labels(self, function: Function) -> tuple[str, ...]:
        """What the components of a function are called."""
        m = self.mechanism
        if isinstance(function, Velocity):
            return tuple(m.velocity_names)
        if isinstance(function, ServoForce):
            return function.names
        return tuple("xyz") if function.size == 3 else tuple(str(k) for k in range(function.size))

    def variable_bounds(self, program: Transcription) -> tuple[FloatArray, FloatArray]:
        """Bounds of the unknowns."""
        layout, m = program.layout, self.mechanism
        lower, upper = np.full(program.n, -INF), np.full(program.n, INF)
        for group in m.coordinate_groups:
            if group.nv > 1:
                turns = layout.q[:, group.iv : group.iv + 3]
                lower[turns], upper[turns] = -TURN, TURN
            else:
                k = group.iv
                lower[layout.q[:, k]], upper[layout.q[:, k]] = self.q_bounds[0][k], self.q_bounds[1][k]
        lower[layout.u], upper[layout.u] = self.u_bounds
        if layout.duration >= 0:
            lower[layout.duration], upper[layout.duration] = self.duration_range
        for knot, q, name in ((0, self.start_position, "start"), (-1, self.finish_position, "finish")):
            if q is not None:
                self._fix(layout.q[knot], q, name, lower, upper)
        if len(layout.v):
            for knot, v in ((0, self.start_velocity), (-1, self.finish_velocity)):
                if v is not None:
                    lower[layout.v[knot]] = upper[layout.v[knot]] = v
        self.schedule.force_bounds(program, lower, upper)
        return lower, upper

    def _fix(self, index: Any, q: FloatArray, name: str, lower: FloatArray, upper: FloatArray) -> None:
        """Positions that are given: displacements of ball and free joints are zero, as the reference is there."""
        for group in self.mechanism.coordinate_groups:
            k = index[group.iv : group.iv + group.nv]
            if group.nv > 1:
                if not np.isnan(q[group.iq]):
                    lower[k] = upper[k] = 0.0
            elif not np.isnan(q[group.iq]):
                x = q[group.iq]
                if x < lower[k[0]] - 1e-9 or x > upper[k[0]] + 1e-9:
                    raise ProblemError(
                        f"{name}: {self.mechanism.coordinate_names[group.iq]!r} = {x:g} lies outside its bounds "
                        f"({lower[k[0]]:g}, {upper[k[0]]:g})"
                    )
                lower[k] = upper[k] = x

    def initial_unknowns(self, program: Transcription) -> FloatArray:
        """z of the guess."""
        m, N = self.mechanism, self.steps
        knots = self._guess.get("q")
        within = np.arange(N)[:, None] + np.array(program.points[:-1])
        fraction = np.append(within.ravel() / N, 1.0)
        if knots is None:
            ends = [self._whole(q) for q in (self.start_position, self.finish_position)]
            first = ends[0] if ends[0] is not None else ends[1] if ends[1] is not None else m.neutral()
            last = ends[1] if ends[1] is not None else first
            q = m.integrate(first, fraction[:, None] * m.difference(first, last))
        else:
            step = np.minimum((fraction * N + 1e-12).astype(int), N - 1)
            x = m.difference(knots[step], knots[step + 1])
            q = m.integrate(knots[step], (fraction * N - step)[:, None] * x)
            for k, given in ((0, self.start_position), (-1, self.finish_position)):
                if given is not None:
                    q[k] = np.where(np.isnan(given), q[k], given)
        held = self._guess.get("u")
        held = resting_controls(m, q[: -1 : program.s]) if held is None else np.asarray(held)
        at = np.minimum((np.arange(program.controls.blocks) * N) // max(program.controls.blocks, 1), N - 1)
        z = program.unknowns(q, held[at], self.guess_duration)
        return np.clip(z, program.lower, program.upper)

    # ------------------------------------------------------------------ reading arguments

    def _whole(self, q: FloatArray | None) -> FloatArray | None:
        """A configuration with neutral positions where none are given."""
        return None if q is None else np.where(np.isnan(q), self.mechanism.neutral(), q)

    def _position(self, q: ArrayLike | Mapping[str, float] | None, what: str) -> FloatArray | None:
        if q is None:
            return None
        m = self.mechanism
        if isinstance(q, Mapping):
            given, q = q, np.full(m.nq, np.nan)
            for name, value in given.items():
                if name not in m.coordinate_names:
                    raise ProblemError(f"{what}: there is no {name!r}{suggestion(str(name), m.coordinate_names)}")
                q[m.coordinate_names.index(name)] = argument_checks.numbers(value, [()], f"{what}: {name!r}", free=True)
        q = argument_checks.numbers(q, [(m.nq,)], what, free=True)
        for group in m.coordinate_groups:
            if group.nv > 1:
                part = q[group.iq : group.iq + (7 if group.nv == 6 else 4)]
                if np.isnan(part).any() and not np.isnan(part).all():
                    raise ProblemError(f"{what}: a ball or free joint is given as a whole, or not at all")
        return np.where(np.isnan(q), np.nan, m.normalize(np.where(np.isnan(q), m.neutral(), q)))

    def _velocity(self, v: ArrayLike | None, what: str) -> FloatArray | None:
        if v is None:
            return None
        if is_number(v) and v == 0:
            return np.zeros(self.mechanism.nv)
        return argument_checks.numbers(v, [(self.mechanism.nv,)], what)

    def _take_limits(self) -> None:
        m, k = self.mechanism, 0
        for joint in m.joints:
            for i, (low, high) in enumerate(zip(joint.lower, joint.upper, strict=True)):
                self.q_bounds[0][k + i], self.q_bounds[1][k + i] = low, high
            k += len(joint.lower)
        for i, actuator in enumerate(m.actuators):
            self.u_bounds[0][i], self.u_bounds[1][i] = actuator.lower, actuator.upper
        if limited_servos(m):
            self.subject_to(force_limits(m))
            stepper = self.integrator.prepare(m, self.guess_duration / self.steps)
            if "residual" in stepper.can and len(stepper.control_nodes) == 1:
                self.planned = without_limits(m)


def _integrator(integrator: Any) -> Integrator:
    if integrator is None:
        from leastaction.integration import registry

        return registry.make("midpoint")
    if not isinstance(integrator, Integrator):
        hint = f"; write {integrator.__name__}()" if isinstance(integrator, type) else ""
        raise ProblemError(f"integrator must be one such as leastaction.Midpoint(), got {integrator!r}{hint}")
    return integrator


def _durations(steps: int, dt: Any, duration: Any) -> tuple[float, float]:
    if (dt is None) == (duration is None):
        raise ProblemError("give either dt [s] or duration [s]")
    if duration is None:
        times = np.full(2, argument_checks.number(dt, "dt [s]", above=0.0) * steps)
    else:
        what = "duration [s], or (shortest, longest)"
        times = np.broadcast_to(argument_checks.numbers(duration, [(), (2,)], what, infinite=True), (2,))
    lower, upper = float(times[0]), float(times[1])
    if not (0.0 < lower <= upper) or not math.isfinite(lower):
        raise ProblemError(
            f"dt and duration must be positive, finite times [s], shortest first, got {dt or duration!r}"
        )
    return lower, upper
