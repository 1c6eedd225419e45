"""`Galerkin` and `Midpoint`: variational integrators in joint coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import PENALTIES, Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice
from leastaction.minimal.contact.unsupported import unknown_parts
from leastaction.minimal.quadrature_rules import MIDPOINT, Rule, lobatto

SOLVERS = ("auto", "simplified", "sparse", "recursive", "dense", "quasi")
SOFT = frozenset({"penalty contact"})
"""Forces that `Minimal` does not support."""

INTERPOLATIONS = ("auto", "bodies", "joints")


def _check(integrator: Any) -> None:
    name = type(integrator).__name__
    choice(integrator.solver, SOLVERS, f"{name}: solver", IntegratorError)


# Steppers are imported on demand: together they define a thousand kernels, which takes half a second.


def _galerkin_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> Any:
    if integrator.interpolates == "joints":
        return _variational_stepper(integrator, mechanism, dt)
    from leastaction.minimal.galerkin_bodies.constrained_stepper import galerkin_bodies_stepper

    return galerkin_bodies_stepper(integrator, mechanism, dt)


def _variational_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> Any:
    from leastaction.minimal.galerkin_joints.stepper import variational_stepper

    return variational_stepper(integrator, mechanism, dt)


def _ground_stepper(integrator: Any, mechanism: Mechanism, dt: float) -> Any:
    from leastaction.minimal.contact.stepper import GroundStepper

    return GroundStepper(integrator, mechanism, dt)


@dataclass(frozen=True)
class Galerkin(Integrator):
    """Galerkin variational integrator of any even order (Fan 2018): symplectic, keeps momenta, no energy drift.

    Interpolation and quadrature at order/2 + 1 Lobatto points: order 2 is the trapezoidal, order 4 the Simpson
    variational integrator. Ball and free joints have no singular orientation. A step without a plausible solution
    near the motion is bisected, into up to 1024 substeps, which `run.stored["divided"]` encodes (0: not bisected).

    Attributes:
        order: 2, 4, 6, ...
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        solver: "auto"; or, for interpolation of joints, "sparse" (tree-sparse LDU), "recursive" (O(n)), "dense" (the
            whole matrix), "simplified" (cheap sweeps first, Newton where they converge too slowly; `iterations` counts
            both; "auto" does so from order 6 on), or "quasi", the quasi-Newton method of Lee et al. 2016, for
            comparison and of order 2 only.
        interpolation: "bodies": polynomials of the poses of the bodies, with joints exact at the nodes; or "joints",
            Fan's: polynomials of the joint coordinates. Of the same order, "bodies" is mostly faster and several times
            more accurate; "joints" is more accurate on small planar mechanisms and, from order 6 on, faster on chains
            of hinges. "auto": bodies, but joints where a solver is named, because solvers belong to "joints".
    """

    order: int = 2
    tolerance: float = 1e-12
    max_iterations: int = 200
    solver: str = "auto"
    interpolation: str = "auto"
    stepper_class: ClassVar[Any] = staticmethod(_galerkin_stepper)
    handles: ClassVar[frozenset[str]] = PENALTIES
    older: ClassVar[Mapping[str, Any]] = {"interpolation": "joints"}

    def __post_init__(self) -> None:
        if not isinstance(self.order, int) or self.order < 2 or self.order % 2 or self.order > 24:
            raise IntegratorError(f"Galerkin: order must be 2, 4, 6, ... up to 24, got {self.order!r}")
        if self.solver == "quasi" and self.order != 2:
            raise IntegratorError(f"Galerkin: solver 'quasi' is of order 2 only, got order {self.order}")
        choice(self.interpolation, INTERPOLATIONS, "Galerkin: interpolation", IntegratorError)
        if self.interpolation == "bodies" and self.solver != "auto":
            raise IntegratorError(
                f"Galerkin: interpolation of bodies has no solver {self.solver!r}; leave it at 'auto'"
            )
        _check(self)

    @property
    def rule(self) -> Rule:
        """Control points, weights and differentiation matrix."""
        return lobatto(self.order // 2)

    @property
    def interpolates(self) -> str:
        """The interpolated quantity, "bodies" or "joints"; see `interpolation`."""
        if self.interpolation != "auto":
            return self.interpolation
        return "bodies" if self.solver == "auto" else "joints"


@dataclass(frozen=True)
class Midpoint(Integrator):
    """Variational integrator of the midpoint rule, order 2 (the rule of DMOC, Villanueva 2025).

    Loops, couplings and rolling contacts hold at the end of each step (the rule of trep: Johnson and Murphey, Scalable
    Variational Integrators for Constrained Mechanical Systems in Generalized Coordinates, T-RO 2009).

    Attributes:
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations allowed from each first guess.
        solver: "auto", "sparse" (tree-sparse LDU), "recursive" (O(n)) or "dense" (the whole matrix); or "quasi", the
            quasi-Newton method of Lee et al. 2016, for comparison; or "simplified", cheap sweeps before Newton.
    """

    tolerance: float = 1e-12
    max_iterations: int = 200
    solver: str = "auto"
    order: ClassVar[int] = 2
    stepper_class: ClassVar[Any] = staticmethod(_variational_stepper)
    handles: ClassVar[frozenset[str]] = PENALTIES

    def __post_init__(self) -> None:
        _check(self)

    @property
    def rule(self) -> Rule:
        """Control points, weights and differentiation matrix."""
        return MIDPOINT


@dataclass(frozen=True)
class Minimal(Integrator):
    """Robots that stand, walk, fall and grasp: rigid contact in joint coordinates, order 2.

    The body-wise rule of `Galerkin(order=2)` with the contact laws of `Maximal`: gaps at the end of each step,
    Coulomb's cone, restitution, joint limits, dry friction. Unknowns are the joint coordinates and contact impulses
    only, so a step of a robot costs a fraction of one of `Maximal`. All shapes touch the ground and each other as with
    `Maximal`; spheres over planes (contact points, spheres, capsules, corners of boxes and hulls) are fastest. The
    contact problem has a dense matrix: use `Maximal` for heaps of many loose bodies. Springs and cables between points,
    tendons, drag, compliant limits, loops and couplings are supported. A step has two phases, for the positions at its
    end and for the momenta there, so that (q, p) is the complete state of a run. Derivatives are those at fixed contact
    modes (open, sticking, sliding); a compliance of 2e-3 dt^2 at most makes contact forces unique. (Laws: Bruedigam
    2023, sections 3.3 and 3.4; phases: Andersen 1983; solver: Jourdan, Alart and Jean 1998.)

    Attributes:
        tolerance: size of the Newton update [rad or m] at which a step counts as solved.
        max_iterations: Newton iterations before a step is bisected, into up to 1024 substeps.
        self_collision: whether bodies may touch each other, not only the ground.
    """

    tolerance: float = 1e-10
    max_iterations: int = 12
    self_collision: bool = True
    order: ClassVar[int] = 2
    stepper_class: ClassVar[Any] = staticmethod(_ground_stepper)
    handles: ClassVar[frozenset[str]] = (
        PENALTIES | {"moving surface", "static friction", "prescribed motion", "soft contact"}
    ) - SOFT
    instead: ClassVar[str] = "Maximal"

    def unknown_part(self, mechanism: Mechanism) -> str:
        """See `Integrator.unknown_part`."""
        return super().unknown_part(mechanism) or next(iter(unknown_parts(mechanism, True)), "")


Grounded = Minimal
"""Earlier name of `Minimal`."""
