"""Deformable bodies: networks of masses and springs on links."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction import redmax
from leastaction.redmax import ConstrainedEuler


def arm_with_rope(count=6, hanging=True):
    b = la.MechanismBuilder("arm")
    b.body("link", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    b.revolute("hinge", "world", "link", axis="y")
    direction = np.array([0, 0, -0.1]) if hanging else np.array([0.1, 0, 0])
    points = np.array([1.0, 0, 0]) + direction * np.arange(count)[:, None]
    rope = redmax.add_chain(b, "rope", points, mass=0.05, stiffness=20.0, damping=0.02, start=("link", (1, 0, 0)))
    return b.build(), rope


def test_jacobian_of_vertices_is_equation_2_96():
    """Unit blocks for free vertices; J_am J_mr for attached ones, whose mass is felt by the link."""
    robot, rope = arm_with_rope()
    assert robot.nv == 1 + 3 * len(rope.free)
    q = np.zeros(robot.nv)
    q[robot.velocity_index("hinge")] = 0.4
    M = la.dynamics.mass_matrix(robot, q)
    k = robot.velocity_index("hinge")
    assert M[k, k] == pytest.approx(0.1 + 1.0 * 0.25 + 0.05 * 1.0)
    free = np.delete(np.arange(robot.nv), k)
    assert np.allclose(M[np.ix_(free, free)], 0.05 * np.eye(len(free)))


def test_energy_and_force_of_a_spring():
    """V = K/2 ((l - L)/L)^2 (2.92), f = K strain / L (2.93)."""
    b = la.MechanismBuilder("two", gravity=(0, 0, 0))
    redmax.add_network(b, "n", [(0, 0, 0), (0.5, 0, 0)], [(0, 1)], mass=1.0, stiffness=8.0)
    robot = b.build()
    q = np.zeros(6)
    q[robot.coordinate_index("n1_moves.slide1")] = 0.1
    assert la.dynamics.potential_energy(robot, q) == pytest.approx(0.5 * 8.0 * 0.2**2)
    force = la.dynamics.passive_forces(robot, q, np.zeros(6))
    assert force[robot.velocity_index("n0_moves.slide1")] == pytest.approx(8.0 * 0.2 / 0.5)


def test_hanging_rope_rests_at_its_statics():
    """Each spring carries what hangs below: strain = m g (number below) L / K."""
    b = la.MechanismBuilder("rope")
    points = [(0, 0, -0.1 * k) for k in range(6)]
    redmax.add_chain(b, "r", points, mass=0.05, stiffness=20.0, damping=0.5, start="world")
    robot = b.build()
    run = la.simulate(robot, dt=5e-3, steps=3000, integrator=ConstrainedEuler())
    z = run.q[-1, 2::3]
    stretch = -np.diff(np.concatenate([[0.0], z]))
    below = np.arange(5, 0, -1)
    assert np.allclose(stretch, 0.05 * 9.81 * below * 0.1 / 20.0 * 0.1, rtol=1e-5)


def test_free_network_keeps_its_momentum_and_frequency():
    b = la.MechanismBuilder("pair", gravity=(0, 0, 0))
    redmax.add_chain(b, "p", [(0, 0, 0), (1.0, 0, 0)], mass=0.5, stiffness=100.0)
    robot = b.build()
    v = np.zeros(6)
    v[0], v[3] = 0.1, -0.1
    period = 2 * math.pi / math.sqrt(100.0 / 0.25)
    n = 4000
    run = la.simulate(robot, v=v, dt=period / n, steps=n, integrator=ConstrainedEuler())
    assert np.abs(run.momentum[-1] - run.momentum[0]).max() < 1e-12
    assert np.abs(run.q[-1]).max() < 1e-4
    half = run.q[n // 4, 0]
    assert half == pytest.approx(0.1 * period / (2 * math.pi), rel=1e-2)


def test_rope_moves_its_arm_in_every_formulation():
    """Linearly implicit Euler comes to the motion of BDF2 at first order."""
    robot, _ = arm_with_rope(4, hanging=False)
    exact = la.simulate(robot, dt=2e-4, steps=1000, integrator=la.BDF(order=2)).q[-1]
    errors = [
        np.abs(la.simulate(robot, dt=0.2 / n, steps=n, integrator=ConstrainedEuler()).q[-1] - exact).max()
        for n in (200, 400)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.02)


def test_conjugate_gradients_give_the_dense_solution():
    """Where nothing turns and all springs pull, the matrix-free product is the dense matrix."""
    b = la.MechanismBuilder("sheet")
    x, y = np.meshgrid(np.linspace(0, 0.4, 4), np.linspace(0, 0.4, 4), indexing="ij")
    points = np.stack([x, y, 0 * x], axis=-1)
    corners = {(0, 0): ("world", (-0.1, -0.1, 0)), (0, 3): ("world", (-0.1, 0.5, 0))}
    corners |= {(3, 0): ("world", (0.5, -0.1, 0)), (3, 3): ("world", (0.5, 0.5, 0))}
    redmax.add_cloth(b, "c", points, mass=0.01, stiffness=3.0, shear=0.0, attached=corners)
    robot = b.build()
    runs = [
        la.simulate(robot, dt=2e-3, steps=15, integrator=ConstrainedEuler(solver=s, tolerance=1e-12))
        for s in ("dense", "pcg")
    ]
    assert np.abs(runs[0].q[-1]).max() > 1e-4
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-8
    assert runs[1].iterations.max() < robot.nv


def test_cloth_and_solid_are_built():
    b = la.MechanismBuilder("things")
    grid = np.stack(np.meshgrid(np.arange(3.0), np.arange(4.0), [0.0], indexing="ij"), axis=-1)[:, :, 0]
    cloth = redmax.add_cloth(b, "c", grid, mass=0.1, stiffness=1.0, bending=0.1, attached={(0, 0): "world"})
    assert len(cloth.springs) == 3 * 3 + 2 * 4 + 2 * 6 + 3 * 2 + 4
    cube = np.array(np.meshgrid([0.0, 1], [0.0, 1], [3.0, 4], indexing="ij")).reshape(3, -1).T
    cells = [(0, 1, 2, 4), (3, 1, 2, 7), (5, 1, 4, 7), (6, 2, 4, 7), (1, 2, 4, 7)]
    solid = redmax.add_tetrahedra(b, "s", cube, cells, density=5.0, stiffness=10.0)
    assert len(solid.springs) == 18
    robot = b.build()
    assert robot.total_mass == pytest.approx(11 * 0.1 + 5.0)
    run = la.simulate(robot, dt=1e-2, steps=20, integrator=ConstrainedEuler(solver="pcg"))
    assert len(solid.free) == 8
    drop = run.q[-1, robot.coordinate_index("s0_moves.slide3")]
    assert drop == pytest.approx(-0.5 * 9.81 * 0.2**2, rel=0.06)


def test_refusals():
    b = la.MechanismBuilder("bad")
    with pytest.raises(la.MechanismError, match="does not exist"):
        redmax.add_network(b, "n", [(0, 0, 0)], [(0, 1)], mass=1.0, stiffness=1.0)
    flat = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    with pytest.raises(la.MechanismError, match="flat"):
        redmax.add_tetrahedra(b, "t", flat, [(0, 1, 2, 3)], density=1.0, stiffness=1.0)
    with pytest.raises(la.MechanismError, match="shape"):
        redmax.add_cloth(b, "c", [(0, 0, 0)], mass=1.0, stiffness=1.0)
