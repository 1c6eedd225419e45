"""The work space of one call of the classical recursions."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics.derivatives import RATES
from leastaction.forces.arrays import force_model, force_modes
from leastaction.kinematics.sweeps import JOINT_SCREW, LINK
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray, robot


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
        self.forces = force_model(tree)
        self.modes = force_modes(self.forces)

    def derivative_arrays(self) -> tuple[Any, FloatArray]:
        """Extra scratch of the derivative recursion."""
        return np.zeros(self.tree.nv, RATES).view(np.recarray), np.zeros((len(self.links), 6, 6))
