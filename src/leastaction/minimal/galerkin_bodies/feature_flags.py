"""Which code kernels of the body-wise rule have: steps need little of all that there is, and compile sooner without."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from leastaction.minimal.galerkin_bodies.arrays import GalerkinBodiesModel


class KernelFeatures(NamedTuple):
    """Which code a kernel has: True, or None for what is omitted, so that it is not compiled.

    Attributes:
        second, fourth, higher: for order 2, for order 4, and for any order above.
        balls: for ball joints at order 4.
        soft: for springs, dampers and the inertias of drives in joints.
    """

    second: bool | None
    fourth: bool | None
    higher: bool | None
    balls: bool | None
    soft: bool | None


def needed_features(model: GalerkinBodiesModel) -> KernelFeatures:
    """The code that steps of this model need.

    Few combinations: each is a kernel of its own. Orders above 4 share one, and so do all models of an order with
    forces on bodies: beside these, the rest is little.
    """
    s = len(model.rule.c) - 1
    pushed = model.forces.paths is not None
    soft = pushed or model.sprung or model.geared or s > 2
    balls = s == 2 and (pushed or (not soft and bool((model.nodes.nv == 3).any())))
    return KernelFeatures(*(True if way else None for way in (s == 1, s == 2, s > 2, balls, soft)))
