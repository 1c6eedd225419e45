"""Units of coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastaction.mechanism.joints import Motion

if TYPE_CHECKING:
    from leastaction.mechanism import Mechanism


def coordinate_units(robot: Mechanism) -> list[str]:
    """Unit of each entry of q: "rad", "m", or "1" for the entries of quaternions."""
    units: list[str] = []
    for joint in robot.joints:
        for p in joint.primitives:
            if p.motion == Motion.FREE:
                units += ["m"] * 3 + ["1"] * 4
            elif p.motion == Motion.SPHERICAL:
                units += ["1"] * 4
            else:
                units.append("m" if p.motion == Motion.PRISMATIC else "rad")
    return units
