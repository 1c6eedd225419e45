"""The list of robots, and where each of them starts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import suggestion
from leastaction.robots._atlas import atlas
from leastaction.robots._chains import humanoid_tree, serial_arm, spatial_chain
from leastaction.robots._exoskeleton import arm_exoskeleton
from leastaction.robots._free_bodies import cube, free_body, sphere_chain
from leastaction.robots._iftomm import andrews_squeezer, bricard, flyball_governor
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
from leastaction.robots._quadrupeds import littledog, unitree_a1
from leastaction.robots._spring_flamingo import spring_flamingo
from leastaction.typing import FloatArray

Values = Mapping[str, float]


@dataclass(frozen=True)
class Entry:
    """A robot of the catalogue; it is built when something first asks for it.

    Attributes:
        name: as `get` knows it.
        build: the function that builds it, with its defaults.
        origin: where its numbers come from, one line.
        independent: degrees of freedom left by its loops; None for robots without loops.
        posture, motion: coordinates and velocities of its start that are not those of its own home, by name (as in
            `Mechanism.coordinate_names` and `velocity_names`), or a function that gives them for a robot.
    """

    name: str
    build: Callable[..., Mechanism]
    origin: str
    independent: int | None = None
    posture: Values | Callable[[Mechanism], Values] = field(default_factory=dict)
    motion: Values | Callable[[Mechanism], Values] = field(default_factory=dict)

    @cached_property
    def robot(self) -> Mechanism:
        """The robot with its default parameters."""
        return self.build()

    @property
    def dof(self) -> int:
        """Degrees of freedom, loops subtracted."""
        return self.robot.nv if self.independent is None else self.independent

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return self.robot.total_mass

    def home(self, robot: Mechanism | None = None) -> FloatArray:
        """A sensible start q, shape (nq,), with all loops closed; of `robot` if that has other parameters."""
        robot = self.robot if robot is None else robot
        values = self.posture(robot) if callable(self.posture) else self.posture
        return _filled(robot.home(), robot.coordinate_names, values)

    def home_velocity(self, robot: Mechanism | None = None) -> FloatArray:
        """Velocities v of the start, shape (nv,): those of the benchmark where there is one, else zero."""
        robot = self.robot if robot is None else robot
        values = self.motion(robot) if callable(self.motion) else self.motion
        return _filled(np.zeros(robot.nv), robot.velocity_names, values)


def _filled(x: FloatArray, names: tuple[str, ...], values: Values) -> FloatArray:
    for name, value in values.items():
        if name in names:  # a welded base has no coordinates
            x[names.index(name)] = value
    return x


def _a02_rates(robot: Mechanism) -> Values:
    return {name: 1.0 if name.startswith("A") else -1.0 for name in robot.velocity_names}


# fmt: off
_ENTRIES = (
    Entry("pendulum", pendulum, "n equal links; Fan 2018, Brüdigam 2020 and 2023", posture={"joint1": 1.0}),
    Entry("double_pendulum", double_pendulum, "Brüdigam 2020, Fig. 4a", posture={"joint1": 1.5}),
    Entry("cart_pole", cart_pole, "Barto, Sutton, Anderson 1983"),
    Entry("acrobot", acrobot, "Spong 1995"),
    Entry("heavy_top", heavy_top, "Lagrange's top", motion={"support.wx": 0.5, "support.wz": 30.0}),
    Entry("free_body", free_body, "Euler's top", motion={"base.wx": 1.0, "base.wy": -2.0, "base.wz": 3.0}),
    Entry("cube", cube, "box drop of Brüdigam 2023, Fig. 7d"),
    Entry("sphere_chain", sphere_chain, "chain of balls of Brüdigam 2023, Fig. 8b"),
    Entry("serial_arm", serial_arm, "by rule: a 7-joint research arm"),
    Entry("spatial_chain", spatial_chain, "by rule: rods on alternating axes",
          posture={"joint1": 0.8, "joint2": 0.5}),
    Entry("humanoid_tree", humanoid_tree, "by rule: the joints of Atlas, plain numbers", posture={"base.z": 1.0}),
    Entry("four_bar", four_bar, "parallelogram with a closed form", independent=1),
    Entry("three_link_loop", three_link_loop, "drift test of Brüdigam 2020, Fig. 4b", independent=1),
    Entry("four_bar_chain", four_bar_chain, "chain of loops of Brüdigam 2020, Fig. 6", independent=6),
    Entry("double_four_bar", double_four_bar, "Brüdigam 2023, Fig. 12", independent=1, motion=_a02_rates),
    Entry("n_four_bar", n_four_bar, "IFToMM benchmark A02", independent=1, motion=_a02_rates),
    Entry("andrews_squeezer", andrews_squeezer, "IFToMM benchmark A03; Hairer and Wanner", independent=1),
    Entry("bricard", bricard, "IFToMM benchmark A04, overconstrained", independent=1),
    Entry("flyball_governor", flyball_governor, "IFToMM benchmark A05, stiff",
          motion={"spin": 2.0 * math.pi}),
    Entry("spring_flamingo", spring_flamingo, "IHMC's figures; Fan 2018, Fig. 4"),
    Entry("littledog", littledog, "Boston Dynamics; Fan 2018, Fig. 5"),
    Entry("atlas", atlas, "Boston Dynamics; Fan 2018, Fig. 6"),
    Entry("nao", nao, "Aldebaran; Villanueva 2025"),
    Entry("unitree_a1", unitree_a1, "Unitree; Brüdigam 2023, Fig. 13"),
    Entry("minitaur", minitaur, "Kenneally 2016; Brüdigam 2020, Fig. 7", independent=14),
    Entry("arm_exoskeleton", arm_exoskeleton, "rehabilitation of Brüdigam 2023, Fig. 14", independent=6),
)
# fmt: on
_BY_NAME = {entry.name: entry for entry in _ENTRIES}


def catalogue() -> list[Entry]:
    """All robots of the package, each with `name`, `dof`, `mass` [kg], `origin`, `home()`; built lazily."""
    return list(_ENTRIES)


def _entry(name: str) -> Entry:
    try:
        return _BY_NAME[name]
    except (KeyError, TypeError):
        hint = suggestion(name, _BY_NAME) or f"; known robots: {', '.join(_BY_NAME)}"
        raise MechanismError(f"unknown robot {name!r}{hint}") from None


def get(name: str, **parameters: Any) -> Mechanism:
    """The robot of that name, for example `get("pendulum", links=3)`; `MechanismError` if there is none."""
    entry = _entry(name)
    known = inspect.signature(entry.build).parameters
    for parameter in parameters:
        if parameter not in known:
            hint = suggestion(parameter, known) or ("" if known else "; it has none")
            raise MechanismError(f"robot {name!r} has no parameter {parameter!r}{hint}")
    return entry.build(**parameters) if parameters else entry.robot


def home(robot: Mechanism | str) -> FloatArray:
    """A sensible start q [rad or m], shape (nq,).

    In that of robots of the catalogue all loops are closed, legged ones stand with their feet on the ground z = 0,
    benchmarks are in their initial configuration. That of any other robot is its own, `Mechanism.home`.

    Args:
        robot: a robot, or a name of the catalogue.
    """
    if isinstance(robot, str):
        return _entry(robot).home()
    if not isinstance(robot, Mechanism):
        raise MechanismError(f"home needs a robot, or a name of the catalogue, got {robot!r}")
    own = robot.home()
    entry = _BY_NAME.get(robot.name)
    return own if entry is None or (own != robot.neutral()).any() else entry.home(robot)
