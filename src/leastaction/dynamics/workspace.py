"""The work space of one call of the classical recursions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from leastaction.dynamics.arrays import SlopeData
from leastaction.dynamics.derivatives import RATES
from leastaction.forces.arrays import ForceModel, ForceModes, force_model, force_modes
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import robot


class Workspace:
    """Scratch records of the classical recursions for one mechanism; not for two threads at once."""

    def __init__(self, mechanism: Mechanism) -> None:
        tree = robot(mechanism).tree
        n = len(tree.nodes)
        self.tree = tree
        self.links: Any = np.zeros(n, LINK).view(np.recarray)
        self.screws: Any = np.zeros(tree.nv, JOINT_SCREW).view(np.recarray)
        self.external = np.zeros((n, 6))
        self.tau = np.zeros(tree.nv)

    @cached_property
    def forces(self) -> ForceModel:
        """What the kernels of forces read."""
        return force_model(self.tree)

    @cached_property
    def modes(self) -> ForceModes:
        """What they write."""
        return force_modes(self.forces)

    @property
    def model(self) -> tuple[Any, ...]:
        """`DynamicsModel` as entry points take it."""
        return self.tree.nodes, self.tree.dofs, self.tree.gravity

    @property
    def weightless(self) -> tuple[Any, ...]:
        """The same without gravity."""
        return self.tree.nodes, self.tree.dofs, np.zeros(3)

    @property
    def closure(self) -> tuple[Any, ...]:
        """`ClosureModel` as entry points take it."""
        return self.tree.closure.rows, self.tree.closure.coefficients, self.tree.closure.count

    @property
    def data(self) -> tuple[Any, ...]:
        """`DynamicsData` as entry points take it."""
        return self.links, self.screws, self.external

    def slopes(self) -> SlopeData:
        """Zeroed arrays of the derivatives."""
        n = self.tree.nv
        rates: Any = np.zeros(n, RATES).view(np.recarray)
        return SlopeData(rates, np.zeros((len(self.links), 6, 6)), np.zeros((n, n)), np.zeros((n, n)))
