"""The problems A01 to A05: robot, start, and the error of a run at its end beside a reference."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la

DATA = json.loads((Path(__file__).parents[2] / "tests" / "data" / "iftomm.json").read_text())
TEST_SET = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
LEFT = np.pi / 2


@dataclass
class Problem:
    """One of them; `error` takes the configuration at the end."""

    name: str
    text: str
    robot: Any
    q: Any
    v: Any
    duration: float
    error: Any


def a01(duration=10.0):
    robot = la.robots.pendulum(1, shape="point")
    q, v = np.array([LEFT]), np.zeros(1)
    end = la.simulate(robot, q, v, dt=duration, steps=1, integrator=la.DOP853(rtol=1e-13, atol=1e-14)).q[-1]
    return Problem("A01", "pendulum", robot, q, v, duration, lambda x: abs(float(x[0] - end[0])))


def a02(duration=0.75):
    robot = la.robots.n_four_bar(DATA["A02"]["windows"])
    entry = next(e for e in la.robots.catalogue() if e.name == "n_four_bar")
    k = DATA["A02"]["t"].index(duration)
    phi, place = DATA["A02"]["phi"][k], robot.coordinate_index("A0")
    q, v = la.robots.home(robot), entry.home_velocity(robot)
    return Problem("A02", "N four-bars", robot, q, v, duration, lambda x: abs(float(np.pi / 2 - x[place] - phi)))


def a03():
    robot = la.robots.andrews_squeezer()
    place = [TEST_SET.index(name) for name in robot.coordinate_names]
    angles, start = (np.array(DATA["A03"][key])[place] for key in ("angles", "start"))
    q, v = la.robots.home(robot), np.zeros(robot.nv)
    return Problem(
        "A03", "Andrews' squeezer", robot, q, v, DATA["A03"]["t"], lambda x: float(np.abs(x + start - angles).max())
    )


def a04():
    robot = la.robots.bricard()
    k = DATA["A04"]["t"].index(3.0)
    end = np.array(DATA["A04"]["angles"][k])
    q, v = la.robots.home(robot), np.zeros(robot.nv)
    return Problem("A04", "Bricard", robot, q, v, DATA["A04"]["t"][k], lambda x: float(np.abs(x - end).max()))


def a05():
    robot = la.robots.flyball_governor()
    entry = next(e for e in la.robots.catalogue() if e.name == "flyball_governor")
    k = len(DATA["A05"]["t"]) - 1
    height = DATA["A05"]["height"][k] - 0.5
    q, v = la.robots.home(robot), entry.home_velocity(robot)
    return Problem(
        "A05",
        "governor",
        robot,
        q,
        v,
        DATA["A05"]["t"][k],
        lambda x: abs(float(x[robot.coordinate_index("slide")] - height)),
    )
