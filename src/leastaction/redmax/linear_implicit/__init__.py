"""Linearly implicit integrators with constraints, contact and friction (Sueda 2021)."""

from leastaction.redmax.linear_implicit.contact.bearings import Bearing
from leastaction.redmax.linear_implicit.hyper_reduction import HyperReduction
from leastaction.redmax.linear_implicit.integrators import ConstrainedEuler, MaximalEuler, StaggeredProjections
from leastaction.redmax.linear_implicit.maximal_coordinates.maximal_map import MaximalMap, taken_apart
from leastaction.redmax.linear_implicit.velocity_constraints import (
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
