"""The small interface between the front door, derivatives and optimisers, and the integrators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import ConvergenceError, IntegratorError
from leastaction.integration.first_steps import FirstSteps
from leastaction.integration.record import Record
from leastaction.integration.settings import check_settings, is_number, make_plain
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import LARGEST, shown
from leastaction.mechanism.arguments import robot
from leastaction.typing import FloatArray

PENALTIES = frozenset(
    (
        "penalty contact",
        "limit spring of joint",
        "isotropic spring",
        "cable without clipping",
        "tendon of joints",
        "limit of tendon",
        "force range of servo",
        "force range of tendon",
        "muscle",
    )
)
"""Parts of `Mechanism.special_parts` that are nothing but forces."""

CAPABILITIES = {
    "accuracy": "has steps of one length only, which keep no accuracy; use "
    "leastaction.Galerkin, leastaction.Midpoint, leastaction.Minimal, leastaction.Maximal or leastaction.RungeKutta",
    "accelerations": "has no accelerations to collocate; use leastaction.HermiteSimpson or "
    "leastaction.ImplicitTrapezoidal",
    "linearize": "has no Jacobians of a step; Galerkin, Midpoint, Maximal and Minimal have, and leastaction.adjoint "
    "differentiates runs of BDF and SDIRK2",
    "parameters": "has no derivatives of a step by parameters; use leastaction.Maximal or leastaction.Galerkin",
    "residual": "has no equations of a discrete action in joint coordinates; use leastaction.Galerkin or "
    "leastaction.Midpoint",
    "reverse": "has no adjoint; use leastaction.Galerkin, leastaction.Maximal or leastaction.BDF",
}
"""What a stepper may be able to do besides `Stepper.advance`, and what is said where it is not."""


@dataclass(frozen=True)
class Integrator:
    """Base of all integrators: small frozen settings; `prepare` makes the stepper that does the work."""

    stepper_class: ClassVar[Any] = None
    handles: ClassVar[frozenset[str]] = frozenset()
    """The kinds of `Mechanism.special_parts` that it can run."""
    instead: ClassVar[str] = "BDF"
    """Who runs special parts that it does not: one with the same contacts, if it has contacts."""
    older: ClassVar[Mapping[str, Any]] = {}
    """Values of options for runs in files that are older than these options, where they are not the defaults."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Every integrator checks the kinds of its settings, whatever else its own `__post_init__` does."""
        super().__init_subclass__(**options)
        if "__post_init__" in vars(cls):
            own = vars(cls)["__post_init__"]

            @wraps(own)
            def both(self: Any) -> None:
                make_plain(self)
                try:
                    own(self)
                except (TypeError, ValueError, AttributeError, OverflowError):
                    check_settings(self)  # says which of them is of the wrong kind
                    raise
                check_settings(self)

            setattr(cls, "__post_init__", both)  # noqa: B010 - no assignment to a method, for type checkers

    def __post_init__(self) -> None:
        check_settings(self)

    def unknown_part(self, mechanism: Mechanism) -> str:
        """The first part of a mechanism that it does not run, in words; empty where it runs all of them."""
        return next((what for what in mechanism.special_parts if what not in self.handles), "")

    def prepare(self, mechanism: Mechanism, dt: float) -> Stepper:
        """A stepper for `mechanism` with steps of `dt` [s]; refuses at once what it cannot run."""
        robot(mechanism)
        if not is_number(dt) or dt <= 0.0:
            raise IntegratorError(f"dt must be a positive, finite time step [s], got {shown(dt)}")
        if float(dt) > LARGEST:  # a float32 cannot be compared to it
            raise IntegratorError(f"dt must not be larger than {LARGEST:g} s, got {shown(dt)}")
        for what, name in mechanism.special_parts.items():
            if what not in self.handles:
                own = type(self).__name__
                other = "Maximal" if what in ("prescribed motion", "moving surface") else self.instead
                other = "BDF" if what == "spline joint" else other
                other = "Minimal" if what == "soft contact" else other
                raise IntegratorError(f"{own} cannot run the {what} {name!r}; use leastaction.{other}")
        return self.stepper_class(self, mechanism, float(dt))


class Stepper:
    """Runs one integrator on one mechanism with one dt; owns the work space, so one thread at a time.

    A new integrator writes `advance` and `failure`; all else has a default. What it can do besides it says in `can`,
    and what it cannot do it refuses with an `IntegratorError` that names an integrator that can.

    Attributes:
        can: what there is of `CAPABILITIES`: "accuracy" (`with_dt`, `order`; a step needs nothing but its state),
            "linearize" (`linearize`, `pull_back`), "parameters" (`parameter_jacobian`), "residual" (`residual`,
            `residual_blocks`, `action_blocks`, `horizon_rows`, `horizon_blocks`), "reverse" (`reverse`),
            "accelerations" (`accelerations`).
        control_nodes: fractions of a step at which controls are read.
        control_points: fractions of a step at which "residual" takes configurations, its ends among them.
        momentum: True when the integrator solves for (q, p), False when for (q, v).
        acts: what acts of "contacts" (with the ground), "limits" (rigid ones of joints) and "dry friction" (of joints),
            and "loops": the latter two also in joints that close loops.
        start_time: time of the first state [s].
        motions: prescribed ones, of a run; None where nothing is prescribed, or it comes to rest.
        aim: where prescribed motions are to be at the end of the next step, by name; None where they follow `motions`.
        carries: extras of the record that are part of a state: what steps, or going back over them, read of the rows
            before.
        lacking: extras that runs of earlier versions lack, and that are zero for them.
        order: of the errors at a fixed time, in powers of the time step; 0 where nobody asks.
        noting: whether `finish` is to write down contacts and poses of a run, which batches do not keep.
    """

    can: frozenset[str] = frozenset()
    control_nodes: tuple[float, ...] = (0.0,)
    control_points: tuple[float, ...] = (0.0, 1.0)
    momentum = False
    acts: frozenset[str] = frozenset()
    start_time = 0.0
    motions: Any = None
    aim: dict[str, FloatArray] | None = None
    carries: tuple[str, ...] = ()
    lacking: frozenset[str] = frozenset()
    logs_contacts = True
    order = 0

    def __init__(self, integrator: Integrator, mechanism: Mechanism, dt: float) -> None:
        self.integrator: Any = integrator
        self.mechanism = mechanism
        self.dt = dt

    def with_dt(self, dt: float) -> Stepper:
        """A stepper of the same robot with steps of dt [s]; it may share with this one what both write."""
        return self.integrator.prepare(self.mechanism, dt)

    def first_steps(self) -> FirstSteps:
        """Single steps of any length, each as the first of a run, for who asks again and again."""
        return FirstSteps(self)

    # ------------------------------------------------------------------ the start of a run

    def clear_start(self, q: FloatArray, resting: Sequence[int] = ()) -> FloatArray:
        """The initial configuration without what contacts would push out of the way, and so add energy.

        Args:
            q: joint positions [rad or m], shape (nq,).
            resting: prescribed degrees of freedom of which nobody said where they are: they may be moved, too.
        """
        return q

    def overlapping(self, q: FloatArray) -> NDArray[np.bool_]:
        """At which of many starts, shape (n, nq), `clear_start` may move something, shape (n,)."""
        return np.zeros(len(q), bool)

    def prepare_start(self, q: FloatArray) -> FloatArray:
        """Check (or adjust) the initial configuration."""
        return q

    def prepare_momentum(self, q: FloatArray, p: FloatArray, project: bool) -> FloatArray:
        """Check (or, with `project`, adjust) the initial momentum."""
        return p

    # ------------------------------------------------------------------ the run

    def record(self, steps: int) -> Record:
        """Arrays of a run of `steps` steps: q, v or p, and what else the method records, one row per time."""
        m = self.mechanism
        q, second = np.zeros((steps + 1, m.nq)), np.zeros((steps + 1, m.nv))
        return Record(q, p=second) if self.momentum else Record(q, v=second)

    def advance(self, record: Record, first: int, last: int, u: FloatArray) -> int:
        """Fill rows first + 1 ... last; returns the last row that holds, `last` if all went well.

        Args:
            record: from `record`; row `first` is filled.
            first, last: steps.
            u: controls, shape (last - first, len(control_nodes), nu).
        """
        raise NotImplementedError

    def stride(self, record: Record, u: FloatArray) -> Callable[[int], int]:
        """`advance` by one step from a row, for who asks again and again: what it needs besides is prepared once.

        Args:
            record: as for `advance`.
            u: controls of the step, shape (1, len(control_nodes), nu); read anew at each call.
        """
        return lambda first: self.advance(record, first, first + 1, u)

    def chunk_runner(self, states: Mapping[str, NDArray[Any]], u: FloatArray) -> Callable[[int], int] | None:
        """Runs of many robots of this kind, one after the other, by number: how many of the steps hold.

        None where robots of this kind are better run one by one. A run that has more to it than its states, such as a
        warning, ends at 0: it is for `advance` then.

        Args:
            states: what `record` has by name, with the number of the robot as first axis; their first rows are filled.
            u: controls, shape (robots, steps, len(control_nodes), nu); read anew at each call.
        """
        return None

    def finish(self, record: Record) -> None:
        """Complete the record at the end of a run."""

    def logged_contacts(self) -> FloatArray:
        """Contacts of the steps since `record` or `clear_contacts`, shape (n, 10), as `Record.contacts`."""
        return np.zeros((0, 10))

    def clear_contacts(self) -> None:
        """Begin a new list of contacts."""

    def failure(self, step: int, record: Record) -> ConvergenceError:
        """The error for the step from row `step` of a record, which did not converge."""
        raise NotImplementedError

    def memory(self) -> Any:
        """A copy of what goes from step to step beside the record: guesses, contacts of the step before, ...

        With it and the last rows of a record a run goes on to the last bit as if it had not been interrupted.
        """
        return None

    def restore_memory(self, memory: Any) -> None:
        """Go on from what `memory` gave."""

    # ------------------------------------------------------------------ derivatives

    def linearize(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(A, B) of the step from (q, p) with the controls u (nu,) held; see `leastaction.linearize`."""
        self.refuse("linearize")

    def pull_back(self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray) -> FloatArray:
        """Turn the gradient `bar` (2 nv) by (q', p') along the tangent into that by (q, p), in place.

        Args:
            q, p: start of the step.
            u: controls at the control nodes, shape (nodes, nu).
            bar: gradient at the end of the step.

        Returns:
            Gradient by the controls, shape (nodes, nu).
        """
        self.refuse("linearize")

    def pull_back_all(
        self, q: FloatArray, p: FloatArray, u: FloatArray, bar: FloatArray, stencils: Sequence[Any]
    ) -> tuple[FloatArray, FloatArray]:
        """As `pull_back`, with the gradient by entries of parameters, shape (len(stencils),), as a second value."""
        self.refuse("parameters")

    def parameter_jacobian(self, q: FloatArray, p: FloatArray, u: FloatArray, stencils: Sequence[Any]) -> FloatArray:
        """Derivatives of (q', p') by parameters, shape (2 nv, len(stencils)); see `derivatives.parameter_jacobian`.

        Args:
            q, p: start of the step.
            u: controls held over the step, shape (nu,).
            stencils: for each entry of a parameter, weights and mechanisms whose weighted sum is the derivative by it;
                see `leastaction.parameters.parameter_differences.stencils`.
        """
        self.refuse("parameters")

    def residual(self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray) -> FloatArray:
        """Rows 0 ... s of the discrete Euler-Lagrange equations, shape (s + 1, nv), at given control points.

        A step holds where rows 0 ... s - 1 vanish; row s then is the momentum at its end. Row chi is along the tangent
        of `Mechanism.integrate` at control point chi. Reactions of loops are no part of them: at control point chi each
        adds its row of `dynamics.loop_jacobian` there, times its impulse.

        Args:
            q, p: start of the step.
            u: controls at the control nodes, shape (nodes, nu).
            x: displacements of the control points 1 ... s from q along the tangent, shape (s, nv).
        """
        self.refuse("residual")

    def residual_blocks(
        self, q: FloatArray, p: FloatArray, u: FloatArray, x: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`residual` with its derivatives; arguments as there.

        Returns:
            The rows; their derivatives by the control points, each moved along its own tangent while the others stay,
            shape (s + 1, nv, s + 1, nv); and by the controls, shape (s + 1, nv, nodes, nu).
        """
        self.refuse("residual")

    def action_blocks(self, q: FloatArray, p: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(D, C): `residual` by control points and controls; see `leastaction.derivatives.action_blocks`."""
        self.refuse("residual")

    def horizon_rows(self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray) -> None:
        """`residual` of all steps of a motion in one call, without the momenta at their starts.

        Args:
            q: configurations at all control points, shape (steps s + 1, nq); steps share those at their ends.
            u: controls at the control nodes of each step, shape (steps, nodes, nu).
            dt: time step [s].
            rows: what comes out, shape (steps, s + 1, nv).
        """
        self.refuse("residual")

    def horizon_blocks(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, D: FloatArray, C: FloatArray
    ) -> None:
        """`horizon_rows` with its derivatives as in `residual_blocks`; allocates nothing.

        Args:
            q, u, dt, rows: as for `horizon_rows`.
            D: derivatives by the control points, shape (steps, s + 1, nv, s + 1, nv).
            C: derivatives by the controls, shape (steps, s + 1, nv, nodes, nu); zero at first.
        """
        self.refuse("residual")

    def horizon_contractions(
        self, q: FloatArray, u: FloatArray, dt: float, rows: FloatArray, multipliers: FloatArray, out: FloatArray
    ) -> bool:
        """How D of `horizon_blocks` changes along multipliers: second derivatives of multipliers . rows, in essence.

        Of forces that are gradients of an energy; allocates nothing.

        Args:
            q, u, dt, rows: as for `horizon_rows`.
            multipliers: displacements of the control points of each step, shape (steps, s + 1, nv).
            out: what comes out, shape (steps, s + 1, nv, s + 1, nv).

        Returns:
            Whether this stepper knows it; where not, nothing is written.
        """
        return False

    def accelerations(self, q: FloatArray, v: FloatArray, u: FloatArray, slopes_too: bool) -> tuple[Any, Any]:
        """Accelerations at many states, shape (rows, nv), and their derivatives, for collocation.

        Args:
            q, v, u: positions (rows, nq), velocities (rows, nv) and controls (rows, nu).
            slopes_too: whether derivatives are wanted along the tangent of q, by v and by u, shape
                (rows, nv, 2 nv + nu); else None.
        """
        self.refuse("accelerations")

    def reverse(self, names: Sequence[str]) -> Reversal:
        """What goes back over recorded runs of this stepper, for gradients by `names`.

        Args:
            names: parameters of the mechanism (see `leastaction.adjoint`), and "controls" where gradients by them are
                to be kept.
        """
        self.refuse("reverse")

    def smooth_response(self, smoothing: float) -> None:
        """Let derivatives of rigid contact be those of smoothed contact at the same states; see `leastaction.adjoint`.

        Args:
            smoothing: central-path parameter [J].
        """
        name = type(self.integrator).__name__
        raise IntegratorError(f"{name} has no smoothed backward pass of rigid contact; use Maximal()")

    def refuse(self, what: str, more: str = "") -> NoReturn:
        """Say that the integrator cannot do `what` of `CAPABILITIES`, which one can, and `more`."""
        raise IntegratorError(f"{type(self.integrator).__name__} {CAPABILITIES[what]}{more}")


class Reversal(ABC):
    """Turns gradients by the states of a run into those by its start, controls and parameters, last steps first.

    A run may come in pieces, the last one first; gradients by states that a piece only looks back to are carried on to
    the piece before it.

    Attributes:
        kink: why there are no gradients by the first positions and by parameters; empty where there are.
    """

    kink: str = ""

    @abstractmethod
    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bs: FloatArray) -> None:
        """Go back over the steps of a record that follow its row `row`.

        Args:
            record: rows of states by name, as `Record` or a mapping with the same names.
            row: row from which its steps start; 0 for the piece that begins the run, else 1.
            first: number of the step that starts there.
            u: controls of its steps at the control nodes, shape (steps, nodes, nu).
            bq: gradients by the positions of all rows along the tangent, shape (rows, nv); zero for states of which
                another piece gives.
            bs: the same by the momenta, or velocities, that the integrator solves for.
        """

    @abstractmethod
    def finish(self, q: FloatArray) -> dict[str, FloatArray]:
        """Gradients after the piece that begins the run, at q (nq,).

        Returns:
            "q" and "p" (or "v", if the integrator solves for it), shape (nv,), at the start; "controls", where asked
            for, shape (steps, nodes, nu); and each parameter of the mechanism that was asked for, in its own shape.
        """


def refuse_loops(integrator: Any, mechanism: Mechanism) -> None:
    """Methods for trees refuse loops and couplings, and name a method that can."""
    name = type(integrator).__name__
    for joint in mechanism.loops:
        raise IntegratorError(f"{name} cannot close the loop joint {joint.name!r}; use leastaction.Galerkin")
    for coupling in mechanism.couplings:
        raise IntegratorError(f"{name} cannot keep the coupling {coupling.name!r}; use leastaction.Galerkin")
    for rolling in mechanism.rollings:
        raise IntegratorError(f"{name} cannot keep {rolling.name!r} rolling; use leastaction.Galerkin")
