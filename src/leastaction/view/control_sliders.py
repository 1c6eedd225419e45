"""A slider for each control of a simulation: forces of motors, targets of servos."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.actuators import Actuator, JointActuator, Servo
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
            for actuator in actuators:
                low, high, start = _range(robot, actuator, simulator.q, weight * size)
                start = 0.0 if offsets else start
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


def _range(robot: Mechanism, actuator: Actuator, q: FloatArray, effort: float) -> tuple[float, float, float]:
    """Lowest and highest control that a slider offers, and where it starts."""
    low, high, start = -math.inf, math.inf, 0.0
    if isinstance(actuator, Servo) and actuator.kp > 0.0:
        k, joint, place = _coordinate(robot, actuator.coordinate)
        per = actuator.gear * actuator.kp / ((actuator.push / actuator.gear) or 1.0)  # control per joint position
        ends = [per * (x - actuator.rest / actuator.gear) for x in (joint.lower[place], joint.upper[place])]
        low, high = min(ends), max(ends)
        start = per * (float(q[k]) - actuator.rest / actuator.gear)
        wide = abs(per) * math.pi
    elif isinstance(actuator, Servo):
        wide = 10.0
    elif isinstance(actuator, JointActuator):
        wide = effort / (abs(actuator.gear) or 1.0)
    else:
        wide = effort
    wide = float(f"{wide:.1g}")
    low, high = max(low, actuator.lower, -wide), min(high, actuator.upper, wide)
    return (low, high, start) if low < high else (-wide, wide, start)


def _coordinate(robot: Mechanism, name: str) -> tuple[int, Any, int]:
    """Index in q of a joint's only position, its joint, and its place among the joint's freedoms."""
    k = 0
    for joint in robot.joints:
        place = 0
        for primitive in joint.primitives:
            if joint.velocity_names()[place] == name:
                return k, joint, place
            k, place = k + primitive.nq, place + primitive.nv
    raise KeyError(name)
