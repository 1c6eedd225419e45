"""End energies that the author of the reference implementation publishes with his scenes (sueda/redmax, MIT licence).

Units are cm, g, s; the energy is T + V less V at the start. Each scene has one feature that the sample scenes lack.
"""

from itertools import pairwise

import numpy as np
import pytest

import leastaction as la


class Scene:
    """Boxes of density 1 on joints; the frame of a body is that of its joint."""

    def __init__(self, gravity=(0, 0, -980)):
        self.b = la.MechanismBuilder("scene", gravity=gravity)
        self.count = 0

    def box(self, sides, com, parent, kind, position=(0, 0, 0), **joint):
        a, b, c = sides
        m = a * b * c
        inertia = (m * (b * b + c * c) / 12, m * (a * a + c * c) / 12, m * (a * a + b * b) / 12)
        self.count += 1
        name = f"b{self.count}"
        self.b.body(name, mass=m, com=com, inertia=inertia)
        self.b.joint(f"j{self.count}", kind, parent, name, position=position, **joint)
        return name


def axes():
    s = Scene()
    one = s.box((10, 1, 1), (5, 0, 0), "world", "revolute", axis="z")
    two = s.box((10, 1, 1), (5, 0, 0), one, "revolute", (10, 0, 0), axis="y")
    s.box((10, 1, 1), (5, 0, 0), two, "revolute", (10, 0, 0), axis="z")
    return s.b.build(), [0, np.pi / 2, np.pi / 2], None, 0.01, 100


def prismatic():
    s = Scene()
    one = s.box((20, 1, 1), (0, 0, 0), "world", "prismatic", axis="x")
    s.box((1, 1, 10), (0, 0, -5), one, "revolute", (-10, 0, 0), axis="y")
    return s.b.build(), [0, np.pi / 2], None, 0.01, 100


def planar():
    s = Scene()
    one = s.box((10, 10, 1), (0, 0, 0), "world", "planar_fixed_orientation")
    s.box((1, 1, 10), (0, 0, -5), one, "revolute", (-5, 0, 0), axis="y")
    s.box((1, 1, 10), (0, 0, -5), one, "revolute", (0, -5, 0), axis="x")
    return s.b.build(), [0, 0, np.pi / 2, np.pi / 4], None, 0.01, 100


def translational():
    s = Scene((0, 0, 0))
    one = s.box((10, 10, 1), (0, 0, 0), "world", "translational")
    s.box((1, 1, 10), (0, 0, -5), one, "revolute", (-5, 0, 0), axis="y")
    s.box((1, 1, 10), (0, 0, -5), one, "revolute", (0, -5, 0), axis="x")
    return s.b.build(), [0] * 5, [0, 0, 0, -10, 10], 0.01, 200


def free_2d():
    s = Scene((0, -980, 0))
    s.box((1, 1, 1), (0, 0, 0), "world", "planar")
    return s.b.build(), [-10, -10, 0], [50, 200, 20], 5e-3, 80


def spherical():
    s = Scene()
    one = s.box((1, 1, 10), (0, 0, -5), "world", "spherical")
    s.box((1, 1, 10), (0, 0, -5), one, "spherical", (0, 0, -10))
    c, k = np.cos(np.pi / 16), np.sin(np.pi / 16)
    q = [c, k, 0, 0, np.sqrt(0.5), np.sqrt(0.5), 0, 0]
    # Rates 2, 2, 2 of XYZ angles at (pi / 8, 0, 0): the columns of S are the unit vectors there.
    return s.b.build(), q, [2, 2, 2, 0, 0, 0], 2e-3, 500


def free_3d():
    s = Scene((0, 0, -1))
    s.box((1, 1, 1), (0, 0, 0), "world", "free")
    return s.b.build(), None, [0.2, 0.4, 0.6, 0, 0, 3], 5e-2, 120


def loop():
    """Closed by a stiff isotropic spring, as the author does."""
    s = Scene()
    one = s.box((20, 1, 1), (0, 0, 0), "world", "fixed")
    two = s.box((1, 1, 10), (0, 0, -5), one, "revolute", (-10, 0, 0), axis="y")
    three = s.box((1, 1, 10), (0, 0, -5), one, "revolute", (10, 0, 0), axis="y")
    four = s.box((20, 1, 1), (10, 0, 0), two, "revolute", (0, 0, -10), axis="y")
    s.box((1, 1, 10), (0, 0, -5), four, "revolute", (10, 0, 0), axis="y")
    s.b.spring("loop", (three, (0, 0, -10)), (four, (20, 0, 0)), stiffness=1e8, isotropic=True)
    robot = s.b.build()
    v = np.zeros(4)
    v[robot.velocity_index("j5")] = 5.0
    return robot, None, v, 0.01, 100


def cable():
    """The rest length of a cable is that at the start; its damper acts whenever it is longer."""
    s = Scene()
    one = s.box((0.1, 0.1, 0.1), (0, 0, 0), "world", "fixed")
    two = s.box((10, 1, 1), (5, 0, 0), one, "revolute", axis="y")
    three = s.box((10, 1, 1), (5, 0, 0), two, "revolute", (10, 0, 0), axis="y")
    four = s.box((1, 1, 1), (0, 0, 0), one, "prismatic", (10, 0, 0), axis="x", stiffness=1e4, damping=1e3)
    via = [(four, (0, 0, 0)), (two, (1, 0, 1)), (three, (1, 0, 1))]
    robot = s.b.build()
    q = np.zeros(robot.nq)
    q[robot.coordinate_index("j2")], q[robot.coordinate_index("j3")] = np.pi / 2, -np.pi / 2
    X = la.dynamics.body_poses(robot, q)
    points = [X[robot.body_index(body)] @ [*x, 1.0] for body, x in via]
    L = sum(np.linalg.norm(b - a) for a, b in pairwise(points))
    s.b.cable("cable", via, stiffness=1e6 / L, damping=1e3 / L, rest_length=L, clip=False)
    return s.b.build(), q, None, 0.01, 100


SCENES = {
    axes: (-3.8359074258588909e04, -9.7138545812971279e02),
    prismatic: (-3.7579402399569808e04, -6.1132876082600706e02),
    planar: (-4.5738939646068720e04, -4.7000178355609387e02),
    translational: (3.3661704151378050e04, 3.3377464890219308e04),
    free_2d: (2.0322933333333378e04, 2.1283333333333332e04),
    spherical: (-8.7859815791305155e03, 8.6544602745403390e03),
    free_3d: (4.3970920953724946e00, 4.5466508559364156e00),
    loop: (1.2475343855668743e03, 4.1276838094574923e03),
    cable: (-3.1874892332895153e04, -2.7872894793863266e04),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scene", SCENES, ids=lambda f: f.__name__)
def test_end_energy(scene, order):
    robot, q, v, dt, steps = scene()
    run = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=la.BDF(order=order))
    energy = run.energy[-1] - run.potential_energy[0]
    size = max(np.abs(run.kinetic_energy).max(), np.ptp(run.potential_energy))
    assert abs(energy - SCENES[scene][order - 1]) <= 1e-7 * size
