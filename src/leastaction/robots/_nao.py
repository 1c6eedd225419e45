"""NAO."""

from __future__ import annotations

import math

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose
from leastaction.robots._parts import base, checked, ground_plane, stand
from leastaction.robots._table import Link, add_links

_LEFT, _RIGHT = (0, math.sqrt(0.5), -math.sqrt(0.5)), (0, math.sqrt(0.5), math.sqrt(0.5))
_TORSO = Inertia(
    1.04956,
    (-0.00413, 0, 0.04342),
    (0.00308361, 1.43116e-05, -3.30211e-05, 0.0028835, -2.70793e-05, 0.0015924),
)

# Closed hands belong to the wrists, sensors to what they sit on.
# fmt: off
_LINKS = (
    Link("Neck", "torso", "HeadYaw", "z", (0, 0, 0.1265), (-2.08567, 2.08567), 1.547, 8.26797,
         0.07842, (-1e-05, 0, -0.02742),
         (1.60324e-05, 1.57e-09, 3.16276e-09, 1.70394e-05, -5.295e-08, 5.53372e-06)),
    Link("Head", "Neck", "HeadPitch", "y", (0, 0, 0), (-0.671952, 0.514872), 1.532, 7.19407,
         0.60533, (-0.00112, 0, 0.05258),
         (0.000957766, 8.78814e-06, 5.33702e-06, 0.000816836, -2.99579e-05, 0.000984976)),
    Link("LPelvis", "torso", "LHipYawPitch", _LEFT, (0, 0.05, -0.085), (-1.14529, 0.740718), 3.348, 4.16174,
         0.06981, (-0.00781, -0.01114, 0.02661),
         (2.3407e-05, 1.07922e-06, -1.76003e-06, 4.76355e-05, 2.76058e-06, 4.97021e-05)),
    Link("LHip", "LPelvis", "LHipRoll", "x", (0, 0, 0), (-0.379435, 0.79046), 3.348, 4.16174,
         0.14053, (-0.01549, 0.00029, -0.00515),
         (2.38445e-05, -6.53605e-07, 7.12893e-06, 6.08246e-05, -2.14072e-07, 5.43691e-05)),
    Link("LThigh", "LHip", "LHipPitch", "y", (0, 0, 0), (-1.53589, 0.48398), 3.023, 6.40239,
         0.38968, (0.00138, 0.00221, -0.05373),
         (0.000509844, 2.11296e-06, 5.64129e-05, 0.000465358, -7.91029e-06, 0.000301098)),
    Link("LTibia", "LThigh", "LKneePitch", "y", (0, 0, -0.1), (-0.0923279, 2.11255), 3.023, 6.40239,
         0.30142, (0.00453, 0.00225, -0.04936),
         (0.000446171, 3.70584e-06, -3.09008e-05, 0.000388084, 6.01953e-06, 0.000185516)),
    Link("LAnkle", "LTibia", "LAnklePitch", "y", (0, 0, -0.1029), (-1.18944, 0.922581), 3.023, 6.40239,
         0.13416, (0.00045, 0.00029, 0.00685),
         (3.22034e-05, -8.83212e-09, 4.27549e-06, 6.7943e-05, 2.84849e-07, 5.48269e-05)),
    Link("l_ankle", "LAnkle", "LAnkleRoll", "x", (0, 0, 0), (-0.397761, 0.768992), 3.348, 4.16174,
         0.171848, (0.0254197547, 0.00330005121, -0.0323905922),
         (8.7302022e-05, 8.71972657e-06, -2.10616625e-06, 0.000353049997, 3.73570931e-07, 0.00041287593)),
    Link("LShoulder", "torso", "LShoulderPitch", "y", (0, 0.098, 0.1), (-2.08567, 2.08567), 1.329, 8.26797,
         0.09304, (-0.00165, -0.02663, 0.00014),
         (1.83025e-05, 2.06011e-06, 1.88776e-09, 1.39005e-05, -3.66592e-07, 2.01862e-05)),
    Link("LBicep", "LShoulder", "LShoulderRoll", "z", (0, 0, 0), (-0.314159, 1.32645), 1.7835, 7.19407,
         0.15777, (0.02455, 0.00563, 0.0033),
         (8.7181e-05, -2.53381e-05, -1.4213e-05, 0.000274712, 4.71439e-07, 0.000241812)),
    Link("LElbow", "LBicep", "LElbowYaw", "x", (0.105, 0.015, 0), (-2.08567, 2.08567), 1.547, 8.26797,
         0.06483, (-0.02744, 0, -0.00014),
         (5.59588e-06, 4.21e-09, 2.92241e-07, 2.66179e-05, -1.84e-09, 2.76294e-05)),
    Link("LForeArm", "LElbow", "LElbowRoll", "z", (0, 0, 0), (-1.54462, -0.0349066), 1.532, 7.19407,
         0.07761, (0.02556, 0.00281, 0.00076),
         (2.46746e-05, 3.23152e-06, 1.58221e-06, 3.83837e-05, 1.39194e-07, 3.59708e-05)),
    Link("l_wrist", "LForeArm", "LWristYaw", "x", (0.05595, 0, 0), (-1.82387, 1.82387), 0.4075, 24.6229,
         0.185348, (0.0343431772, -0.000879914539, 0.00307800347),
         (6.86692007e-05, 1.14946825e-07, -2.86079131e-06, 0.000135795766, 2.67571561e-06, 0.00013326079)),
    Link("RPelvis", "torso", "RHipYawPitch", _RIGHT, (0, -0.05, -0.085), (-1.14529, 0.740718), 3.348, 4.16174,
         0.06981, (-0.00781, 0.01114, 0.02661),
         (3.18766e-05, -1.07152e-06, -1.77295e-06, 5.18361e-05, -7.00664e-06, 5.39657e-05)),
    Link("RHip", "RPelvis", "RHipRoll", "x", (0, 0, 0), (-0.79046, 0.379435), 3.348, 4.16174,
         0.14053, (-0.01549, -0.00029, -0.00515),
         (2.38475e-05, 6.12085e-07, 7.10235e-06, 6.0824e-05, 2.12392e-07, 5.43727e-05)),
    Link("RThigh", "RHip", "RHipPitch", "y", (0, 0, 0), (-1.53589, 0.48398), 3.0226, 6.40239,
         0.38968, (0.00138, -0.00221, -0.05373),
         (0.000510607, -2.02799e-06, 5.69893e-05, 0.0004665, 7.09563e-06, 0.000301333)),
    Link("RTibia", "RThigh", "RKneePitch", "y", (0, 0, -0.1), (-0.0923279, 2.11255), 3.0226, 6.40239,
         0.30142, (0.00453, -0.00225, -0.04936),
         (0.000446921, -3.96872e-06, -3.94009e-05, 0.000387711, -5.00034e-06, 0.000183741)),
    Link("RAnkle", "RTibia", "RAnklePitch", "y", (0, 0, -0.1029), (-1.1863, 0.932006), 3.0226, 6.40239,
         0.13416, (0.00045, -0.00029, 0.00685),
         (3.22017e-05, 4.68321e-08, 4.28821e-06, 6.79885e-05, -2.71089e-07, 5.48747e-05)),
    Link("r_ankle", "RAnkle", "RAnkleRoll", "x", (0, 0, 0), (-0.768992, 0.397761), 3.348, 4.16174,
         0.171848, (0.0254197547, -0.00330005121, -0.0323905922),
         (8.7162222e-05, -8.54033777e-06, -2.35237625e-06, 0.000352181997, -4.81819931e-07, 0.00041215493)),
    Link("RShoulder", "torso", "RShoulderPitch", "y", (0, -0.098, 0.1), (-2.08567, 2.08567), 1.329, 8.26797,
         0.09304, (-0.00165, 0.02663, 0.00014),
         (1.83025e-05, -2.06011e-06, 1.88776e-09, 1.39005e-05, 3.66592e-07, 2.01862e-05)),
    Link("RBicep", "RShoulder", "RShoulderRoll", "z", (0, 0, 0), (-1.32645, 0.314159), 1.783, 7.19407,
         0.15777, (0.02455, -0.00563, 0.0033),
         (0.000103401, 5.48849e-05, -1.32643e-05, 0.00027077, 9.16707e-06, 0.000254529)),
    Link("RElbow", "RBicep", "RElbowYaw", "x", (0.105, -0.015, 0), (-2.08567, 2.08567), 1.547, 8.26797,
         0.06483, (-0.02744, 0, -0.00014),
         (5.59588e-06, 4.21e-09, 2.92241e-07, 2.66179e-05, -1.84e-09, 2.76294e-05)),
    Link("RForeArm", "RElbow", "RElbowRoll", "z", (0, 0, 0), (0.0349066, 1.54462), 1.532, 7.19407,
         0.07761, (0.02556, -0.00281, 0.00076),
         (2.47331e-05, -3.2418e-06, 9.06451e-07, 3.84719e-05, -1.38804e-07, 3.59319e-05)),
    Link("r_wrist", "RForeArm", "RWristYaw", "x", (0.05595, 0, 0), (-1.82387, 1.82387), 0.4075, 24.6229,
         0.185348, (0.0343431772, 0.000879914539, 0.00307800541),
         (6.86691897e-05, 1.13170182e-05, -2.86079974e-06, 0.000135795755, 3.6797047e-06, 0.00013326079)),
)
# fmt: on

# Corners of the left sole: the four force sensors [m].
_SOLE = ((0.07025, 0.0299), (0.07025, -0.0231), (-0.03025, 0.0299), (-0.02965, -0.0191))


@checked
def nao(*, floating: bool = True, ground: bool = False, friction: float = 0.8, coupled_hips: bool = False) -> Mechanism:
    """NAO, the humanoid of Aldebaran and SoftBank: 24 joints and a floating base, 5.3 kg.

    The robot of Villanueva 2025 (Sect. 5.3). Figures of version 5 as published by the maker
    (ros-naoqi/nao_robot, BSD), hands closed and fingers fixed. x points forward, z up; legs are straight,
    arms point forward at q = 0.

    Coordinates: base (x, y, z, qw, qx, qy, qz) of the torso, then 24 angles [rad]; see
    `robot.coordinate_names`. Controls: torques of the 24 joints [N m], within the robot's limits.

    Args:
        floating: False welds the torso to the world.
        ground: add the ground z = 0, which the feet and the torso touch.
        friction: Coulomb coefficient of the eight contact points, the force sensors of the feet.
        coupled_hips: on the machine one motor turns both hips' yaw-pitch joints; True couples the two.
    """
    b = MechanismBuilder("nao")
    chest = Box((0.08, 0.13, 0.2), pose=Pose((0, 0, 0.03)), collision=ground, friction=friction)
    b.body("torso", inertia=_TORSO, shapes=chest)
    base(b, "torso", floating)
    add_links(b, _LINKS, radius=0.02)
    if coupled_hips:
        b.coupling("hips", "RHipYawPitch", "LHipYawPitch")
    for side, sign in (("l", 1.0), ("r", -1.0)):
        ankle = f"{side}_ankle"
        b.add_shape(ankle, Box((0.15, 0.08, 0.02), pose=Pose((0.03, sign * 0.005, -0.035)), collision=False))
        for k, (x, y) in enumerate(_SOLE, start=1):
            b.contact(f"{side}_sole{k}", ankle, (x, sign * y, -0.04511), friction=friction)
    angles = (("HipPitch", -0.4), ("KneePitch", 0.8), ("AnklePitch", -0.4), ("ShoulderPitch", 1.4))
    both = {f"{side}{part}": angle for side in "LR" for part, angle in angles}
    rolls = {"LShoulderRoll": 0.2, "RShoulderRoll": -0.2, "LElbowRoll": -0.5, "RElbowRoll": 0.5}
    stand(b, floating, 0.3169932757, both | rolls)
    if ground:
        ground_plane(b)
    return b.build()
