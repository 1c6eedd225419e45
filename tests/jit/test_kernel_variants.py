"""What a robot has is data: each compiled loop has at most two variants, a lean one and one that knows everything."""

from collections import defaultdict
from unittest import mock

import numba
import pytest
from numba.core import config

import leastaction as la
from leastaction._jit.bound import Bound
from leastaction._jit.fingerprint import describe_types
from leastaction.mechanism import Box, Cylinder, MechanismBuilder, Plane, Sphere

INTEGRATORS = (la.Galerkin(order=2), la.Maximal(), la.Minimal(), la.BDF(order=2), la.SDIRK2(), la.RungeKutta(order=4))


def thrown(*shapes, **surface):
    """Bodies over a plane."""
    b = MechanismBuilder("thrown")
    for k, shape in enumerate(shapes):
        b.body(f"body{k}", mass=1.0, inertia=0.1, shapes=shape)
        b.free(f"body{k}")
    b.add_shape("world", Plane(**surface))
    return b.build()


def dressed(robot, **what):
    """A robot with one thing more."""
    b = robot.edit()
    body, joint = robot.body_names[-1], robot.velocity_names[-1]
    for name, value in what.items():
        if name == "spring":
            b.spring("spring", ("world", (1.0, 0.0, 0.0)), (body, (0.1, 0.0, 0.0)), stiffness=value, damping=value)
        elif name == "tendon":
            b.tendon("tendon", via=[("world", (1.0, 0.0, 0.0)), (body, (0.1, 0.0, 0.0))], stiffness=value)
        elif name == "servo":
            b.position_servo("servo", joint, kp=value, kv=0.1, force_limits=(-1.0, 1.0))
        else:
            b.drag("drag", body, linear=value)
    return b.build()


def robots():
    yield from (la.robots.get(entry.name) for entry in la.robots.catalogue())
    yield thrown(Sphere(0.1))
    yield thrown(Sphere(0.1, restitution=0.5), restitution=0.5)
    yield thrown(Sphere(0.1, rolling=0.01, spinning=0.01))
    yield thrown(Box((0.1, 0.1, 0.1)), Box((0.1, 0.1, 0.1)))
    yield thrown(Cylinder(0.1, 0.2), Sphere(0.1))
    for name in ("spring", "tendon", "servo", "drag"):
        yield dressed(la.robots.pendulum(2), **{name: 1.0})
        yield dressed(la.robots.four_bar(), **{name: 1.0})
        if name != "servo":
            yield dressed(la.robots.cube(), **{name: 1.0})


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")
def test_each_compiled_loop_has_at_most_two_variants():
    found, created, ordinary = defaultdict(set), [], Bound.__init__

    def record(self, *args):
        ordinary(self, *args)
        created.append(self)

    count = 0
    for robot in robots():
        for integrator in INTEGRATORS:
            created.clear()
            with mock.patch.object(Bound, "__init__", record):
                try:
                    integrator.prepare(robot, 0.01)
                except la.LeastActionError:  # a robot that is refused
                    continue
            count += 1
            for bound in created:
                kinds = describe_types(tuple(map(numba.typeof, bound.first)))
                found[f"{bound.entry.__module__}.{bound.entry.__name__}"].add(kinds)
    assert count > 150
    loops = {name: len(kinds) for name, kinds in found.items() if "rollout" in name or "runge_kutta" in name}
    assert len(loops) >= 6, loops
    assert max(loops.values()) <= 2, loops
