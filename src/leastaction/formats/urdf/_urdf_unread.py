"""What URDF files say about drives that is not read."""

from __future__ import annotations

from leastaction.formats._files import Notes
from leastaction.formats._xml import Element

LEFT_OUT = {"safety_controller": "safety controllers of joints", "calibration": "calibrations of joints"}
"""Elements of joints that are not read, and what they are."""


def note_left_out(root: Element, notes: Notes) -> None:
    """Note what the file says about drives beyond efforts and transmissions."""
    for joint in root.all("joint"):
        for tag, what in LEFT_OUT.items():
            if joint.find(tag) is not None:
                notes.add(what, joint.get("name") or "joint")
    for element in root.all("ros2_control"):
        notes.add("drives of <ros2_control>", element.get("name") or "ros2_control")
