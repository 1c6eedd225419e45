"""Numbers and places as an MJCF file has them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from leastaction.formats._xml import Element
from leastaction.mechanism import Pose

MAXIMUM = 1e10
"""Largest number of MuJoCo (mjMAXVAL); stands for infinity where only one of two limits is finite."""


def numbers(values: Iterable[float]) -> str:
    """Numbers that read back as the same floats; infinite ones as the largest of MuJoCo."""
    return " ".join(repr(float(np.clip(x, -MAXIMUM, MAXIMUM)) + 0.0) for x in values)


def placed(element: Element, pose: Pose) -> None:
    """Give an element its place in its parent."""
    if any(pose.position):
        element.attributes["pos"] = numbers(pose.position)
    if pose.quaternion != (1.0, 0.0, 0.0, 0.0):
        element.attributes["quat"] = numbers(pose.quaternion)


def limits(given: Iterable[float]) -> tuple[float, float]:
    """Two limits of a compiled model, infinite where they are as large as MuJoCo's numbers get."""
    low, high = (float(x) for x in given)
    return (low if low > -MAXIMUM else -np.inf), (high if high < MAXIMUM else np.inf)
