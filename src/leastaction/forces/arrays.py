"""The arrays that forces read, in one order for all formulations."""

from __future__ import annotations

from typing import Any

from leastaction.mechanism import Mechanism


def force_arrays(mechanism: Mechanism) -> tuple[Any, ...]:
    """What `full_acceleration` reads of a mechanism."""
    t = mechanism.tree
    return t.nodes, t.dofs, t.gravity, t.rest, t.paths, t.points, t.wrenches, t.drives, t.penalties
