"""`Reduced`: a mechanism compiled for the kernels of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.forces.arrays import ELEMENTS, ForceModel, compact, force_modes, has_jumps
from leastaction.forces.reduced_forces import reduced_forces
from leastaction.forces.user import PointForce
from leastaction.kinematics.reduced.arrays import records
from leastaction.kinematics.reduced.compiled import compiled_coordinates
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import CLOSURE_ROW, COUPLING
from leastaction.redmax.arrays import (
    SCREW_RATE,
    LoopData,
    LoopModel,
    ReducedData,
    ReducedModel,
)


class Reduced:
    """A mechanism in reduced coordinates with its forces and loops. Read only: any number of robots share it.

    Attributes:
        mechanism: the robot.
        coordinates: its reduced coordinates.
        tree: its nodes.
        nr: number of reduced coordinates.
        model: what kernels read.
        rows: `closure.CLOSURE_ROW` records of loops, couplings and driven joints.
        count: number of equations among them; the driven joints are the last.
        coefficients: polynomials of the couplings; zeros for the goals of driven joints behind them.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        *,
        exponential: bool = False,
        forces: tuple[PointForce, ...] = (),
        driven: tuple[int, ...] = (),
    ) -> None:
        """Compile.

        Args:
            mechanism: the robot.
            exponential: whether balls are in exponential coordinates, not in Euler angles.
            forces: of the user's own.
            driven: degrees of freedom of the nodes that follow given positions.
        """
        self.mechanism = mechanism
        self.coordinates = c = compiled_coordinates(mechanism, exponential)
        self.tree, self.nr = c.tree, c.nr
        self._loops(driven)
        acting = reduced_forces(c, forces)
        jumps, pushed = has_jumps(acting), _any_wrenches(acting)
        # Kernels of plain trees without forces on bodies are compiled without all else.
        rare = bool(len(self.rows) or len(c.model.blocks) or forces or jumps or pushed or len(c.model.balls))
        self.rare = rare
        """Whether there are loops, balls, splines, exponential coordinates, forces on bodies or forces that jump."""
        self.model = ReducedModel(
            dofs=c.tree.dofs,
            gravity=c.tree.gravity,
            coordinates=c.model._replace(
                blocks=c.model.blocks if rare else None, balls=c.model.balls if rare else None
            ),
            forces=(acting if rare else compact(acting))._replace(
                balls=acting.balls if rare else None,
                coords=acting.coords if rare else None,
                user=acting.user if rare else None,
            ),
            loops=LoopModel(self.rows, self.count) if rare else None,
            wrenches=(pushed or len(self.rows) > 0) if rare else None,
            jumps=jumps if rare else None,
        )

    def _loops(self, driven: tuple[int, ...]) -> None:
        c = self.tree.closure
        extra: Any = np.zeros(len(driven), CLOSURE_ROW)
        for k, dof in enumerate(driven):
            # A coupling whose polynomial is a constant, which is set anew for each stage.
            extra[k]["kind"], extra[k]["first"], extra[k]["count"] = COUPLING, len(c.coefficients) + k, 1
            extra[k]["follower"] = extra[k]["leader"] = dof
        self.rows: Any = np.concatenate([c.rows[: c.count], extra, c.rows[c.count :]]).view(np.recarray)
        self.coefficients = np.concatenate([c.coefficients, np.zeros(len(driven))])
        self.count = c.count + len(driven)

    def data(self, kept: Any = None, *, max_iterations: int = 1, dense: bool = False) -> ReducedData:
        """State and scratch of one robot.

        Args:
            kept: rows of the loop equations that have multipliers; default all.
            max_iterations: of Newton's method.
            dense: whether the matrix of the nodes is needed even where neither blocks nor loops need it.
        """
        t, nr = self.tree, self.nr
        kept = np.arange(self.count) if kept is None else kept
        numbers = np.full(len(self.rows), -1)
        numbers[kept] = np.arange(len(kept))
        n, nv, m = len(t.nodes), t.nv, len(kept)
        side = nv if dense or len(self.coordinates.model.blocks) or self.count else 0
        coordinates = self.coordinates.data()
        return ReducedData(
            coordinates=coordinates if self.rare else coordinates._replace(lifts=None),
            modes=force_modes(self.model.forces),
            loops=LoopData(numbers, self.coefficients.copy()) if self.rare else None,
            links=records(n, LINK),
            screws=records(nv, JOINT_SCREW),
            rates=records(nv, SCREW_RATE),
            B=np.zeros((n, 6, 6)),
            q=np.zeros(t.nq),
            v=np.zeros(nv),
            a=np.zeros(nv),
            tau=np.zeros(nv),
            external=np.zeros((n, 6)),
            T=np.zeros((n, 6)),
            dV=np.zeros((n, 6)),
            dF=np.zeros((n, 6)),
            dx=np.zeros(nv),
            dw=np.zeros(nv),
            dtau=np.zeros(nv),
            change=np.zeros(nr),
            H=np.zeros((nr + m, nr + m)),
            pivots=np.zeros(nr + m, np.int64),
            parts=np.zeros((3, side, side)),
            column=np.zeros(nv),
            g=np.zeros(nr + m),
            step=np.zeros(nr + m),
            P=np.zeros(nr),
            Pv=np.zeros(nr),
            rdd=np.zeros(nr),
            old=np.zeros(nr),
            old_lam=np.zeros(m),
            x0=np.zeros(nr),
            v0=np.zeros(nr),
            x1=np.zeros(nr),
            v1=np.zeros(nr),
            sizes=np.zeros(max_iterations),
        )


def _any_wrenches(forces: ForceModel) -> bool:
    """Whether any force or control may push on a node."""
    soft = (forces.balls.stiffness != 0.0).any() or (forces.balls.damping != 0.0).any()
    drives = ((forces.drives.dof < 0) & (forces.drives.node >= 0)).any()
    return bool(any(len(getattr(forces, name)) for name in ELEMENTS) or soft or drives)
