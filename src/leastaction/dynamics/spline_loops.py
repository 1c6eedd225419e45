"""Loops of mechanisms with spline joints: how far they are open, and their Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.kinematics.loop_equations import loop_equations
from leastaction.kinematics.reduced.compiled import compiled_coordinates
from leastaction.kinematics.reduced.state import State
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


def spline_loop_jacobian(mechanism: Mechanism, q: Any) -> tuple[FloatArray, FloatArray]:
    """As `dynamics.loop_jacobian`, through the nodes that spline joints are made of."""
    state = State(mechanism, q, chart="exponential")
    t, motion = state.coordinates.tree, state.motion
    c = t.closure
    h, nodal = np.zeros(c.count), np.zeros((c.count, t.nv))
    equations = (state.data.nodes, c.rows, c.coefficients, c.count)
    loop_equations(*equations, motion.links, motion.screws, motion.q, h, nodal)
    return h, nodal @ state.velocity_map()


def spline_loop_names(mechanism: Mechanism) -> list[str]:
    """The loop or coupling that each row of `spline_loop_jacobian` belongs to."""
    return compiled_coordinates(mechanism).tree.closure.names
