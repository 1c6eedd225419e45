"""Settings of the linearly implicit integrators: `ConstrainedEuler`, `MaximalEuler` and `StaggeredProjections`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from leastaction.contact.qp import SOLVERS
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import PENALTIES, Integrator, Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, shown
from leastaction.redmax.linear_implicit.contact.bearings import Bearing
from leastaction.redmax.linear_implicit.contact.staggered_stepper import StaggeredStepper
from leastaction.redmax.linear_implicit.maximal_coordinates.maximal_staggered_stepper import MaximalStaggeredStepper
from leastaction.redmax.linear_implicit.maximal_coordinates.maximal_stepper import MaximalStepper
from leastaction.redmax.linear_implicit.preconditioned_stepper import PreconditionedStepper
from leastaction.redmax.linear_implicit.stepper import ContactStepper
from leastaction.redmax.linear_implicit.velocity_constraints import Constraint


def _constrained(integrator: Any, mechanism: Mechanism, dt: float) -> Stepper:
    kind = PreconditionedStepper if integrator.solver == "pcg" else ContactStepper
    return kind(integrator, mechanism, dt)


def _staggered(integrator: Any, mechanism: Mechanism, dt: float) -> Stepper:
    kind = StaggeredStepper if integrator.method == "bisp" else MaximalStaggeredStepper
    return kind(integrator, mechanism, dt)


@dataclass(frozen=True)
class ConstrainedEuler(Integrator):
    """Linearly implicit Euler with constraints on the new velocity, order 1 (Sueda 2021, 2.86, 2.106, 2.112, 2.114).

    The step of `LinearlyImplicitEuler`, with prescribed motions, joint limits and contacts beside loops and couplings.
    Contact points and shapes touch the ground by the rules of `Maximal`, which also has the layout of the forces in
    `run.stored["contacts"]`. Springs and dampers may be as stiff as they like. Ball and free joints move by the
    exponential map; spline joints and forces of the user's own are for `LinearlyImplicitEuler`. Controls and prescribed
    motions are those at the end of a step.

    Attributes:
        constraints: prescribed motions and other constraints, see `leastaction.redmax`.
        stabilization: what brings drifted constraints back: "baumgarte" (1.97), "post" (a projection after each
            step, 1.12) or "none".
        baumgarte: rate gamma at which violations are taken back [1/s]; 1/dt at most.
        couplings: "constrain" keeps couplings by equations, "eliminate" by hyper-reduced coordinates (2.6).
        limits: whether joint limits act.
        friction: "none", or "single_qp" for friction of contacts in a single quadratic program (1.13).
        solver: "dense"; or "pcg", conjugate gradients preconditioned by Algorithm 10, for large trees with springs.
        tolerance: relative residual of "pcg".
        qp: solver of quadratic programs: "auto", "daqp" or "piqp"; used only where inequalities act.
        self_collision: whether shapes of bodies touch each other too, not only the ground.
    """

    constraints: tuple[Constraint, ...] = ()
    stabilization: str = "baumgarte"
    baumgarte: float = 5.0
    couplings: str = "constrain"
    limits: bool = True
    friction: str = "none"
    solver: str = "dense"
    tolerance: float = 1e-10
    qp: str = "auto"
    self_collision: bool = False
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = staticmethod(_constrained)

    def __post_init__(self) -> None:
        _check_settings(self)
        choice(self.friction, ("none", "single_qp"), f"{type(self).__name__}: friction", IntegratorError)
        choice(self.solver, ("dense", "pcg"), f"{type(self).__name__}: solver", IntegratorError)


@dataclass(frozen=True)
class MaximalEuler(Integrator):
    """Euler steps in maximal coordinates, joints by a KKT system, order 1 (Sueda 2021, 1.28, 1.88, 1.95, 1.103).

    The run also holds `stored["body_frames"]`, 7 numbers per body (position, quaternion), and `stored["body_twists"]`,
    6 per body in its own frame; q and v are recovered from them. Joint limits do not act.

    Attributes:
        stabilization: "baumgarte", "post" or "none": against the drift of the joints (1.12).
        baumgarte: rate gamma at which violations are taken back [1/s]; 1/dt at most.
        friction: "none", or "single_qp" for friction of contacts in a single quadratic program (1.13).
        qp: solver of quadratic programs: "auto", "daqp" or "piqp".
        self_collision: whether shapes of bodies touch each other too, not only the ground.
    """

    stabilization: str = "baumgarte"
    baumgarte: float = 5.0
    friction: str = "none"
    qp: str = "auto"
    self_collision: bool = False
    handles: ClassVar[frozenset[str]] = PENALTIES - {
        "limit spring of joint",
        "tendon of joints",
        "force range of servo",
        "force range of tendon",
        "muscle",
    }
    stepper_class: ClassVar[Any] = MaximalStepper

    def __post_init__(self) -> None:
        self.in_parts()

    def in_parts(self) -> ConstrainedEuler:
        """The same settings for the mechanism taken apart, in which every joint closes a loop."""
        return ConstrainedEuler(
            stabilization=self.stabilization,
            baumgarte=self.baumgarte,
            friction=self.friction,
            qp=self.qp,
            self_collision=self.self_collision,
        )


@dataclass(frozen=True)
class StaggeredProjections(Integrator):
    """Linearly implicit Euler with friction of joints and contacts by staggered projections (Sueda 2021, 2.11).

    Dry friction of joints acts, bearings make friction that grows with the load of their joint, and what touches rubs
    (four-sided cone). All else is as in `ConstrainedEuler`.

    Attributes:
        bearings: joints whose friction grows with their load.
        method: "bisp" (Algorithm 8), or "sp" (Algorithm 7), which solves for the contacts of all bearings in maximal
            coordinates and is there to compare with; it runs trees of bodies on joints with bearings.
        max_iterations, tolerance: of the staggered iteration; relative change of velocities and of friction bounds.
        constraints, stabilization, baumgarte, couplings, limits, qp, self_collision: see `ConstrainedEuler`.
    """

    bearings: tuple[Bearing, ...] = ()
    method: str = "bisp"
    max_iterations: int = 300
    tolerance: float = 1e-8
    constraints: tuple[Constraint, ...] = ()
    stabilization: str = "baumgarte"
    baumgarte: float = 5.0
    couplings: str = "constrain"
    limits: bool = True
    qp: str = "auto"
    self_collision: bool = False
    handles: ClassVar[frozenset[str]] = PENALTIES
    stepper_class: ClassVar[Any] = staticmethod(_staggered)

    def __post_init__(self) -> None:
        _check_settings(self)
        _instances(self, "bearings", Bearing)
        choice(self.method, ("bisp", "sp"), f"{type(self).__name__}: method", IntegratorError)


def _check_settings(integrator: Any) -> None:
    """Settings that all steppers in reduced coordinates share."""
    _instances(integrator, "constraints", Constraint)
    own = type(integrator).__name__
    choice(integrator.stabilization, ("baumgarte", "post", "none"), f"{own}: stabilization", IntegratorError)
    choice(integrator.couplings, ("constrain", "eliminate"), f"{own}: couplings", IntegratorError)
    choice(integrator.qp, SOLVERS, f"{own}: qp", IntegratorError)
    if not integrator.baumgarte >= 0.0:
        raise IntegratorError(
            f"{own}: baumgarte must be a rate [1/s] that is not negative, got {integrator.baumgarte!r}"
        )


def _instances(integrator: Any, name: str, kind: type) -> None:
    values = getattr(integrator, name)
    if not isinstance(values, tuple | list) or not all(isinstance(value, kind) for value in values):
        own = type(integrator).__name__
        such = "PrescribedMotion" if kind is Constraint else kind.__name__
        raise IntegratorError(f"{own}: {name} must be several, such as redmax.{such}, got {shown(values)}")
    object.__setattr__(integrator, name, tuple(values))
