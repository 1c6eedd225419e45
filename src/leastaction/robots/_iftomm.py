"""Problems of the IFToMM library of multibody benchmarks: Andrews' squeezer, Bricard, the governor."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose, solid_box
from leastaction.robots._parts import checked, hinge_loop, segment, turned

ANDREWS_START = {
    "beta": -0.0617138900142764496,
    "theta": 0.0,
    "gamma": 0.455279819163070380,
    "delta": 0.487364979543842550,
    "phi": 0.222668390165885885,
    "epsilon": 1.23054744454982119,
    "omega": -0.222668390165885885,
}
"""Angles at the start of Andrews' squeezer [rad]; its coordinates are counted from these."""


def _lamina(mass: float, com: tuple[float, float], polar: float, *points: tuple[float, float]) -> dict[str, Any]:
    """A flat body in its x-y plane; `polar` is the moment about its centre of mass."""
    inertia = Inertia(mass, (*com, 0.0), (0.5 * polar, 0, 0, 0.5 * polar, 0, polar))
    return {"inertia": inertia, "shapes": [segment((0, 0, 0), (*p, 0.0), 0.001) for p in points]}


@checked
def andrews_squeezer(*, torque: float = 0.033, closure: str = "in_plane") -> Mechanism:
    """Problem A03: Andrews' squeezing mechanism, seven flat bodies in the x-y plane, without gravity.

    A motor turns crank OF with a constant torque; a spring pulls point D of body BDE towards C. The figures
    are those of the Test Set for IVP Solvers (Hairer and Wanner, Solving ODEs II, VI.9).

    Coordinates [rad], about z: beta (crank OF), theta (FE relative to OF), gamma (BDE), delta (AG), phi (EG
    relative to AG), epsilon (AH), omega (HE relative to AH), counted from the benchmark's start
    `ANDREWS_START`; q = 0 is the start.

    Args:
        torque: of the motor [N m].
        closure: of the three loops that meet at E; see `four_bar`.
    """
    pivot_a, pivot_b, pivot_c = (-0.06934, -0.00227, 0.0), (-0.03635, 0.03273, 0.0), (0.014, 0.072, 0.0)
    # name, mass, COM, polar moment, other points of interest
    bodies = {
        "OF": _lamina(0.04325, (0.00092, 0.0), 2.194e-6, (0.007, 0.0)),
        "FE": _lamina(0.00365, (-0.0115, 0.0), 4.410e-7, (-0.028, 0.0)),
        "BDE": _lamina(0.02373, (0.01043, -0.01874), 5.255e-6, (0.02, -0.018), (0.0, -0.035)),
        "AG": _lamina(0.07050, (0.02308, 0.00916), 1.169e-5, (0.04, 0.0)),
        "EG": _lamina(0.00706, (0.0, -(0.02 - 0.01421)), 5.667e-7, (0.0, -0.02)),
        "AH": _lamina(0.05498, (-0.00449, -0.01228), 1.912e-5, (0.0, -0.04)),
        "HE": _lamina(0.00706, (0.02 - 0.01421, 0.0), 5.667e-7, (0.02, 0.0)),
    }
    joints = (
        ("beta", "world", "OF", (0.0, 0.0, 0.0)),
        ("theta", "OF", "FE", (0.007, 0.0, 0.0)),
        ("gamma", "world", "BDE", pivot_b),
        ("delta", "world", "AG", pivot_a),
        ("phi", "AG", "EG", (0.04, 0.0, 0.0)),
        ("epsilon", "world", "AH", pivot_a),
        ("omega", "AH", "HE", (0.0, -0.04, 0.0)),
    )
    point_e = {"BDE": (0.0, -0.035, 0.0), "EG": (0.0, -0.02, 0.0), "HE": (0.02, 0.0, 0.0)}
    b = MechanismBuilder("andrews_squeezer", gravity=(0.0, 0.0, 0.0))
    for name, body in bodies.items():
        b.body(name, **body)
    for name, parent, child, position in joints:
        b.revolute(name, parent, child, axis="z", pose=turned("z", ANDREWS_START[name], position))
    for name, point in point_e.items():
        hinge_loop(b, f"E_{name}", (("FE", (-0.028, 0.0, 0.0)), (name, point)), "z", closure)
    b.spring("spring", ("BDE", (0.02, -0.018, 0.0)), ("world", pivot_c), stiffness=4530.0, rest_length=0.07785)
    b.wrench("motor", "OF", (0.0, 0.0, torque, 0.0, 0.0, 0.0))
    return b.build()


def bricard() -> Mechanism:
    """Problem A04: Bricard's overconstrained linkage, five bars and the ground joined by six hinges.

    Bars of 1 m and 1 kg with a section of 0.1 m x 0.1 m along edges of a unit cube from P1 = (0, 0, 0) over
    (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1) to P6 = (0, 0, 1); hinges at P1 to P6 about y, z, x, y, z,
    x; gravity along -y. Counting joints it could not move, yet it has one degree of freedom: the five
    equations of the closing hinge at P6 have rank four.

    Coordinates: angles [rad] of the hinges at P1 to P5; q = 0 is the start, at rest.
    """
    points = ((0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1))
    b = MechanismBuilder("bricard", gravity=(0.0, -9.81, 0.0))
    parent, start, last = "world", points[0], Pose()
    for k, (point, end) in enumerate(itertools.pairwise(points)):
        x, y, z = (float(q - p) for p, q in zip(point, end, strict=True))
        size, middle = (max(abs(x), 0.1), max(abs(y), 0.1), max(abs(z), 0.1)), (0.5 * x, 0.5 * y, 0.5 * z)
        shape = Box(size, pose=Pose(middle), collision=False)
        name = b.body(f"bar{k + 1}", inertia=solid_box(1.0, size, com=middle), shapes=shape)
        position = np.subtract(point, start)
        b.revolute(f"P{k + 1}", parent, name, axis="yzxyz"[k], position=position)
        parent, start, last = name, point, Pose((x, y, z))
    b.revolute("P6", "world", parent, axis="x", position=points[5], child_pose=last.inverse(), loop=True)
    return b.build()


def flyball_governor() -> Mechanism:
    """Problem A05: a stiff flyball governor, a tree whose two linkages are stiff springs with dampers.

    A shaft turns about z; two rods with 5 kg at their ends hang from hinges at (+-0.05, 0, 1) on it; a slider
    moves along it; springs (8e5 N/m, 4e4 N s/m, 0.5 m) join the rods' middles to the slider. Shaft and rods
    are bars of 1 m x 0.01 m x 0.01 m, the slider is a cube of 0.1 m, all with 3000 kg/m^3.

    Coordinates: angle of the shaft [rad]; angles by which the right and left rod rise from their start, 30
    degrees below the horizontal [rad]; height of the slider above its start at z = 0.5 [m]. The benchmark
    starts at q = 0 with the shaft at 2 pi rad/s.
    """
    start = math.radians(30.0)
    b = MechanismBuilder("flyball_governor")
    b.body("shaft", density=3000.0, shapes=Box((0.01, 0.01, 1.0), pose=Pose((0, 0, 0.5)), collision=False))
    b.revolute("spin", "world", "shaft", axis="z")
    bar = Box((1.0, 0.01, 0.01), pose=Pose((0.5, 0, 0)), collision=False)
    rod = Inertia.from_parts([(bar.inertia(density=3000.0), Pose()), (Inertia(5.0, (1.0, 0.0, 0.0)), Pose())])
    # Rods point along their own +x. The left hinge is turned by half a turn: both rise for positive angles.
    for side, x, yaw in (("right", 0.05, 0.0), ("left", -0.05, math.pi)):
        ball = segment((1, 0, 0), (1, 0, 0), 0.05)
        b.body(f"{side}_rod", inertia=rod, shapes=(bar, ball))
        hinge = turned("z", yaw, (x, 0.0, 1.0)) * turned("-y", -start)
        b.revolute(f"{side}_hinge", "shaft", f"{side}_rod", axis="-y", pose=hinge)
    b.body("slider", density=3000.0, shapes=Box((0.1, 0.1, 0.1), collision=False))
    b.prismatic("slide", "shaft", "slider", axis="z", position=(0.0, 0.0, 0.5))
    for side, x in (("right", 0.05), ("left", -0.05)):
        ends = (f"{side}_rod", (0.5, 0.0, 0.0)), ("slider", (x, 0.0, 0.0))
        b.spring(f"{side}_spring", *ends, stiffness=8e5, rest_length=0.5, damping=4e4)
    return b.build()
