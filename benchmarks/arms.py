"""Ten arms for inverse kinematics: dimensions and limits of well-known machines, links of made-up inertia."""

import math

import leastaction as la
from leastaction.mechanism import Pose

DEGREE = math.pi / 180.0
SLIDE = "slide"
"""In place of the angle of a row: the joint slides along z, others turn about it."""

Row = tuple[float, float, float, float, float, float | str]
"""Modified Denavit-Hartenberg parameters (Craig): twist [degree] and length [m] of the link before, offset along the
joint's axis [m]; lower and upper limit [degree or m]; offset of the angle [degree], or `SLIDE`."""


def _universal(d1: float, a2: float, a3: float, d4: float, d5: float, d6: float) -> list[Row]:
    shape = [(0, 0, d1), (90, 0, 0), (0, a2, 0), (0, a3, d4), (90, 0, d5), (-90, 0, d6)]
    return [(twist, a, d, -360, 360, 0) for twist, a, d in shape]


PANDA: list[Row] = [
    (0, 0, 0.333, -166, 166, 0),
    (-90, 0, 0, -101, 101, 0),
    (90, 0, 0.316, -166, 166, 0),
    (90, 0.0825, 0, -176, -4, 0),
    (-90, -0.0825, 0.384, -166, 166, 0),
    (90, 0, 0, -1, 215, 0),
    (90, 0.088, 0, -166, 166, 0),
]

ARMS: dict[str, tuple[list[Row], float]] = {
    "UR5": (_universal(0.089159, -0.425, -0.39225, 0.10915, 0.09465, 0.0823), 0.0),
    "UR10": (_universal(0.1273, -0.612, -0.5723, 0.163941, 0.1157, 0.0922), 0.0),
    "Puma 560": (
        [
            (0, 0, 0, -160, 160, 0),
            (-90, 0, 0, -225, 45, 0),
            (0, 0.4318, 0.15005, -45, 225, 0),
            (-90, 0.0203, 0.4318, -110, 170, 0),
            (90, 0, 0, -100, 100, 0),
            (-90, 0, 0, -266, 266, 0),
        ],
        0.056,
    ),
    "IRB 120": (
        [
            (0, 0, 0.29, -165, 165, 0),
            (-90, 0, 0, -110, 110, -90),
            (0, 0.27, 0, -110, 70, 0),
            (-90, 0.07, 0.302, -160, 160, 0),
            (90, 0, 0, -120, 120, 0),
            (-90, 0, 0.072, -400, 400, 180),
        ],
        0.0,
    ),
    "Stanford arm": (
        [
            (0, 0, 0.412, -170, 170, 0),
            (-90, 0, 0.154, -170, 170, 0),
            (90, 0, 0, 0.305, 1.27, SLIDE),
            (0, 0, 0, -170, 170, 0),
            (-90, 0, 0, -90, 90, 0),
            (90, 0, 0.263, -170, 170, 0),
        ],
        0.0,
    ),
    "Cobra 600": (
        [
            (0, 0, 0.387, -105, 105, 0),
            (0, 0.325, 0, -150, 150, 0),
            (180, 0.275, 0, 0.0, 0.21, SLIDE),
            (0, 0, 0, -360, 360, 0),
        ],
        0.05,
    ),
    "iiwa 14": (
        [
            (0, 0, 0.36, -170, 170, 0),
            (-90, 0, 0, -120, 120, 0),
            (90, 0, 0.42, -170, 170, 0),
            (90, 0, 0, -120, 120, 0),
            (-90, 0, 0.4, -170, 170, 0),
            (-90, 0, 0, -120, 120, 0),
            (90, 0, 0.126, -175, 175, 0),
        ],
        0.0,
    ),
    "WAM": (
        [
            (0, 0, 0, -149, 149, 0),
            (-90, 0, 0, -113, 113, 0),
            (90, 0, 0.55, -157, 157, 0),
            (-90, 0.045, 0, -50, 180, 0),
            (90, -0.045, 0.3, -273, 71, 0),
            (-90, 0, 0, -90, 90, 0),
            (90, 0, 0.06, -172, 172, 0),
        ],
        0.0,
    ),
    "Panda": (PANDA, 0.107),
    "Panda on a rail": ([(90, 0, 0, -1.0, 1.0, SLIDE), (-90, *PANDA[0][1:]), *PANDA[1:]], 0.107),
}
"""Rows of each arm, and how far its tool is along z of the last link [m]."""


def arm(name: str) -> la.Mechanism:
    """One of `ARMS`, with a frame "tool"."""
    rows, reach = ARMS[name]
    b, parent = la.MechanismBuilder(name), "world"
    for k, (twist, a, d, lower, upper, offset) in enumerate(rows):
        slides = offset == SLIDE
        turn = 0.0 if isinstance(offset, str) else offset * DEGREE
        pose = Pose.from_axis_angle((1, 0, 0), twist * DEGREE) * Pose((a, 0.0, d))
        pose = pose * Pose.from_axis_angle((0, 0, 1), turn)
        b.body(f"link{k}", mass=1.0, inertia=(0.01, 0.01, 0.01))
        unit = 1.0 if slides else DEGREE
        kind = "prismatic" if slides else "revolute"
        b.joint(f"joint{k}", kind, parent, f"link{k}", axis="z", pose=pose, lower=lower * unit, upper=upper * unit)
        parent = f"link{k}"
    b.frame("tool", parent, (0.0, 0.0, reach))
    return b.build()
