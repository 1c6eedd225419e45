"""A patient's arm in an exoskeleton."""

from __future__ import annotations

import math
from typing import Any

from leastaction.mechanism import Inertia, Mechanism, MechanismBuilder, Pose
from leastaction.robots._parts import checked, segment, turned

_UPPER = 0.3087  # shoulder to elbow [m]
_QUARTER = 0.5 * math.pi


@checked
def arm_exoskeleton(*, stiffness: float = 100.0, damping: float = 5.0) -> Mechanism:
    """An exoskeleton with four driven joints on a human arm, joined by two cuffs: two loops, 16.1 kg.

    The rehabilitation example of Brüdigam 2023 (Sect. 5.4, Fig. 14), figures as published with its code
    (MIT). The arm has a ball joint at the shoulder and a hinge at the elbow; the exoskeleton turns the
    shoulder by abduction (sAA), flexion (sFE) and rotation (sIE) and the elbow by flexion (eFE), about the
    same points. Each cuff is a planar joint: it lets the arm slide in the plane across the elbow's axis and
    turn about that axis, against springs and dampers. Of the six equations of the two cuffs two are
    independent. x points along the stretched arm, z up; at q = 0 arm and exoskeleton are aligned and the
    cuffs' springs relaxed.

    Coordinates: sAA, sFE, sIE, eFE [rad], unit quaternion of the shoulder, elbow [rad]. Controls: torques of
    sAA, sFE, sIE, eFE and of the elbow's muscles [N m].

    Args:
        stiffness: of the cuffs, along the two sliding directions and about the axis [N/m, N m/rad].
        damping: of the cuffs [N s/m, N m s/rad]; the published example has none stated, the default is ours.
    """
    b = MechanismBuilder("arm_exoskeleton")
    shoulder = Pose.from_rpy((0.2483, 0.0, 1.15), (_QUARTER, 0.0, _QUARTER))
    forward, backward = turned("x", _QUARTER), turned("x", -_QUARTER, (0.0, _UPPER, 0.0))
    grey, skin = (0.4, 0.4, 0.4, 1.0), (0.9, 0.75, 0.65, 1.0)

    def unit(name: str, mass: float, com: Any, moments: Any, end: Any) -> None:
        """A unit of the exoskeleton, drawn from its joint over its centre of mass to the next joint."""
        shapes = [segment((0, 0, 0), com, 0.02, color=grey), segment(com, end, 0.02, color=grey)]
        b.body(name, inertia=Inertia(mass, com, moments), shapes=shapes)

    # fmt: off
    unit("sAA_unit", 6.712, (0, 0.1301, -0.1279),
         (0.3787893, -0.0006556, -0.0006709, 0.192833, 0.0540633, 0.1956839), (0, 0, 0))
    unit("sFE_unit", 3.487, (0.0001, 0.1051, -0.1201),
         (0.1108677, -9.77e-5, 3.99e-5, 0.0689688, 0.0384741, 0.0569634), (0, _UPPER, 0))
    unit("sIE_unit", 1.663, (-0.0006, 0.1079, -0.03),
         (0.0266938, 0.0001282, -5.56e-5, 0.007941, 0.0038772, 0.0235228), (0, 0, 0))
    unit("eFE_unit", 0.494, (0, 0.0557, -0.0803),
         (0.0069974, -9e-7, -4e-7, 0.0035498, 0.001812, 0.0037622), (0, 0.125, 0))
    # fmt: on
    right_angle = math.radians(90.0)
    b.revolute("sAA", "world", "sAA_unit", pose=shoulder, limits=(0.0, right_angle))
    b.revolute("sFE", "sAA_unit", "sFE_unit", pose=forward, limits=(0.0, right_angle))
    limits = (math.radians(-80.0), math.radians(25.0))
    b.revolute("sIE", "sFE_unit", "sIE_unit", pose=backward, limits=limits)
    b.revolute("eFE", "sIE_unit", "eFE_unit", pose=forward, limits=(math.radians(-125.0), 0.0))

    # 3 % and 2 % of a patient of 75 kg. Upper arm along +z of its frame, lower arm along +y.
    upper, lower = (0.0, 0.0, 0.155), (0.0, 0.125, 0.0)
    picture = segment((0, 0, 0), (0, 0, _UPPER), 0.04, color=skin)
    b.body("upper_arm", inertia=Inertia(2.25, upper, (0.01875, 0, 0, 0.01875, 0, 0.00375)), shapes=picture)
    b.spherical("shoulder", "world", "upper_arm", pose=shoulder)
    picture = segment((0, 0, 0), (0, 0.25, 0), 0.035, color=skin)
    b.body(
        "lower_arm",
        inertia=Inertia(1.5, lower, (0.008515625, 0, 0, 0.00140625, 0, 0.008515625)),
        shapes=picture,
    )
    b.revolute("elbow", "upper_arm", "lower_arm", pose=Pose((0.0, 0.0, _UPPER)) * forward)

    cuff = {"stiffness": stiffness, "damping": damping, "loop": True}
    behind_elbow = (0.0, 0.0, upper[2] - _UPPER)
    ends = {"position": behind_elbow, "child_pose": Pose(upper).inverse()}
    b.joint("upper_cuff", "planar", "sIE_unit", "upper_arm", axis="y", **ends, **cuff)
    ends = {"position": lower, "child_pose": Pose(lower).inverse()}
    b.joint("lower_cuff", "planar", "eFE_unit", "lower_arm", axis="z", **ends, **cuff)
    for name in ("sAA", "sFE", "sIE", "eFE", "elbow"):
        b.actuator(name, name)
    return b.build()
