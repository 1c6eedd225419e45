"""The zoo: robots and benchmark systems, written from published figures.

Every function builds one `Mechanism`; `catalogue` lists them, `get` finds them by name and `home` gives each
a start. Closed loops are closed at q = 0. `on_ground` puts any robot on its feet, `holding_controls` lets its
servos rest there, `decompose` makes convex pieces of
its meshes.
"""

import sys
from typing import Any

from leastaction._public import unknown
from leastaction.robots._atlas import atlas
from leastaction.robots._catalogue import Entry, catalogue, get, home
from leastaction.robots._chains import humanoid_tree, serial_arm, spatial_chain
from leastaction.robots._decompose import decompose
from leastaction.robots._exoskeleton import arm_exoskeleton
from leastaction.robots._free_bodies import cube, free_body, sphere_chain
from leastaction.robots._iftomm import ANDREWS_START, andrews_squeezer, bricard, flyball_governor
from leastaction.robots._linkages import (
    double_four_bar,
    four_bar,
    four_bar_chain,
    n_four_bar,
    three_link_loop,
)
from leastaction.robots._minitaur import minitaur
from leastaction.robots._nao import nao
from leastaction.robots._pendulums import acrobot, cart_pole, double_pendulum, heavy_top, pendulum
from leastaction.robots._placing import holding_controls, on_ground
from leastaction.robots._quadrupeds import littledog, unitree_a1
from leastaction.robots._spring_flamingo import spring_flamingo

__all__ = [
    "ANDREWS_START",
    "Entry",
    "acrobot",
    "andrews_squeezer",
    "arm_exoskeleton",
    "atlas",
    "bricard",
    "cart_pole",
    "catalogue",
    "cube",
    "decompose",
    "double_four_bar",
    "double_pendulum",
    "flyball_governor",
    "four_bar",
    "four_bar_chain",
    "free_body",
    "get",
    "heavy_top",
    "holding_controls",
    "home",
    "humanoid_tree",
    "littledog",
    "minitaur",
    "n_four_bar",
    "nao",
    "on_ground",
    "pendulum",
    "serial_arm",
    "spatial_chain",
    "sphere_chain",
    "spring_flamingo",
    "three_link_loop",
    "unitree_a1",
]


def __dir__() -> list[str]:
    return [*__all__]


def __getattr__(name: str) -> Any:
    raise unknown(sys.modules[__name__], name)
