"""Where the unknowns of a transcription stand in its vector z."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import ProblemError
from leastaction.mechanism._check import choice
from leastaction.typing import FloatArray

IntArray = NDArray[np.int64]

CONTROLS = ("held", "linear", "nodes")


@dataclass(frozen=True)
class Controls:
    """How controls between unknown values are read.

    Attributes:
        kind: "held": one value for each step; "linear": values at the knots, linear between them; "nodes": values at
            all control nodes.
        blocks: number of unknown values.
        first: first value that a step reads, shape (steps,).
        weights: controls at the nodes of a step are weights @ values from there on, shape (nodes, width).
        quadrature: weights of the nodes for integrals over a step, shape (nodes,).
    """

    kind: str
    blocks: int
    first: IntArray
    weights: FloatArray
    quadrature: FloatArray

    @classmethod
    def of(cls, kind: str | None, steps: int, nodes: tuple[float, ...]) -> Controls:
        """For steps whose controls are read at these fractions of a step."""
        kind = kind or ("held" if len(nodes) == 1 else "linear")
        choice(kind, CONTROLS, "controls", ProblemError)
        c, k = np.array(nodes), np.arange(steps)
        weights = quadrature(c)
        if kind == "held" or (kind == "nodes" and len(c) == 1):
            return cls("held", steps, k, np.ones((len(c), 1)), weights)
        if kind == "linear":
            return cls(kind, steps + 1, k, np.stack([1.0 - c, c], axis=1), weights)
        s = len(c) - 1
        return cls(kind, s * steps + 1, s * k, np.eye(s + 1), weights)

    @property
    def middle(self) -> FloatArray:
        """Weights of the mean over a step, shape (1, width)."""
        return (self.quadrature @ self.weights)[None]


def quadrature(c: FloatArray) -> FloatArray:
    """Weights on [0, 1] that integrate polynomials through the nodes."""
    powers = np.arange(len(c))
    return np.asarray(np.linalg.solve(c[None, :] ** powers[:, None], 1.0 / (powers + 1.0)), float)


@dataclass(frozen=True)
class Layout:
    """Indices into z, ordered along time.

    Attributes:
        q: of the configurations at all control points, shape (points, nv): displacements from a reference along the
            tangent.
        u: of the controls, shape (blocks, nu).
        p: of momenta at the knots, shape (steps + 1, nv), or (0, nv).
        v: of velocities at the knots, shape (steps + 1, nv), or (0, nv).
        forces: of reactions, one array (control points, forces) for each; then of velocities at `Cuts`, (cuts, nv).
        duration: of the final time, or -1 where it is given.
        size: number of unknowns.
    """

    q: IntArray
    u: IntArray
    p: IntArray
    v: IntArray
    forces: tuple[IntArray, ...]
    duration: int
    size: int

    @classmethod
    def of(
        cls,
        steps: int,
        s: int,
        nv: int,
        nu: int,
        controls: Controls,
        *,
        momenta: bool = False,
        velocities: bool = False,
        free_time: bool = False,
        forces: Sequence[tuple[IntArray, int]] = (),
    ) -> Layout:
        """Knot by knot: its configuration, momentum, velocity and controls, then what lies within the step after it.

        Args:
            forces: control points and number of components of each reaction.
        """
        # (time, order at one time) of each block, and its size
        blocks = [("q", j, j / s, 0, nv) for j in range(s * steps + 1)]
        place = {"held": 1.0, "linear": 1.0, "nodes": 1.0 / s}[controls.kind]
        blocks += [("u", j, j * place, 3, nu) for j in range(controls.blocks)]
        blocks += [("p", k, float(k), 1, nv) for k in range(steps + 1 if momenta else 0)]
        blocks += [("v", k, float(k), 2, nv) for k in range(steps + 1 if velocities else 0)]
        out = {
            "q": np.zeros((s * steps + 1, nv), int),
            "u": np.zeros((controls.blocks, nu), int),
            "p": np.zeros((steps + 1 if momenta else 0, nv), int),
            "v": np.zeros((steps + 1 if velocities else 0, nv), int),
        }
        for k, (points, count) in enumerate(forces):
            blocks += [(f"f{k}", i, point / s, 4, count) for i, point in enumerate(points)]
            out[f"f{k}"] = np.zeros((len(points), count), int)
        at = 0
        for name, index, _, _, size in sorted(blocks, key=lambda b: (b[2], b[3])):
            out[name][index] = np.arange(at, at + size)
            at += size
        acting = tuple(out.pop(f"f{k}") for k in range(len(forces)))
        return cls(**out, forces=acting, duration=at if free_time else -1, size=at + free_time)
