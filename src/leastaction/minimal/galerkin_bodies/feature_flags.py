"""Optional features of the body-wise kernels: steps need few of them, and compile faster without the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from leastaction.minimal.galerkin_bodies.arrays import GalerkinBodiesModel


class KernelFeatures(NamedTuple):
    """Compiled features of a kernel: True, or None for those that are not compiled.

    Attributes:
        second, fourth, higher: for order 2, for order 4, and for any order above.
        balls: for ball joints at order 4.
        soft: for springs, dampers and armatures in joints.
    """

    second: bool | None
    fourth: bool | None
    higher: bool | None
    balls: bool | None
    soft: bool | None


def needed_features(model: GalerkinBodiesModel) -> KernelFeatures:
    """The features that steps of this model need.

    There are few combinations, because each is a kernel. Orders above 4 share one, and so do all models of an order
    with forces on bodies: compared with these, the other features compile quickly.
    """
    s = len(model.rule.c) - 1
    pushed = model.forces.paths is not None
    soft = pushed or model.sprung or model.geared or s > 2
    balls = s == 2 and (pushed or (not soft and bool((model.nodes.nv == 3).any())))
    return KernelFeatures(*(True if way else None for way in (s == 1, s == 2, s > 2, balls, soft)))
