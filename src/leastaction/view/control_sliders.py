"""A slider for each control of a simulation: forces of motors, targets of servos."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.actuators import Actuator, JointActuator, Servo
from leastaction.robots import holding_controls
from leastaction.simulation.simulator import Simulator
from leastaction.typing import FloatArray

FEW = 12
"""Up to so many sliders their folder is open."""


class ControlSliders:
    """The sliders in a panel.

    Args:
        gui: of the viser server.
        simulator: its robot has the controls; targets of servos start where its joints are.
        size: of the robot [m].
        offsets: whether they are added to other controls, so that all start at zero.
    """

    def __init__(self, gui: Any, simulator: Simulator, size: float, offsets: bool) -> None:
        robot = simulator.mechanism
        actuators: list[Actuator] = list(robot.actuators)
        if not actuators:
            actuators = [JointActuator(name, name) for name in robot.velocity_names]
        weight = sum(body.inertia.mass for body in robot.bodies) * (float(np.linalg.norm(robot.gravity)) or 9.81)
        self._sliders = []
        with gui.add_folder("Controls", expand_by_default=len(actuators) <= FEW):
            rest = holding_controls(robot, simulator.q)
            for actuator, held in zip(actuators, rest, strict=True):
                low, high = _range(robot, actuator, weight * size)
                start = 0.0 if offsets else float(held)
                low, high = min(low, start), max(high, start, low + 1e-6)
                self._sliders.append(gui.add_slider(actuator.name, low, high, (high - low) / 500.0, start))
            zero = gui.add_button("Controls to zero")
        zero.on_click(lambda _: self.zero())

    def values(self) -> FloatArray:
        """Shape (nu,)."""
        return np.array([slider.value for slider in self._sliders], float)

    def zero(self) -> None:
        """Set all to zero, or to the limit next to it."""
        for slider in self._sliders:
            slider.value = min(max(0.0, slider.min), slider.max)


def _range(robot: Mechanism, actuator: Actuator, effort: float) -> tuple[float, float]:
    """Lowest and highest control that a slider offers."""
    low, high = -math.inf, math.inf
    if isinstance(actuator, Servo) and actuator.kp > 0.0:
        per = actuator.gear * actuator.kp / ((actuator.push / actuator.gear) or 1.0)  # control per joint position
        ends = [per * (x - actuator.rest / actuator.gear) for x in _limits(robot, actuator.coordinate)]
        low, high = min(ends), max(ends)
        wide = abs(per) * math.pi
    elif isinstance(actuator, Servo):
        wide = 10.0
    elif isinstance(actuator, JointActuator):
        wide = effort / (abs(actuator.gear) or 1.0)
    else:
        wide = effort
    wide = float(f"{wide:.1g}")
    low, high = max(low, actuator.lower, -wide), min(high, actuator.upper, wide)
    return (low, high) if low < high else (-wide, wide)


def _limits(robot: Mechanism, name: str) -> tuple[float, float]:
    """Limits of a degree of freedom or of a tendon."""
    for tendon in robot.tendons:
        if tendon.name == name:
            return tendon.lower, tendon.upper
    limits = [pair for joint in robot.joints for pair in zip(joint.lower, joint.upper, strict=True)]
    return limits[robot.velocity_names.index(name)]
