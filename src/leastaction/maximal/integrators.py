"""`Maximal`: variational integrators in maximal coordinates, with loops, contact and friction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from leastaction.contact.laws.cones import DIRECTIONS
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import PENALTIES, Integrator
from leastaction.maximal.stepper import MaximalStepper

WORK = 200
"""Default of `max_work` relative to `max_iterations`."""


@dataclass(frozen=True)
class Maximal(Integrator):
    """Variational integrator in maximal coordinates, with loops, contact and friction (Bruedigam 2020, 2023).

    Every body has its own pose; joints are position constraints that hold at the end of each step, so they never drift,
    and closed loops need no special treatment. Contacts are rigid: gaps are non-negative up to the solver's tolerance.

    Attributes:
        order: 1 as in the papers (symplectic Euler); 2 symmetric, the same action with forces and velocities evaluated
            at both ends of the step; 4 and 6 compose symmetric steps, some with negative dt, and exclude contacts.
        tolerance: error of the velocities within a step that Newton may leave, by the size of its last updates [m/s;
            angular velocities times the radius of gyration].
        max_iterations: Newton iterations of a step, or of each substep where a step is bisected.
        max_work: Newton iterations of a step in all its substeps and attempts; beyond it the step fails with a
            `ConvergenceError`. None: 200 times `max_iterations`.
        friction: "cone", the exact friction cone; or "linear", a linearised cone with n_directions.
        n_directions: number of directions of the linearised cone (n_f of 2023, Eq. 26); an even number from 4 to 32.
        smoothing: central-path parameter [J] at which contact is solved; 0 for rigid contact, larger values for smooth
            gradients through contact.
        self_collision: whether bodies may touch each other, not only the ground.
        warm_start: start from the contact modes (open, sticking, sliding) and impulses of the step before, which saves
            iterations in most runs with contact (exact cone and rigid contact only).
    """

    order: int = 2
    tolerance: float = 1e-10
    max_iterations: int = 60
    friction: str = "cone"
    smoothing: float = 0.0
    self_collision: bool = True
    n_directions: int = 8
    warm_start: bool = True
    max_work: int | None = None

    stepper_class: ClassVar[Any] = MaximalStepper
    handles: ClassVar[frozenset[str]] = PENALTIES | {
        "prescribed motion",
        "moving surface",
        "rigid limit of tendon",
        "static friction",
    }

    def __post_init__(self) -> None:
        if self.order not in (1, 2, 4, 6):
            raise IntegratorError(f"Maximal: order must be 1, 2, 4 or 6, got {self.order!r}")
        if self.max_work is not None and not (isinstance(self.max_work, int) and self.max_work >= 1):
            raise IntegratorError(f"Maximal: max_work must be None or at least 1, got {self.max_work!r}")
        if self.friction not in ("cone", "linear"):
            raise IntegratorError(f"Maximal: friction must be 'cone' or 'linear', got {self.friction!r}")
        if self.n_directions not in range(4, DIRECTIONS + 1, 2):
            raise IntegratorError(
                f"Maximal: n_directions must be an even number from 4 to {DIRECTIONS}, got {self.n_directions!r}"
            )
        if not (isinstance(self.smoothing, float | int) and 0.0 <= self.smoothing < math.inf):
            raise IntegratorError(
                f"Maximal: smoothing must be a finite energy [J], not negative, got {self.smoothing!r}"
            )

    @property
    def directions(self) -> int:
        """Directions of the linearised cone, 0 for the exact one."""
        return self.n_directions if self.friction == "linear" else 0

    @property
    def work(self) -> int:
        """Most Newton iterations of a step in all its substeps."""
        return WORK * self.max_iterations if self.max_work is None else self.max_work
