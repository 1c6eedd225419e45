"""Linearly implicit integrators with constraints, contact and friction (Sueda 2021)."""

from leastaction.linear_implicit.bearings import Bearing
from leastaction.linear_implicit.hyper_reduction import HyperReduction
from leastaction.linear_implicit.integrators import ConstrainedEuler, MaximalEuler, StaggeredProjections
from leastaction.linear_implicit.maximal_map import MaximalMap, taken_apart
from leastaction.linear_implicit.velocity_constraints import (
    Constraint,
    MaximalConstraint,
    PrescribedMotion,
    PrescribedTwist,
    ReducedConstraint,
    Rows,
)

__all__ = [
    "Bearing",
    "ConstrainedEuler",
    "Constraint",
    "HyperReduction",
    "MaximalConstraint",
    "MaximalEuler",
    "MaximalMap",
    "PrescribedMotion",
    "PrescribedTwist",
    "ReducedConstraint",
    "Rows",
    "StaggeredProjections",
    "taken_apart",
]


def __dir__() -> list[str]:
    return [*__all__]
