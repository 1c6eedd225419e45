"""Gradients of an objective of a whole run, by what kernels read."""

from __future__ import annotations

from dataclasses import dataclass

from leastaction.redmax.adjoint.arrays import ParameterGradients
from leastaction.redmax.reduced_model import Reduced
from leastaction.typing import FloatArray


@dataclass(frozen=True, eq=False)
class Gradients:
    """Gradients of an objective; those by parameters only where these were asked for.

    Attributes:
        q: by the first positions along the tangent, shape (nv,).
        v: by the first velocities, shape (nv,).
        controls: shape (steps, 1, nu); empty where they were not asked for.
        parameters: by the numbers that kernels read.
        reduced: the compiled mechanism that nodes are numbered by.
        drives: sums over all steps of each control times the gradient by it, shape (nu,).
    """

    q: FloatArray
    v: FloatArray
    controls: FloatArray
    parameters: ParameterGradients
    reduced: Reduced
    drives: FloatArray
