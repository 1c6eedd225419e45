"""Spring Flamingo."""

from __future__ import annotations

import math

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose, joints
from leastaction.robots._parts import checked, ground_plane, segment


@checked
def spring_flamingo(
    *, ground: bool = False, friction: float = 0.8, ankle_stiffness: float = 20.0, ankle_damping: float = 0.5
) -> Mechanism:
    """Spring Flamingo, MIT's planar biped walker: 9 degrees of freedom, 14.2 kg.

    Used for trajectory optimisation in Fan 2018 (Sect. 6.1). Figures of IHMC's simulation of the robot
    (ihmc-open-robotics-software, SpringFlamingoRobot, Apache-2.0). Hips and knees are driven, the ankles have
    springs; their stiffness and damping are not published in this form, the defaults are ours. The robot
    moves in the x-z plane and faces -x; legs are straight at q = 0 with the hips at the origin.

    Coordinates: x, z [m] and pitch [rad] of the body, then hip, knee and ankle [rad] of the right and of the
    left leg, about y. Controls: torques of right hip, right knee, left hip, left knee [N m].

    Args:
        ground: add the ground z = 0, which the feet and the trunk touch.
        friction: Coulomb coefficient of heels and toes.
        ankle_stiffness: [N m/rad].
        ankle_damping: [N m s/rad].
    """
    shin = 0.42
    b = MechanismBuilder("spring_flamingo")
    trunk = Box((0.1, 0.24, 0.4), pose=Pose((0.0, 0.0, 0.2)), collision=ground, friction=friction)
    b.body("body", inertia=Inertia(12.0, (0, 0, 0.2), (0.1, 0, 0, 0.1, 0, 0.1)), shapes=trunk)
    plane = (joints.prismatic("x"), joints.prismatic("z"), joints.revolute("y"))
    b.joint("base", "composite", "world", "body", parts=plane)
    leg = segment((0, 0, 0), (0, 0, -shin), 0.02)
    for side, y in (("r", -0.12), ("l", 0.12)):
        upper, lower, foot = f"{side}_upper_leg", f"{side}_lower_leg", f"{side}_foot"
        b.body(upper, inertia=Inertia(0.4598, (0, 0, -0.3029), (0.01256, 0, 0, 0.01256, 0, 0.00013)), shapes=leg)
        b.revolute(f"{side}_hip", "body", upper, axis="y", position=(0.0, y, 0.0))
        b.body(lower, inertia=Inertia(0.306, (0, 0, -0.1818), (0.00952, 0, 0, 0.00952, 0, 5.67e-5)), shapes=leg)
        knee = {"position": (0.0, 0.0, -shin), "limits": (-math.pi, 0.0)}
        b.revolute(f"{side}_knee", upper, lower, axis="y", **knee)
        sole = segment((0.0575, 0, -0.03), (-0.1725, 0, -0.03), 0.01)
        b.body(
            foot,
            inertia=Inertia(0.3466, (-0.0458, 0, -0.0309), (7.15e-5, 0, 0, 0.0015, 0, 0.0015)),
            shapes=sole,
        )
        ankle = {"position": (0.0, 0.0, -shin), "stiffness": ankle_stiffness, "damping": ankle_damping}
        b.revolute(f"{side}_ankle", lower, foot, axis="y", **ankle)
        b.contact(f"{side}_heel", foot, (0.0575, 0.0, -0.04), friction=friction)
        b.contact(f"{side}_toe", foot, (-0.1725, 0.0, -0.04), friction=friction)
        b.actuator(f"{side}_hip", f"{side}_hip")
        b.actuator(f"{side}_knee", f"{side}_knee")
    b.home({"base.slide2": 0.88})
    if ground:
        ground_plane(b)
    return b.build()
