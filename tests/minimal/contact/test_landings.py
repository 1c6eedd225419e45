"""`Grounded` over whole landings: gradients against central differences, depth, rest.

Corners of a face that slides and spins share its load in many ways, and the motion is another with each: the compliance
of contacts makes it one, for the solver and for its derivative.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere

DT, STEPS = 0.01, 80


def thrown(kind, seed):
    """A body, or a robot of two, thrown over the ground; (robot, q, v)."""
    rng = np.random.default_rng(seed)
    friction = rng.uniform(0.1, 1.0)
    b = MechanismBuilder(kind)
    b.add_shape("world", Plane(friction=friction))
    for i in range(2 if kind == "two boxes" else 1):
        size = np.full(3, 0.1) if kind == "cube" else rng.uniform(0.05, 0.25, 3)
        mass = 1.0 if kind == "cube" else rng.uniform(0.3, 3.0)
        inertia = mass / 12.0 * (np.sum(size**2) - size**2)
        middle = (0.5 * size[0] + 0.02, 0.0, 0.0) if i else (0.0, 0.0, 0.0)
        shape = Box(tuple(size), friction=friction, pose=Pose(middle))
        if kind == "ball":
            shape, inertia = Sphere(0.1, friction=friction), np.full(3, 0.004)
        b.body(f"b{i}", mass=mass, com=middle, inertia=tuple(inertia), shapes=shape)
    b.free("b0")
    if kind == "two boxes":
        b.revolute("hinge", "b0", "b1", axis="y", position=(0.14, 0.0, 0.0), limits=(-1.0, 1.0))
    robot = b.build()
    q, x = robot.neutral().copy(), np.zeros(robot.nv)
    q[2], x[:3] = 0.3, rng.uniform(-1.5, 1.5, 3)
    speed = np.r_[np.full(3, 3.0), np.full(3, 1.0), np.full(robot.nv - 6, 3.0)]
    return robot, robot.integrate(q, x), speed * rng.normal(size=robot.nv)


def derivatives(kind, seed):
    """Of some number at the end by the initial velocity along some direction: (adjoint, differences, how rough)."""
    robot, q, v = thrown(kind, seed)
    rng = np.random.default_rng(1000 + seed)
    by_q, by_v, way = rng.normal(size=(3, robot.nv)) * np.array([[1.0], [0.1], [1.0]])
    way /= np.linalg.norm(way)
    options = {"dt": DT, "steps": STEPS, "integrator": la.Grounded()}
    end = la.simulate(robot, q, v, **options).q[-1]

    def value(run):
        return robot.difference(end, run.q[-1]) @ by_q + run.v[-1] @ by_v

    def objective(run):
        bars = np.zeros((2, STEPS + 1, robot.nv))
        bars[:, -1] = by_q, by_v
        return value(run), *bars

    found = la.adjoint(robot, la.Grounded(), objective, ["v"], q=q, v=v, dt=DT, steps=STEPS)[1]["v"] @ way
    best = (np.inf, np.nan)
    for h in (1e-6, 1e-7, 1e-5):
        at = {k: value(la.simulate(robot, q, v + k * h * way, **options)) for k in (-2, -1, 0, 1, 2)}
        expected = (8.0 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12.0 * h)
        rough = abs(at[1] - 2.0 * at[0] + at[-1]) / h / max(abs(expected), 0.01)
        best = min(best, (rough, expected))
        if rough < 1e-4:
            break
    return found, best[1], best[0]


@pytest.mark.parametrize("kind", ["cube", "box", "two boxes", "ball"])
def test_gradients_of_landings(kind):
    """Where differences are smooth, and nearly everywhere they are."""
    cases = [derivatives(kind, seed) for seed in range(12)]
    off = [abs(found - expected) / max(abs(expected), 0.01) for found, expected, rough in cases if rough < 1e-3]
    assert len(off) >= 10
    assert max(off) < 1e-3
    assert np.median(off) < 1e-5


@pytest.mark.parametrize("kind", ["cube", "box", "two boxes"])
def test_nothing_is_deeper_than_contacts_give_way(kind):
    """Nor does it move at rest."""
    for seed in range(8):
        robot, q, v = thrown(kind, seed)
        run = la.simulate(robot, q, v, dt=DT, duration=3.0, integrator=la.Grounded())
        assert run.stored["contacts"][:, 9].min() > -DEEPEST * DT**2
        if np.abs(run.v[-50:]).max() < 1e-3:
            assert np.abs(run.v[-1]).max() < 1e-6


def test_a_heavy_load_is_no_deeper():
    """A force of 10 kN on 1 kg."""
    b = MechanismBuilder("pressed")
    b.body("box", mass=1.0, inertia=0.01, shapes=Box((0.2, 0.2, 0.1), friction=0.5))
    b.free("box")
    b.wrench("load", "box", (0.0, 0.0, 0.0, 1e3, 0.0, -1e4))
    b.add_shape("world", Plane(friction=0.5))
    run = la.simulate(b.build(), {"box_free.z": 0.05}, dt=DT, duration=1.0, integrator=la.Grounded())
    assert 0.05 - run.q[:, 2].min() < DEEPEST * DT**2
    assert np.abs(run.q[-1, :2]).max() < 1e-6


@pytest.mark.parametrize("kind", ["cube", "box", "two boxes"])
def test_a_run_goes_on_from_its_state_alone(kind):
    """From (q, p) at any time in contact: nothing else is part of the state."""
    for seed in range(6):
        robot, q, v = thrown(kind, seed)
        run = la.simulate(robot, q, v, dt=DT, steps=120, integrator=la.Grounded())
        for at in (25, 40, 60):
            again = la.simulate(robot, run.q[at], p=run.p[at], dt=DT, steps=60, integrator=la.Grounded())
            assert np.abs(robot.difference(run.q[at + 60], again.q[-1])).max() < 1e-8
            assert np.abs(run.p[at + 60] - again.p[-1]).max() < 1e-6


@pytest.mark.parametrize("kind", ["cube", "box", "two boxes"])
def test_velocities_do_not_enter_closed_contacts(kind):
    """Momenta are those of velocities that obey the laws of contact; at rest they are zero to round-off."""
    for seed in range(6):
        robot, q, v = thrown(kind, seed)
        run = la.simulate(robot, q, v, dt=DT, duration=3.0, integrator=la.Grounded())
        places = run.stored["places"]
        closed = (places[1:-1, :, 3] <= 0.0) & (places[:-2, :, 3] <= 0.0)
        rates = (places[2:, :, 3] - places[1:-1, :, 3]) / DT
        assert rates[closed].min() > -2.0 * DEEPEST * DT
        if np.abs(run.v[-50:]).max() < 1e-6:
            assert np.abs(run.v[-1]).max() < 1e-12
        rise = np.diff(run.energy).max() / run.kinetic_energy.max()
        assert rise < 1e-3
