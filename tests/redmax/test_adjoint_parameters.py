"""Gradients by every kind of parameter against central differences of the very simulation they differentiate."""

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient, parameter, with_parameters
from leastaction.forces import PointForce
from leastaction.mechanism import Pose
from leastaction.mechanism.elements import Coupling
from tests.redmax.robots import chain, contact, ring, sheet, springs, start, tail

STEPS, DT = 6, 0.02
INTEGRATORS = (la.BDF(order=1), la.BDF(order=2), la.SDIRK2())

TURN = Pose.from_axis_angle("x", 0.4).quaternion
ELASTIC = {"stiffness": 2.0, "damping": 0.1, "rest": 0.2, "armature": 0.05}
LIMITS = {"lower": -0.1, "upper": 0.1, "limit_stiffness": 50.0, "limit_damping": 0.3}
JOINT = ("stiffness", "damping", "rest", "armature", "lower", "upper", "limit_stiffness", "limit_damping")


def hinges(b):
    springs(b)
    contact(b)


def free(b):
    b.body("f", mass=0.7, com=(0.1, 0, 0), inertia=(0.03, 0.02, 0.04))
    soft = {"stiffness": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "damping": (0.1, 0.2, 0.3, 0.4, 0.4, 0.4)}
    soft |= {"armature": (0.03, 0.02, 0.01, 0.1, 0.1, 0.1)}
    b.free("f", name="jf", parent="l1", position=(0.1, 0.2, -0.3), rest=(0.1, 0.2, 0.0, *TURN), **soft)
    b.spring("sf", ("f", (0.1, 0.1, 0)), ("world", (0, 0.3, 0)), stiffness=8.0, rest_length=0.3)


def welds(b):
    """Fixed joints with something of every kind on them: a moving joint, springs, a wrench, contact and a thruster."""
    tilt = Pose.from_axis_angle((0.6, 0.0, 0.8), 0.5).quaternion
    b.body("base", mass=1.0, inertia=0.1)
    b.fixed("jbase", "world", "base", position=(0.1, 0.2, 0.3), rotation=tilt)
    b.body("a", mass=0.4, com=(0.1, 0, 0.05), inertia=(0.02, 0.03, 0.04))
    b.fixed("ja", "l1", "a", position=(0, 0.1, -0.2), rotation=tilt)
    b.body("b", mass=0.3, com=(0, 0.1, 0), inertia=(0.01, 0.02, 0.02))
    b.fixed("jb", "a", "b", position=(0.05, 0, -0.1), rotation=tilt)
    b.body("c", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("jc", "b", "c", axis="x", position=(0.1, 0, -0.2), stiffness=1.0, damping=0.1)
    b.spring("s", ("base", (0.5, 0.1, 0)), ("b", (0, 0.1, -0.3)), stiffness=30.0, rest_length=0.2, damping=1.0)
    b.cable("k", [("base", (1, 0, 0)), ("a", (0.1, 0.1, 0)), ("c", (0, 0, -0.3))], stiffness=9.0, rest_length=0.3)
    b.wrench("w", "a", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), point=(0.1, 0, 0), frame="body")
    law = {"stiffness": 50.0, "damping": 3.0, "friction": 0.4, "stiction": 0.5}
    b.penalty_contact("p", "b", [(0.1, 0.1, 0), (0, -0.1, 0)], origin=(0, 0, 3.0), normal=(0, 0.6, 0.8), **law)
    b.thruster("th", "b", (0.1, 0.2, 0.3, 1, 2, 3))


def closed(b):
    """A loop in space with a spring in it: five equations, seven degrees of freedom."""
    b.body("l2", mass=1.0, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
    b.spherical("j2", "l1", "l2", position=(0.05, 0, -0.6), armature=(0.1, 0.3, 0.2))
    soft = {"stiffness": 3.0, "damping": 0.4, "rest": 0.3}
    b.joint("closing", "revolute", "world", "l2", position=(0.5, 0.1, -0.7), loop=True, axis="y", **soft)
    b.spring("s", ("world", (0.5, 0.1, 0)), ("l1", (0, 0.1, -0.3)), stiffness=30.0, rest_length=0.5, damping=1.0)


def wheel():
    b = la.MechanismBuilder("wheel")
    b.body("disc", mass=2.0, inertia=(0.1, 0.2, 0.1))
    b.free("disc", name="f")
    b.rolling("r", "disc", radius=0.3, axis="y")
    b.body("arm", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("j", "disc", "arm", axis="y", position=(0.05, 0.1, 0.02), stiffness=1.0, damping=0.05)
    return b.build()


def geared():
    b = la.MechanismBuilder("geared")
    b.body("a", mass=1.0, com=(0.1, 0, -0.3), inertia=0.05)
    b.revolute("ja", "world", "a", axis="y", stiffness=1.0)
    b.body("c", mass=0.8, com=(0, 0.1, -0.2), inertia=0.04)
    b.revolute("jc", "a", "c", axis="x", position=(0.1, 0, -0.5), damping=0.1)
    b.add(Coupling("g", "jc", "ja", (0.0, 0.7, 0.2)))
    return b.build()


BALL = {"stiffness": (3.0, 2.0, 1.0), "damping": (0.2, 0.3, 0.4), "armature": (0.1, 0.3, 0.2)}
ROBOTS = {
    "hinges": lambda: chain("revolute", 2, hinges, axis="y", **ELASTIC, **LIMITS),
    "balls": lambda: chain("spherical", 2, free, rest=TURN, **BALL),
    "curve": lambda: chain("spline_curve", 1, tail, frames=ring(), stiffness=0.5, damping=0.1, rest=2.5),
    "surface": lambda: chain("spline_surface", 1, tail, controls=sheet(), stiffness=0.5, damping=0.1),
    "contact": lambda: chain("universal", 2, contact),
    "welds": lambda: chain("universal", 2, welds),
    "loop": lambda: chain("universal", 2, closed),
    "wheel": wheel,
    "geared": geared,
}


def names_of(robot):
    """All parameters that can be varied to both sides."""
    names = ["gravity"]
    names += [f"{kind}:{body}" for kind in ("mass", "com", "inertia") for body in robot.body_names]
    names += [f"{kind}:{j.name}" for kind in ("position", "rotation") for j in (*robot.joints, *robot.loops)]
    for j in (*robot.joints, *robot.loops):
        kinds = JOINT[:3] if j in robot.loops else JOINT
        names += [f"{kind}:{j.name}" for kind in kinds if np.all(np.abs(parameter(robot, f"{kind}:{j.name}")) < 1e9)]
    paths = (*robot.springs, *robot.cables)
    names += [f"{kind}:{s.name}" for kind in ("stiffness", "damping", "points") for s in paths]
    names += [f"rest:{s.name}" for s in paths if not getattr(s, "isotropic", False)]
    names += [f"wrench:{w.name}" for w in robot.wrenches]
    kinds = ("stiffness", "damping", "friction", "stiction", "origin", "points")
    names += [f"{kind}:{p.name}" for kind in kinds for p in robot.penalties]
    positive = (*JOINT[:2], "armature", "limit_stiffness", "limit_damping")
    return [n for n in names if parameter(robot, n).size and not (n.split(":")[0] in positive and _zero(robot, n))]


def _zero(robot, name):
    return (parameter(robot, name) <= 0).any()


def state_of(name, robot):
    if name == "wheel":
        q, v = robot.neutral(), np.zeros(robot.nv)
        q[2], q[-1], v[-1] = 0.3, 0.4, 1.0
        return q, v
    if robot.is_tree:
        return start(name, robot)
    rng = np.random.default_rng(3)
    q = la.dynamics.close_loops(robot, robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv)))
    A = la.dynamics.loop_jacobian(robot, q)[1]
    v = rng.normal(size=robot.nv)
    return q, v - np.linalg.pinv(A) @ (A @ v)


def check(robot, q, v, names, integrator, tolerance=1e-6, **options):
    """Each gradient along one random direction, against central differences of order 4."""
    robot = robot.replace(strict=False)
    rng = np.random.default_rng(2)
    cq, cv = rng.normal(size=(2, STEPS + 1, robot.nv))
    options = {"dt": DT, "steps": STEPS, "integrator": integrator, "project": True, **options}
    run = la.simulate(robot, q, v, **options)
    gradients = gradient(run, cq, cv, names)

    def value(other):
        return float((cq * robot.difference(run.q, other.q)).sum() + (cv * other.v).sum())

    for name in names:
        x = parameter(robot, name)
        kind = name.split(":")[0]
        d = rng.normal(size=x.shape)
        # Equal entries of free joints must stay equal, and a rod's inertia stays near that of a real body.
        d = d * 0.0 + 0.7 if kind in ("damping", "armature") else d
        size = 0.1 if kind in ("inertia", "rest") else 1.0

        def varied(s, name=name, x=x, d=size * d):
            return value(la.simulate(with_parameters(robot, {name: x + 2e-4 * s * d}), q, v, **options))

        fd = (8 * (varied(1) - varied(-1)) - (varied(2) - varied(-2))) / (12 * 2e-4)
        assert gradients[name].shape == x.shape
        ours = size * float((gradients[name] * d).sum())
        scale = max(abs(fd), 1e-2 * np.abs(gradients[name]).max(), 1e-3)
        assert abs(ours - fd) <= tolerance * scale, (name, ours, fd)
    return gradients


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: repr(x)[:12])
@pytest.mark.parametrize("name", ROBOTS)
def test_every_parameter(name, integrator):
    robot = ROBOTS[name]()
    q, v = state_of(name, robot)
    u = np.random.default_rng(4).normal(size=(STEPS, robot.nu))
    check(robot, q, v, names_of(robot), integrator, controls=u)


def test_exponential_coordinates():
    robot = ROBOTS["balls"]()
    q, v = state_of("balls", robot)
    names = ["stiffness:j1", "damping:j0", "rest:j1", "rest:jf", "position:j1", "rotation:j0", "rotation:jf"]
    names += ["armature:j1", "armature:jf"]
    check(robot, q, v, names, la.BDF(order=2, chart="exponential"))


@numba.njit
def drag(x, xd, f):
    """A spring between two points with a drag that grows with the square of the speed."""
    for c in range(3):
        f[0, c] = 4.0 * (x[1, c] - x[0, c]) - xd[0, c] * (xd[0, 0] * xd[0, 0] + xd[0, 1] * xd[0, 1])
        f[1, c] = -4.0 * (x[1, c] - x[0, c])


@pytest.mark.filterwarnings("ignore:force")
def test_forces_of_the_user():
    robot = ROBOTS["welds"]()
    q, v = state_of("welds", robot)
    force = PointForce("drag", (("b", (0.1, 0, -0.2)), ("l0", (0, 0.1, 0))), drag)
    names = ["position:jb", "rotation:ja", "position:j1", "rotation:j0", "mass:b"]
    check(robot, q, v, names, la.BDF(order=2, forces=(force,)))


@pytest.mark.parametrize(("kind", "name"), [("spherical", "ball"), ("free", "free joint")])
def test_drive_inertia_of_balls_beside_splines_is_refused(kind, name):
    b = la.MechanismBuilder("top")
    for body in ("top", "bead"):
        b.body(body, mass=1.0, inertia=0.1)
    b.joint("joint", kind, "world", "top", armature=0.1)
    b.joint("curve", "spline_curve", "world", "bead", frames=ring())
    with pytest.raises(la.IntegratorError, match=f"a {name} with a drive inertia"):
        la.simulate(b.build(), steps=1, integrator=la.BDF())


def test_what_has_no_gradient_is_refused():
    robot = ROBOTS["loop"]()
    q, v = state_of("loop", robot)
    run = la.simulate(robot, q, v, dt=DT, steps=1, integrator=la.BDF())
    with pytest.raises(la.MechanismError, match="closes a loop has stiffness, damping and rest"):
        gradient(run, None, None, ["lower:closing"])
    with pytest.raises(la.MechanismError, match="unknown joint 'colour'"):
        gradient(run, None, None, ["rest:colour"])
