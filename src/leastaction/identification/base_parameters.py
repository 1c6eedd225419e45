"""Base parameters: the combinations of inertial parameters that forces in joints depend on.

Gautier 1991: the columns of the regressor at many random states are brought into order by a QR factorisation with
column pivoting; those before the rank are independent, the others are combinations of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from leastaction.dynamics.regressor import inertial_parameters, inverse_dynamics_regressor
from leastaction.errors import IdentificationError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import count, shown
from leastaction.mechanism.arguments import FloatArray, robot

ENTRIES = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
"""Of each body: its mass, first moment and inertia about the origin of its frame."""

RANK = 1e-8
"""Share of the largest pivot below which a column of the regressor depends on those before it."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Combinations of the inertial parameters pi of all bodies that forces in joints depend on.

    Attributes:
        names: of pi, such as "m:link1" or "Ixx:link1", 10 for each body.
        independent: indices of the parameters that stand for the combinations, shape (rank,).
        matrix: the combinations: base parameters = matrix @ pi, shape (rank, 10 bodies).
        values: of the base parameters of the robot, shape (rank,).
    """

    names: list[str]
    independent: NDArray[np.int64]
    matrix: FloatArray
    values: FloatArray

    @property
    def rank(self) -> int:
        """How many there are."""
        return len(self.independent)

    @property
    def without_effect(self) -> list[str]:
        """Parameters that no force in a joint depends on."""
        return [
            name for name, column in zip(self.names, self.matrix.T, strict=True) if not np.abs(column).max(initial=0.0)
        ]

    def formulas(self, digits: int = 4) -> list[str]:
        """The combinations in words, such as "Izz:link2 + 0.25 m:link2"."""
        out = []
        for row in self.matrix:
            parts = [
                f"{'-' if c < 0 else '+'} {'' if abs(abs(c) - 1.0) < 1e-9 else f'{abs(c):.{digits}g} '}{name}"
                for c, name in zip(row, self.names, strict=True)
                if c
            ]
            out.append(" ".join(parts).removeprefix("+ "))
        return out

    def __str__(self) -> str:
        lines = [f"{self.rank} base parameters of {len(self.names)}"]
        return "\n".join(
            [*lines, *(f"  {text} = {x:.6g}" for text, x in zip(self.formulas(), self.values, strict=True))]
        )


def natural_number(value: Any, what: str) -> int:
    """`value` as a whole number of at least zero."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise IdentificationError(f"{what}: expected a whole number of at least 0, got {shown(value)}")
    return int(value)


def base_parameters(mechanism: Mechanism, *, samples: int | None = None, seed: int = 0) -> BaseParameters:
    """The base parameters of a robot, whatever its motion: what inverse dynamics can identify of its bodies.

    Args:
        mechanism: the robot.
        samples: random states at which the regressor is taken; default three times as many as parameters.
        seed: of the random states.
    """
    bodies = len(robot(mechanism).bodies)
    if not mechanism.nv:
        raise IdentificationError(f"{mechanism.name!r} cannot move")
    samples = 3 * (10 * bodies // mechanism.nv + 1) if samples is None else count(samples, "samples")
    rng = np.random.default_rng(natural_number(seed, "seed"))
    home = mechanism.home()
    rows = []
    for _ in range(samples):
        q = mechanism.integrate(home, rng.uniform(-2.0, 2.0, mechanism.nv))
        rows.append(inverse_dynamics_regressor(mechanism, q, *rng.normal(size=(2, mechanism.nv))))
    W = np.concatenate(rows)
    factors: Any = qr(W, mode="r", pivoting=True)
    R, order = factors
    pivots = np.abs(np.diag(R))
    rank = int((pivots > RANK * pivots[0]).sum())
    matrix = np.zeros((rank, W.shape[1]))
    matrix[np.arange(rank), order[:rank]] = 1.0
    matrix[:, order[rank:]] = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    matrix[np.abs(matrix) < 1e-9] = 0.0
    rising = np.argsort(order[:rank])
    matrix, independent = matrix[rising], order[:rank][rising]
    names = [f"{entry}:{body}" for body in mechanism.body_names for entry in ENTRIES]
    return BaseParameters(names, independent, matrix, matrix @ inertial_parameters(mechanism).ravel())
