"""A mechanism in maximal coordinates, as the flat record arrays that the kernels read.

Every rigid body (with all bodies welded to it) has its own pose; a joint is a few scalar equations between two bodies
(Bruedigam 2023, Appendix B: the rows that the selection matrix D picks from the two general constraint functions), and
the null-space matrix C gives its coordinates. Joints that these two functions cannot describe, such as one that
rotates before it slides, become chains of simpler joints with massless bodies in between.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.forces.arrays import ForceModel
from leastaction.linalg.graph.arrays import GraphPlan
from leastaction.maximal.arrays import MaximalModel
from leastaction.maximal.compilation.joint_pieces import Piece
from leastaction.mechanism import Mechanism
from leastaction.mechanism.pose import Pose


@dataclass(eq=False)
class Model:
    """Flat arrays of one mechanism in maximal coordinates, from `compiler.compile_model`.

    Attributes:
        bodies: `BODY` records of the moving bodies.
        rows: `JOINT_ROW` records, grouped by node.
        nodes: names of the groups of rows: joints and couplings.
        sizes: number of rows of each node.
        coordinates: `COORDINATE` records: those of the tree joints in the order of q, then those of loop joints that
            have springs, dampers or limits.
        coefficients: polynomials of the couplings.
        frames: for each name of a body (and the world) its index among `bodies` and the pose of its frame there.
        forces: force model, with indices of `bodies`.
        pieces: the tree joints, in the order of the bodies that they carry.
        augment: see `MaximalModel`.
        edges: pairs of graph nodes (bodies first, then groups of rows) that share a block.
        slack: edges between bodies that are coupled by tendon limits alone, which seldom act.
        paths, tied, tied_first, resisting, resisting_edges: see `MaximalModel`.
        springs, sprung, sprung_bodies, sprung_edges, strings: see `MaximalModel`.
        goals: `GOAL` records of prescribed motions, in the order of `Mechanism.prescribed`.
        locked: whether an equation locks a joint whose limits leave no range, or there are prescribed motions.
    """

    mechanism: Mechanism
    bodies: Any
    rows: Any
    nodes: list[str]
    sizes: list[int]
    coordinates: Any
    coefficients: NDArray[np.float64]
    frames: dict[str, tuple[int, Pose]]
    forces: ForceModel
    augment: NDArray[np.float64]
    pieces: list[Piece]
    edges: list[tuple[int, int]] = field(default_factory=list)
    slack: frozenset[tuple[int, int]] = frozenset()
    paths: Any = None
    tied: Any = None
    tied_first: Any = None
    springs: Any = None
    sprung: Any = None
    sprung_bodies: Any = None
    sprung_edges: Any = None
    strings: Any = None
    resisting: ForceModel | None = None
    resisting_edges: Any = None
    goals: Any = None
    locked: bool = False

    def arrays(self, graph: GraphPlan) -> MaximalModel:
        """The `MaximalModel` of the kernels, with the graph of the Newton matrix."""
        return MaximalModel(
            bodies=self.bodies,
            rows=self.rows,
            coordinates=self.coordinates,
            coefficients=self.coefficients,
            sizes=np.array(self.sizes, np.int64),
            goals=self.goals,
            augment=self.augment,
            gravity=self.mechanism.tree.gravity,
            paths=self.paths,
            tied=self.tied,
            tied_first=self.tied_first,
            springs=self.springs,
            sprung=self.sprung,
            sprung_bodies=self.sprung_bodies,
            sprung_edges=self.sprung_edges,
            strings=self.strings,
            resisting_edges=self.resisting_edges,
            resisting=self.resisting,
            forces=self.forces,
            graph=graph,
        )
