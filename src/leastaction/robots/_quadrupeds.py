"""Four-legged robots: LittleDog and Unitree's A1."""

from __future__ import annotations

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose
from leastaction.robots._parts import base, checked, ground_plane, segment, stand
from leastaction.robots._table import Link, add_links


def _little_leg(end: str, side: str) -> list[Link]:
    """Hip, upper and lower leg; front and back legs mirror each other in their ranges, sides in y."""
    x, y = (1.0 if end == "front" else -1.0), (1.0 if side == "left" else -1.0)
    leg = f"{end}_{side}"
    pitch, knee = ((-3.5, 2.4), (-3.1, 1.0)) if end == "front" else ((-2.4, 3.5), (-1.0, 3.1))
    inf = float("inf")
    # fmt: off
    return [
        Link(f"{leg}_hip", "body", f"{leg}_hip_roll", "x", (x * 0.101, y * 0.03625, 0), (-0.6, 0.6), inf, inf,
             0.0623, (0, y * 0.0029, 0), (4e-6, 0, 0, 1.5e-5, 0, 1.5e-5)),
        Link(f"{leg}_upper_leg", f"{leg}_hip", f"{leg}_hip_pitch", "y", (0, y * 0.0236, 0), pitch, inf, inf,
             0.1279, (0, 0, -0.0166), (8.2e-5, 0, 0, 8.9e-5, 0, 1.5e-5)),
        Link(f"{leg}_lower_leg", f"{leg}_upper_leg", f"{leg}_knee", "y", (0, 0, -0.0751), knee, inf, inf,
             0.0464, (0, 0, -0.0202), (3.8e-5, 0, 0, 3.5e-5, 0, 4e-6)),
    ]
    # fmt: on


@checked
def littledog(*, floating: bool = True, ground: bool = False, friction: float = 0.8) -> Mechanism:
    """LittleDog, a small quadruped for research on rough terrain: 12 joints and a floating base, 2.75 kg.

    By Boston Dynamics; used for trajectory optimisation in Fan 2018 (Sect. 6.2). Figures as published by
    RobotLocomotion/LittleDog (BSD-3-Clause); there the right back hip is 2.9 mm narrower than the other
    three, here all four are alike. x points forward, z up; legs are straight at q = 0.

    Coordinates: base (x, y, z, qw, qx, qy, qz) of the body, then hip roll, hip pitch and knee [rad] of the
    front left, front right, back left and back right leg. Controls: torques of the 12 joints [N m].

    Args:
        floating: False welds the body to the world.
        ground: add the ground z = 0, which the feet and the trunk touch.
        friction: Coulomb coefficient of what touches.
    """
    b = MechanismBuilder("littledog")
    trunk = Inertia(1.8, (0, 0, 0), (0.001625, 0, 0, 0.009178, 0, 0.008794))
    b.body("body", inertia=trunk, shapes=Box((0.24, 0.08, 0.06), collision=ground, friction=friction))
    base(b, "body", floating)
    legs = [(end, side) for end in ("front", "back") for side in ("left", "right")]
    add_links(b, [link for leg in legs for link in _little_leg(*leg)], radius=0.01)
    for end, side in legs:
        # The feet of the front legs are bent backwards, those of the back legs forwards.
        foot = (-0.0265 if end == "front" else 0.0265, 0.0, -0.0985)
        b.add_shape(f"{end}_{side}_lower_leg", segment((0, 0, 0), foot, 0.01))
        b.contact(f"{end}_{side}_foot", f"{end}_{side}_lower_leg", foot, radius=0.0103, friction=friction)
    angles = {(end, side): 1.0 if end == "front" else -1.0 for end, side in legs}
    hips = {f"{end}_{side}_hip_pitch": 0.8 * sign for (end, side), sign in angles.items()}
    knees = {f"{end}_{side}_knee": -1.3 * sign for (end, side), sign in angles.items()}
    stand(b, floating, 0.1617693330, hips | knees)
    if ground:
        ground_plane(b)
    return b.build()


_FOOT = (Inertia(0.06, (0, 0, 0), (9.6e-6, 0, 0, 9.6e-6, 0, 9.6e-6)), Pose((0, 0, -0.2)))


def _a1_leg(leg: str) -> list[Link]:
    """Hip, thigh and calf with its foot of one leg: FR, FL, RR or RL."""
    x, y = (1.0 if leg[0] == "F" else -1.0), (1.0 if leg[1] == "L" else -1.0)
    calf = Inertia(0.166, (0.006435, 0, -0.107388), (0.002997972, 0, -0.000141163, 0.003014022, 0, 3.2426e-5))
    calf = Inertia.from_parts([(calf, Pose()), _FOOT])
    effort, speed = 33.5, 21.0
    # fmt: off
    return [
        Link(f"{leg}_hip", "trunk", f"{leg}_hip_joint", "x", (x * 0.1805, y * 0.047, 0),
             (-0.8028514559173915, 0.8028514559173915), effort, speed,
             0.696, (-x * 0.003311, y * 0.000635, 3.1e-5),
             (0.000469246, -x * y * 9.409e-6, -x * 3.42e-7, 0.00080749, -y * 4.66e-7, 0.000552929)),
        Link(f"{leg}_thigh", f"{leg}_hip", f"{leg}_thigh_joint", "y", (0, y * 0.0838, 0),
             (-1.0471975511965976, 4.1887902047863905), effort, speed,
             1.013, (-0.003237, -y * 0.022327, -0.027326),
             (0.005529065, y * 4.825e-6, 0.000343869, 0.005139339, y * 2.2448e-5, 0.001367788)),
        Link(f"{leg}_calf", f"{leg}_thigh", f"{leg}_calf_joint", "y", (0, 0, -0.2),
             (-2.6965336943312392, -0.9162978572970231), effort, speed, calf.mass, calf.com, calf.moments,
             tip=(0.0, 0.0, -0.2)),
    ]
    # fmt: on


@checked
def unitree_a1(*, floating: bool = True, ground: bool = False, friction: float = 0.8) -> Mechanism:
    """Unitree's quadruped A1: 12 joints and a floating base, 13.7 kg.

    Learns to walk in Brüdigam 2023 (Sect. 5.4). Figures as published by the maker (unitree_ros,
    BSD-3-Clause). x points forward, z up; legs are straight at q = 0, which is outside of the range of the
    knees.

    Coordinates: base (x, y, z, qw, qx, qy, qz) of the trunk, then hip, thigh and calf [rad] of the front
    right, front left, rear right and rear left leg. Controls: torques of the 12 joints [N m], within 33.5 N
    m.

    Args:
        floating: False welds the trunk to the world.
        ground: add the ground z = 0, which the feet and the trunk touch.
        friction: Coulomb coefficient of what touches; feet are balls of 2 cm.
    """
    b = MechanismBuilder("unitree_a1")
    moments = (0.0158533, -3.66e-5, -6.11e-5, 0.0377999, -2.75e-5, 0.0456542)
    trunk = Inertia(6.0, (0, 0.0041, -0.0005), moments)
    sensor = Inertia(0.001, (0, 0, 0), (1e-4, 0, 0, 1e-4, 0, 1e-4))
    inertia = Inertia.from_parts([(trunk, Pose()), (sensor, Pose())])
    b.body("trunk", inertia=inertia, shapes=Box((0.267, 0.194, 0.114), collision=ground, friction=friction))
    base(b, "trunk", floating)
    legs = ("FR", "FL", "RR", "RL")
    add_links(b, [link for leg in legs for link in _a1_leg(leg)], radius=0.02)
    for leg in legs:
        b.contact(f"{leg}_foot", f"{leg}_calf", (0.0, 0.0, -0.2), radius=0.02, friction=friction)
    angles = (("thigh", 0.9), ("calf", -1.8))
    stand(b, floating, 0.2686439873, {f"{leg}_{part}_joint": angle for leg in legs for part, angle in angles})
    if ground:
        ground_plane(b)
    return b.build()
