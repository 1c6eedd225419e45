"""Gradients by turns ("rotation:JOINT") at values other than zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism.arguments import FloatArray


def at_values(gradients: dict[str, Any], values: dict[str, FloatArray]) -> dict[str, Any]:
    """Gradients by the values of parameters, from those of a mechanism that has these values.

    They differ for turns only: such a mechanism counts its turns from where it is.
    """
    turned = {name: left_jacobian(x).T @ gradients[name] for name, x in values.items() if name.startswith("rotation:")}
    return gradients | turned


def left_jacobian(turn: FloatArray) -> FloatArray:
    """How a change of a rotation vector turns what it has turned already: exp(x + d) = exp(J d) exp(x)."""
    angle = float(np.linalg.norm(turn))
    x, y, z = turn
    W = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-6:
        return np.eye(3) + 0.5 * W
    return np.eye(3) + (1.0 - np.cos(angle)) / angle**2 * W + (angle - np.sin(angle)) / angle**3 * W @ W
