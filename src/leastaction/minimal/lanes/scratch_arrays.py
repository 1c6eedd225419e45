"""Arrays of what `Grounded` looks at beside the steps themselves: bodies within a step, momenta that are told."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]

SLACK = 1e-9
"""Share of the compliance by which directions give way, so that those that say the same share what they hold."""

COARSE = 1e-5
"""The same in numbers of 32 bits."""


class Between(NamedTuple):
    """Bodies somewhere within a step, and how they move.

    Attributes:
        q: joint positions, shape (nq,); x: motion of the joints up to there, shape (nv,).
        R, centres, S: rotations, centres of mass [m] and joint screws there, shapes (bodies, 9), (bodies, 3), (nv, 6).
        ways: shifts of centres of mass and turns over the step, at the speeds of its start and of its end, shape
            (2, bodies, 6).
    """

    q: FloatArray
    x: FloatArray
    R: FloatArray
    centres: FloatArray
    S: FloatArray
    ways: FloatArray


class Told(NamedTuple):
    """Momenta as they are told, and scratch for them; see `pressed`.

    Attributes:
        wanted: whether p is asked for, shape (1,).
        slack: share of the compliance by which directions give way, shape (1,): `SLACK`, or more with fewer digits.
        p: at the start of the step, shape (nv,).
        end: at its end, as far as it knows, shape (nv,).
        mean: share of the velocities within the step in those of p, and of its impulses in p, shape (1,).
        pressed: whether forces press on the cones, shape (1,).
        holds: whether the direction of an impulse holds, shape (m,); held: the same at the start of the step.
        v, off, y: velocities, momenta, and velocities that these make, shape (nv,).
        N, Y: directions of impulses along the joints, and velocities of unit impulses, shape (m, nv).
        twists: of the bodies, shape (bodies, 6).
        W: factors of M + late where the step begins, as `Lane.W`, shape (nv, 8).
        known: length of the step before that these are of [s], 0 for none, shape (1,).
    """

    wanted: NDArray[np.int64]
    slack: FloatArray
    p: FloatArray
    end: FloatArray
    mean: FloatArray
    pressed: NDArray[np.int64]
    holds: NDArray[np.int64]
    held: NDArray[np.int64]
    v: FloatArray
    off: FloatArray
    y: FloatArray
    N: FloatArray
    Y: FloatArray
    twists: FloatArray
    W: FloatArray
    known: FloatArray


def between_arrays(bodies: int, nq: int, nv: int) -> Between:
    """Arrays for so many bodies, joint positions and velocities."""
    return Between(*map(np.zeros, (nq, nv, (bodies, 9), (bodies, 3), (nv, 6), (2, bodies, 6))))


def told_arrays(bodies: int, nv: int, m: int) -> Told:
    """Arrays for so many bodies, velocities and impulses."""
    p, end, v, off, y = np.zeros((5, nv))
    N, Y = np.zeros((2, m, nv))
    holds, held = np.zeros((2, m), np.int64)
    mean, pressed = np.zeros(1), np.zeros(1, np.int64)
    wanted, slack = np.ones(1, np.int64), np.array([SLACK])
    twists, W, known = np.zeros((bodies, 6)), np.zeros((nv, 8)), np.zeros(1)
    return Told(wanted, slack, p, end, mean, pressed, holds, held, v, off, y, N, Y, twists, W, known)
