"""Every force acts the same in every integrator, or is refused by name.

A double pendulum (or one on ball joints) with one force moves for 0.2 s. The reference is a Runge-Kutta method of
fourth order with very small steps; each integrator must come to it as dt becomes small, so close that a force that is
one per cent too strong would show.
"""

import dataclasses
from functools import cache

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionError
from leastaction.integration.integrators import PENALTIES
from leastaction.mechanism import Muscle

DURATION, FINE = 0.2, 2e-5


def chain(kind="revolute", **properties):
    """Two links on skew hinges or on balls."""
    b = la.MechanismBuilder("chain")
    for k in range(2):
        b.body(f"l{k}", mass=1.0 + 0.3 * k, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
        axis = {"axis": ((1, 0, 0), (0.6, 0.8, 0))[k]} if kind == "revolute" else {}
        parent, place = ("world", (0, 0, 0)) if k == 0 else ("l0", (0.05, 0, -0.6))
        b.joint(f"j{k}", kind, parent, f"l{k}", pose=place, **axis, **properties)
    return b


def joint_spring():
    return chain(stiffness=20.0, rest=0.3), None


def joint_damper():
    return chain(damping=2.0), None


def ball_spring():
    return chain("spherical", stiffness=4.0), None


def ball_damper():
    return chain("spherical", damping=2.0), None


def soft_limit():
    return chain(limits=(-1.03, 0.8), limit_stiffness=100.0), None


def damped_limit():
    return chain(limits=(-1.03, 0.8), limit_stiffness=100.0, limit_damping=2.0), None


def spring():
    b = chain()
    b.spring("f", ("world", (0.5, 0.1, 0)), ("l1", (0, 0.1, -0.3)), stiffness=60.0, rest_length=0.5, damping=3.0)
    return b, None


def isotropic_spring():
    b = chain()
    b.spring("f", ("world", (0.2, 0.1, -0.5)), ("l1", (0, 0.1, -0.3)), stiffness=60.0, damping=3.0, isotropic=True)
    return b, None


def strung(**options):
    b = chain()
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("f", via, **options)
    return b, None


def cable():
    return strung(stiffness=60.0, rest_length=1.4, damping=1.0)


def cable_without_clipping():
    return strung(stiffness=60.0, rest_length=1.4, damping=1.0, clip=False)


def cable_that_pushes():
    return strung(stiffness=60.0, rest_length=1.6, damping=1.0, pulls_only=False)


def world_wrench():
    b = chain()
    b.wrench("f", "l1", (1, 2, 3, 4, 5, 6), point=(0.1, 0, 0))
    return b, None


def body_wrench():
    b = chain()
    b.wrench("f", "l0", (1, 2, 3, 4, 5, 6), point=(0.1, 0, 0), frame="body")
    return b, None


def penalty(**law):
    b = chain()
    points = [(0.1, 0.1, -0.6), (-0.1, 0.1, -0.6), (0, -0.1, -0.6)]
    b.penalty_contact("f", "l1", points, origin=(0, -0.288, -0.384), normal=(0, 0.6, 0.8), **law)
    return b, None


def penalty_spring():
    return penalty(stiffness=300.0)


def penalty_friction():
    return penalty(stiffness=300.0, damping=5.0, friction=0.4, stiction=5.0)


def drag():
    b = chain()
    b.drag("f", "l1", linear=3.0, quadratic=2.0, point=(0, 0, -0.5))
    return b, None


def motor():
    b = chain()
    b.actuator("f", "j0", gear=2.0)
    return b, (4.0,)


def thruster():
    b = chain()
    b.thruster("f", "l1", (0.1, 0.2, 0.3, 1, 2, 3))
    return b, (4.0,)


def tendon_along_joints():
    b = chain()
    b.tendon("f", joints={"j0": 0.7, "j1": -0.4}, stiffness=60.0, rest=(0.1, 0.2), damping=2.0)
    return b, None


def tendon_with_a_limit():
    b = chain()
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), 2.0, ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.tendon("f", via=via, limits=(0.0, 1.1), limit_stiffness=300.0)
    return b, None


def tendon_motor():
    b = chain()
    b.tendon("t", via=[("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))])
    b.actuator("f", "t", gear=2.0)
    return b, (4.0,)


def motor_along_joints():
    b = chain()
    b.tendon("t", joints={"j0": 0.7, "j1": -0.4})
    b.actuator("f", "t", gear=2.0)
    return b, (4.0,)


def servo_with_a_range():
    b = chain(limits=(-3.0, 3.0))
    b.position_servo("f", "j1", kp=60.0, kv=2.0, gear=1.2, force_limits=(-3.0, 3.0))
    return b, (0.5,)


def tendon_with_a_range():
    b = chain()
    b.tendon("f", via=[("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))], force_limits=(-6.0, 6.0))
    b.position_servo("s", "f", kp=60.0, kv=2.0, gear=1.2)
    return b, (0.5,)


def muscle():
    b = chain()
    b.tendon("t", via=[("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))])
    b.add(Muscle("f", "t", peak=30.0, length_range=(0.8, 2.0), activation=None))
    return b, (0.6,)


FORCES = [
    joint_spring,
    joint_damper,
    ball_spring,
    ball_damper,
    soft_limit,
    damped_limit,
    spring,
    isotropic_spring,
    cable,
    cable_without_clipping,
    cable_that_pushes,
    world_wrench,
    body_wrench,
    penalty_spring,
    penalty_friction,
    drag,
    motor,
    thruster,
    tendon_along_joints,
    tendon_with_a_limit,
    tendon_motor,
    motor_along_joints,
    servo_with_a_range,
    tendon_with_a_range,
    muscle,
]

INTEGRATORS = {
    "Galerkin(2)": la.Galerkin(order=2),
    "Galerkin(4)": la.Galerkin(order=4),
    "Galerkin(2, joints)": la.Galerkin(order=2, interpolation="joints"),
    "Galerkin(4, joints)": la.Galerkin(order=4, interpolation="joints"),
    "Midpoint": la.Midpoint(),
    "Maximal(1)": la.Maximal(order=1),
    "Maximal(2)": la.Maximal(order=2),
    "BDF(1)": la.BDF(order=1),
    "BDF(2)": la.BDF(order=2),
    "SDIRK2": la.SDIRK2(),
    "LinearlyImplicitEuler": la.LinearlyImplicitEuler(),
    "ConstrainedEuler": la.ConstrainedEuler(),
    "MaximalEuler": la.MaximalEuler(),
    "StaggeredProjections": la.StaggeredProjections(),
    "ExplicitEuler": la.ExplicitEuler(),
    "SemiImplicitEuler": la.SemiImplicitEuler(),
    "RungeKutta": la.RungeKutta(),
    "HermiteSimpson": la.HermiteSimpson(),
}

FIRST_ORDER = {
    "Maximal(1)",
    "BDF(1)",
    "LinearlyImplicitEuler",
    "ConstrainedEuler",
    "MaximalEuler",
    "StaggeredProjections",
    "ExplicitEuler",
    "SemiImplicitEuler",
}

JUMPING = (damped_limit, penalty_friction, cable, cable_without_clipping)
"""One-sided forces with dampers: they jump where they touch."""

RANGES = (servo_with_a_range, tendon_with_a_range)
BENDING = (soft_limit, penalty_spring, tendon_along_joints, tendon_with_a_limit, *RANGES)
"""One-sided forces without."""

REFUSED = {
    # Its polynomials go through accelerations at the ends and the middle of a step: none fits across a bend or a jump.
    "HermiteSimpson": (
        soft_limit,
        damped_limit,
        penalty_spring,
        penalty_friction,
        tendon_with_a_limit,
        *RANGES,
        muscle,
    ),
    # Its joints are equations between bodies: no coordinate has limits or tendons, and springs act along or about a
    # single axis.
    "MaximalEuler": (soft_limit, damped_limit, ball_spring, ball_damper, tendon_along_joints, *RANGES, muscle),
}
"""Which forces an integrator refuses, and why."""


NUMBERS = (
    "stiffness",
    "damping",
    "limit_stiffness",
    "limit_damping",
    "friction",
    "linear",
    "quadratic",
    "gear",
    "wrench",
    "force_limits",
    "peak",
)


def stronger(robot, factor):
    """The robot with all its forces times a factor."""

    def scaled(part):
        values = {n: np.asarray(getattr(part, n)) for n in NUMBERS if getattr(part, n, None) is not None}
        return dataclasses.replace(part, **{n: (factor * x).tolist() for n, x in values.items()})

    fields = ("joints", "springs", "cables", "wrenches", "penalties", "forces", "actuators", "tendons")
    return dataclasses.replace(robot, **{field: tuple(map(scaled, getattr(robot, field))) for field in fields})


def run(force, integrator, dt, acts=True, factor=1.0):
    """The last state (q, v) of a run."""
    builder, controls = force()
    robot = builder.build() if acts else chain("spherical" if "ball" in force.__name__ else "revolute").build()
    robot = robot if factor == 1.0 else stronger(robot, factor)
    rng = np.random.default_rng(3)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv))
    v = 1.5 * rng.normal(size=robot.nv)
    options = {"controls": controls} if controls and acts else {}
    steps = round(DURATION / dt)
    out = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=integrator, progress=False, **options)
    return np.concatenate([out.q[-1], out.v[-1]])


@cache
def reference(force):
    return run(force, la.RungeKutta(), FINE)


@cache
def five_per_cent(force):
    """How far the last state would move by a force that is five per cent stronger."""
    return distance(run(force, la.RungeKutta(), 10.0 * FINE, factor=1.05), reference(force))


def distance(x, y):
    return float(np.abs(x - y).max())


@pytest.mark.parametrize("force", FORCES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", INTEGRATORS)
def test_force_acts_the_same_or_is_refused(name, force):
    integrator = INTEGRATORS[name]
    if force in REFUSED.get(name, ()):
        with pytest.raises(
            LeastActionError, match=f"{name} cannot run the .* 'j?[0f]'|joint 'j0': springs and dampers"
        ):
            run(force, integrator, 0.01)
        return
    # A damper that sets in at once, somewhere within a step, leaves errors of dt that do not shrink evenly.
    steps = np.array((0.004, 0.002, 0.001)) * (0.2 if force is damped_limit else 1.0)
    states = [run(force, integrator, dt) for dt in steps]
    errors = [distance(state, reference(force)) for state in states]
    best = 2.0 * states[2] - states[1] if name in FIRST_ORDER else states[2]
    assert five_per_cent(force) > 1e-3
    assert distance(best, reference(force)) < 0.2 * five_per_cent(force)
    if force not in (*JUMPING, *BENDING):
        assert errors[2] < 0.6 * errors[1] or errors[2] < 1e-6


def test_every_kind_of_special_force_is_tried():
    kinds = {kind for force in FORCES for kind in force()[0].build().special_parts}
    assert kinds == set(PENALTIES)
