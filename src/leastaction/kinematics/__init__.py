"""Where links are and how they move: frames, inverse kinematics, and the records and sweeps that dynamics stand on."""

from leastaction.kinematics.frame_jacobians import frame_jacobian, frame_pose
from leastaction.kinematics.inverse import IKResult, solve_ik
from leastaction.kinematics.tasks import (
    keep_posture,
    reach_center_of_mass,
    reach_orientation,
    reach_pose,
    reach_position,
)
from leastaction.kinematics.tendon_jacobians import tendon_jacobian, tendon_lengths

__all__ = [
    "IKResult",
    "frame_jacobian",
    "frame_pose",
    "keep_posture",
    "reach_center_of_mass",
    "reach_orientation",
    "reach_pose",
    "reach_position",
    "solve_ik",
    "tendon_jacobian",
    "tendon_lengths",
]


def __dir__() -> list[str]:
    return [*__all__]
