"""Atlas."""

from __future__ import annotations

import math

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose
from leastaction.robots._parts import base, checked, ground_plane, stand
from leastaction.robots._table import Link, add_links

_PI = math.pi
_PELVIS = Inertia(9.509, (0.0111, 0, 0.0271), (0.1244, 0.0008, -0.0007, 0.0958, -0.0005, 0.1167))

# Cameras and lamps belong to the upper torso and the head, force sensors to the hands.
# fmt: off
_LINKS = (
    Link("ltorso", "pelvis", "back_bkz", "z", (-0.0125, 0, 0), (-0.663225, 0.663225), 106, 12,
         2.27, (-0.0112984, -3.15366e-06, 0.0746835),
         (0.0039092, -5.04491e-08, -0.000342157, 0.00341694, 4.87119e-07, 0.00174492)),
    Link("mtorso", "ltorso", "back_bky", "y", (0, 0, 0.162), (-0.219388, 0.538783), 445, 9,
         0.799, (-0.00816266, -0.0131245, 0.0305974),
         (0.000454181, -6.10764e-05, 3.94009e-05, 0.000483282, 5.27463e-05, 0.000444215)),
    Link("utorso", "mtorso", "back_bkx", "x", (0, 0, 0.05), (-0.523599, 0.523599), 300, 12,
         84.609, (-0.0616865794, 0.00229456323, 0.316809338),
         (1.62389363, -0.0319003242, 0.0816617977, 1.65537724, 0.0472153677, 0.577362121)),
    Link("l_clav", "utorso", "l_arm_shz", "z", (0.1406, 0.2256, 0.4776), (-1.5708, 0.785398), 87, 12,
         4.466, (0, 0, -0.084), (0.011, 0, 0, 0.009, 0.004, 0.004), (0, 0, _PI)),
    Link("l_scap", "l_clav", "l_arm_shx", "-x", (0, -0.11, -0.245), (-1.5708, 1.5708), 99, 12,
         3.899, (0, 0, 0), (0.00319, 0, 0, 0.00583, 0, 0.00583)),
    Link("l_uarm", "l_scap", "l_arm_ely", "-y", (0, -0.187, -0.016), (0, 3.14159), 63, 12,
         4.386, (0, 0.065, 0), (0.00656, 0, 0, 0.00358, 0, 0.00656)),
    Link("l_larm", "l_uarm", "l_arm_elx", "-x", (0, -0.119, 0.0092), (0, 2.35619), 112, 12,
         3.248, (0, 0, 0), (0.00265, 0, 0, 0.00446, 0, 0.00446)),
    Link("l_ufarm", "l_larm", "l_arm_uwy", "-y", (0, -0.29955, -0.00921), (-3.011, 3.011), 25, 10,
         2.4798, (0.00015, 0.08296, 0.00037), (0.012731, 0, 0, 0.002857, 0, 0.011948), (0, _PI, 0)),
    Link("l_lfarm", "l_ufarm", "l_arm_mwx", "x", (0, 0, 0), (-1.7628, 1.7628), 25, 10,
         0.648, (0.00017, -0.02515, 0.00163), (0.000764, 0, 0, 0.000429, 0, 0.000825)),
    Link("l_hand", "l_lfarm", "l_arm_lwy", "-y", (0, 0, 0), (-2.9671, 2.9671), 25, 10,
         0.6839, (0.000136604767, -0.0878643091, 1.70755958e-05),
         (0.000555203784, -5.86171054e-07, -2.73209534e-10, 0.00048700222, -7.32713818e-08, 0.000546205935),
         (0, _PI, 0)),
    Link("head", "utorso", "neck_ay", "y", (0.2546, 0, 0.6215), (-0.602139, 1.14319), 25, 6.28,
         2.087564, (-0.0526114059, 3.39872211e-05, 0.0260688634),
         (0.0120995596, -9.26521052e-07, -0.000450074498, 0.0133409067, -2.1331348e-06, 0.0133743889)),
    Link("r_clav", "utorso", "r_arm_shz", "z", (0.1406, -0.2256, 0.4776), (-0.785398, 1.5708), 87, 12,
         4.466, (0, 0, -0.084), (0.011, 0, 0, 0.009, 0.004, 0.004)),
    Link("r_scap", "r_clav", "r_arm_shx", "x", (0, -0.11, -0.245), (-1.5708, 1.5708), 99, 12,
         3.899, (0, 0, 0), (0.00319, 0, 0, 0.00583, 0, 0.00583)),
    Link("r_uarm", "r_scap", "r_arm_ely", "y", (0, -0.187, -0.016), (0, 3.14159), 63, 12,
         4.386, (0, 0.065, 0), (0.00656, 0, 0, 0.00358, 0, 0.00656)),
    Link("r_larm", "r_uarm", "r_arm_elx", "x", (0, -0.119, 0.0092), (-2.35619, 0), 112, 12,
         3.248, (0, 0, 0), (0.00265, 0, 0, 0.00446, 0, 0.00446)),
    Link("r_ufarm", "r_larm", "r_arm_uwy", "y", (0, -0.29955, -0.00921), (-3.011, 3.011), 25, 10,
         2.4798, (0.00015, 0.08296, 0.00037), (0.012731, 0, 0, 0.002857, 0, 0.011948)),
    Link("r_lfarm", "r_ufarm", "r_arm_mwx", "x", (0, 0, 0), (-1.7628, 1.7628), 25, 10,
         0.648, (0.00017, -0.02515, 0.00163), (0.000764, 0, 0, 0.000429, 0, 0.000825)),
    Link("r_hand", "r_lfarm", "r_arm_lwy", "y", (0, 0, 0), (-2.9671, 2.9671), 25, 10,
         0.6839, (0.000136604767, -0.0878643091, 1.70755958e-05),
         (0.000555203784, -5.86171054e-07, -2.73209534e-10, 0.00048700222, -7.32713818e-08, 0.000546205935)),
    Link("l_uglut", "pelvis", "l_leg_hpz", "z", (0, 0.089, 0), (-0.174358, 0.786794), 275, 12,
         1.959, (0.00529262, -0.00344732, 0.00313046),
         (0.00074276, -3.79607e-08, -2.79549e-05, 0.000688179, -3.2735e-08, 0.00041242)),
    Link("l_lglut", "l_uglut", "l_leg_hpx", "x", (0, 0, 0), (-0.523599, 0.523599), 530, 12,
         0.898, (0.0133341, 0.0170484, -0.0312052),
         (0.000691326, -2.24344e-05, 2.50508e-06, 0.00126856, 0.000137862, 0.00106487)),
    Link("l_uleg", "l_lglut", "l_leg_hpy", "y", (0.05, 0.0225, -0.066), (-1.61234, 0.65764), 840, 12,
         8.204, (0, 0, -0.21), (0.09, 0, 0, 0.09, 0, 0.02)),
    Link("l_lleg", "l_uleg", "l_leg_kny", "y", (-0.05, 0, -0.374), (0, 2.35637), 890, 12,
         4.515, (0.001, 0, -0.187), (0.077, 0, -0.003, 0.076, 0, 0.01)),
    Link("l_talus", "l_lleg", "l_leg_aky", "y", (0, 0, -0.422), (-1, 0.7), 740, 12,
         0.125, (0, 0, 0), (1.01674e-05, 0, 0, 8.42775e-06, 0, 1.30101e-05)),
    Link("l_foot", "l_talus", "l_leg_akx", "x", (0, 0, 0), (-0.8, 0.8), 360, 12,
         2.41, (0.027, 0, -0.067), (0.002, 0, 0, 0.007, 0, 0.008), tip=(0, 0, -0.04)),
    Link("r_uglut", "pelvis", "r_leg_hpz", "z", (0, -0.089, 0), (-0.786794, 0.174358), 275, 12,
         1.959, (0.00529262, 0.00344732, 0.00313046),
         (0.00074276, 3.79607e-08, -2.79549e-05, 0.000688179, 3.2735e-08, 0.00041242)),
    Link("r_lglut", "r_uglut", "r_leg_hpx", "x", (0, 0, 0), (-0.523599, 0.523599), 530, 12,
         0.898, (0.0133341, -0.0170484, -0.0312052),
         (0.000691326, 2.24344e-05, 2.50508e-06, 0.00126856, -0.000137862, 0.00106487)),
    Link("r_uleg", "r_lglut", "r_leg_hpy", "y", (0.05, -0.0225, -0.066), (-1.61234, 0.65764), 840, 12,
         8.204, (0, 0, -0.21), (0.09, 0, 0, 0.09, 0, 0.02)),
    Link("r_lleg", "r_uleg", "r_leg_kny", "y", (-0.05, 0, -0.374), (0, 2.35637), 890, 12,
         4.515, (0.001, 0, -0.187), (0.077, 0, -0.003, 0.076, 0, 0.01)),
    Link("r_talus", "r_lleg", "r_leg_aky", "y", (0, 0, -0.422), (-1, 0.7), 740, 12,
         0.125, (0, 0, 0), (1.01674e-05, 0, 0, 8.42775e-06, 0, 1.30101e-05)),
    Link("r_foot", "r_talus", "r_leg_akx", "x", (0, 0, 0), (-0.8, 0.8), 360, 12,
         2.41, (0.027, 0, -0.067), (0.002, 0, 0, 0.007, 0, 0.008), tip=(0, 0, -0.04)),
)
# fmt: on


@checked
def atlas(*, floating: bool = True, ground: bool = False, friction: float = 0.8) -> Mechanism:
    """Atlas, the humanoid of the DARPA Robotics Challenge: 30 joints and a floating base, 175.1 kg.

    Used for trajectory optimisation in Fan 2018 (Sect. 6.3). Figures of version 5 (with the heavy upper
    torso) as published by the Drake project (RobotLocomotion/models, BSD-3-Clause), links without a joint of
    their own added to what carries them. x points forward, z up; legs are straight and arms stretched
    sideways at q = 0.

    Coordinates: base (x, y, z, qw, qx, qy, qz) of the pelvis, then 30 angles [rad]; see
    `robot.coordinate_names`. Controls: torques of the 30 joints [N m], within the robot's limits. Joints have
    a damping of 0.1 N m s/rad.

    Args:
        floating: False welds the pelvis to the world.
        ground: add the ground z = 0, which the feet and the upper torso touch.
        friction: Coulomb coefficient of the eight contact points, the corners of the feet.
    """
    b = MechanismBuilder("atlas")
    b.body("pelvis", inertia=_PELVIS, shapes=Box((0.2, 0.25, 0.15), collision=False))
    base(b, "pelvis", floating)
    add_links(b, _LINKS, radius=0.05, damping=0.1)
    chest = Box((0.3, 0.4, 0.5), pose=Pose((-0.05, 0.0, 0.3)), collision=ground, friction=friction)
    b.add_shape("utorso", chest)
    b.add_shape("head", Box((0.2, 0.18, 0.16), pose=Pose((-0.04, 0.0, 0.06)), collision=False))
    for side, inner, outer in (("l", -0.0626, 0.066), ("r", 0.0626, -0.066)):
        foot = f"{side}_foot"
        sole = Pose((0.0426, 0.5 * (inner + outer), -0.06))
        b.add_shape(foot, Box((0.2604, abs(outer - inner), 0.0329), pose=sole, collision=False))
        for label, x in (("heel", -0.0876), ("toe", 0.1728)):
            b.contact(f"{foot}_{label}_inner", foot, (x, inner, -0.07645), friction=friction)
            b.contact(f"{foot}_{label}_outer", foot, (x, outer, -0.07645), friction=friction)
    legs = {f"{side}_leg_{part}": a for side in "lr" for part, a in (("hpy", -0.3), ("kny", 0.6), ("aky", -0.3))}
    arms = {"l_arm_shx": -1.2, "r_arm_shx": 1.2, "l_arm_elx": 0.6, "r_arm_elx": -0.6}
    stand(b, floating, 0.9176738557, legs | arms)
    if ground:
        ground_plane(b)
    return b.build()
