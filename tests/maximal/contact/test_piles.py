"""Random piles of boxes, balls and rods of very different masses: steps find a solution, nothing overlaps."""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.retry import width_after
from leastaction.maximal.stepper import MaximalStepper
from leastaction.mechanism import Box, Capsule, HeightField, MechanismBuilder, Plane, Sphere


def pile(seed):
    """(robot, q, v, dt, integrator): bodies above the ground, one over the other, none touching, thrown together."""
    rng = np.random.default_rng(seed)
    b, count, bumpy = MechanismBuilder("pile"), int(rng.integers(3, 14)), seed % 3 == 0
    q, top = [], 0.35 if bumpy else 0.0
    for i in range(count):
        surface = {"friction": float(rng.choice([0, 0.3, 0.8, 1.2]))}
        kind = rng.integers(3)
        if kind == 0:
            size = rng.uniform(0.05, 0.5, 3)
            shape, reach = Box(tuple(size), **surface), 0.5 * float(np.linalg.norm(size))
        elif kind == 1:
            reach = float(rng.uniform(0.05, 0.2))
            shape = Sphere(reach, **surface)
        else:
            shape = Capsule(rng.uniform(0.03, 0.1), rng.uniform(0.1, 0.5), **surface)
            reach = shape.radius + 0.5 * shape.length
        b.body(f"b{i}", mass=10 ** rng.uniform(-1, 1), shapes=shape)
        b.free(f"b{i}")
        turn = rng.normal(size=4)
        q += [*rng.uniform(-0.15, 0.15, 2), top + reach + 0.01, *(turn / np.linalg.norm(turn))]
        top += 2.0 * reach + 0.02
    x = np.linspace(-2, 2, 21)
    heights = 0.15 * np.sin(3 * x[:, None]) * np.cos(2 * x) + 0.1 * (x[:, None] ** 2 + x**2)
    b.add_shape("world", HeightField(heights, 0.2, friction=0.6) if bumpy else Plane(friction=0.6))
    v = np.tile(np.r_[3.0 * rng.normal(size=3), rng.normal(size=3)], count)
    integrator = la.Maximal(order=int(rng.choice([1, 2])), friction=str(rng.choice(["cone", "linear"])))
    return b.build(), np.array(q), v, float(rng.choice([0.01, 0.005])), integrator


@pytest.mark.parametrize("seed", [20, 39, 72, 80, 88, 126, 129, 135])
def test_pile(seed):
    robot, q, v, dt, integrator = pile(seed)
    run = la.simulate(robot, q, v, dt=dt, duration=2.0, integrator=integrator)
    # At order 1, without a second phase, what jams in a step of many substeps gives way in each of them.
    assert run.stored["contacts"][:, 9].min() > (-3e-4 if integrator.order == 1 else -1e-6)
    lost = run.energy[0] - run.energy[-1]
    assert np.max(run.energy - np.minimum.accumulate(run.energy)) < 5e-3 * lost


def test_plans_of_fast_motions_become_wider(monkeypatch):
    """Whips of beads: what may touch is not looked for anew in every step."""
    b = MechanismBuilder("whips")
    for k in range(2):
        for i in range(5):
            beads = [Sphere(0.004, pose=(0.0, 0.0, -0.01 * j)) for j in range(1, 15)]
            b.body(f"{k}{i}", mass=0.1, com=(0, 0, -0.08), inertia=1e-3, shapes=beads)
            place = {"pose": (0, 0.2 * k, 1.0)} if i == 0 else {"pose": (0, 0, -0.16)}
            b.revolute(f"hinge{k}{i}", "world" if i == 0 else f"{k}{i - 1}", f"{k}{i}", axis="y", **place)
    robot = b.build()
    plans, plan = [], MaximalStepper._plan
    monkeypatch.setattr(MaximalStepper, "_plan", lambda *args: (plans.append(1), plan(*args)))
    la.simulate(robot, v=np.tile([1.0, -1.5, 2.0, -1.5, 1.0], 2), dt=0.005, steps=100, integrator=la.Maximal())
    assert len(plans) <= 20
    assert [width_after(1.0, 3), width_after(16.0, 3), width_after(4.0, 20), width_after(4.0, 100)] == [2, 16, 4, 2]
