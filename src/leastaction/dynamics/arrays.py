"""What the classical recursions read and write: model and data by name.

Kernels take anything that has these fields; entry points take plain tuples in this order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leastaction.mechanism.arguments import FloatArray


class DynamicsModel(NamedTuple):
    """A mechanism's tree, read only.

    Attributes:
        nodes, dofs: records of its nodes and degrees of freedom.
        gravity: [m/s^2], shape (3,).
    """

    nodes: Any
    dofs: Any
    gravity: FloatArray


class DynamicsData(NamedTuple):
    """Scratch of one robot.

    Attributes:
        links: `LINK` records of the nodes.
        screws: `JOINT_SCREW` records of the degrees of freedom.
        external: world wrenches on the nodes, which are read, shape (nodes, 6).
    """

    links: Any
    screws: Any
    external: FloatArray


class AppliedData(NamedTuple):
    """Scratch and results of `applied_forces`.

    Attributes:
        modes: of one-sided forces and tendons, `forces.ForceModes`.
        links, screws, external: see `DynamicsData`; wrenches are written.
        tau: generalised forces, shape (nv,).
    """

    modes: Any
    links: Any
    screws: Any
    external: FloatArray
    tau: FloatArray


class SlopeData(NamedTuple):
    """Scratch and results of the derivatives of inverse dynamics.

    Attributes:
        rates: `derivatives.RATES` records of the degrees of freedom.
        B: Coriolis matrices of the subtrees, shape (nodes, 6, 6).
        dq, dv: derivatives of the forces, shape (nv, nv), zeroed by the caller.
    """

    rates: Any
    B: FloatArray
    dq: FloatArray
    dv: FloatArray


class ClosureModel(NamedTuple):
    """Loops, couplings and rolling contacts of a mechanism.

    Attributes:
        rows: `mechanism.closure` records, equations first, then soft ones.
        coefficients: polynomials of the couplings.
        count: number of equations.
    """

    rows: Any
    coefficients: FloatArray
    count: int
