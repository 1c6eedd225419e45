"""Named frames on bodies."""

from __future__ import annotations

from dataclasses import dataclass

from leastaction.mechanism import _check
from leastaction.mechanism.pose import Pose


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame fixed to a body, such as that of a tool or a sensor: a site of MJCF files.

    Attributes:
        name: unique among the frames; where a body has the same name, it stands for the frame.
        body: name of the body, or "world".
        pose: in the body's frame.
    """

    name: str
    body: str
    pose: Pose = Pose()

    def __post_init__(self) -> None:
        what = f"frame {_check.label(self.name, 'name of a frame')!r}"
        _check.label(self.body, f"{what}: body")
        object.__setattr__(self, "pose", Pose.of(self.pose, f"{what}: pose"))
