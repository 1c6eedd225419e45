"""Robots from files and back: URDF and MJCF in and out, SDF and USD in."""

from leastaction.formats.keyframes import load_keyframe_controls, load_keyframes
from leastaction.formats.load import load, load_string
from leastaction.formats.mjcf.mjcf_reader import load_mjcf
from leastaction.formats.mjcf.mjcf_writer import save_mjcf
from leastaction.formats.sdf.sdf_reader import load_sdf
from leastaction.formats.urdf.urdf_reader import load_urdf
from leastaction.formats.urdf.urdf_writer import save_urdf
from leastaction.formats.usd.usd_reader import load_usd

__all__ = [
    "load",
    "load_keyframe_controls",
    "load_keyframes",
    "load_mjcf",
    "load_sdf",
    "load_string",
    "load_urdf",
    "load_usd",
    "save_mjcf",
    "save_urdf",
]


def __dir__() -> list[str]:
    return [*__all__]
