"""Tendons and servos with force ranges: gradients, stiff gains, limits, and what is refused."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Activation, Muscle, Pose, Wrap
from leastaction.parameters.parameters import parameter, with_parameters

SPATIAL = [
    ("world", (0.4, 0.1, 0.2)),
    ("upper", (0.05, 0.1, -0.2)),
    2.0,
    ("upper", (0, 0.1, -0.4)),
    ("hand", (0, 0, -0.1)),
]


def arm():
    """A hinge and a universal joint, with all that tendons do."""
    b = la.MechanismBuilder("arm")
    b.body("upper", mass=1.0, com=(0.02, 0, -0.25), inertia=(0.03, 0.04, 0.01))
    b.body("hand", mass=0.5, com=(0, 0.03, -0.1), inertia=(0.01, 0.008, 0.004))
    b.joint("shoulder", "revolute", "world", "upper", axis=(0, 1, 0), limits=(-2.5, 2.5))
    b.joint("wrist", "universal", "upper", "hand", pose=(0, 0, -0.5))
    first, second = b.build().velocity_names[1:]
    b.tendon("fixed", joints={"shoulder": 0.7, second: -0.4}, stiffness=15.0, rest=(0.05, 0.1), damping=0.4)
    b.tendon("path", via=SPATIAL, limits=(0.1, 0.5), limit_stiffness=200.0, limit_damping=2.0)
    b.tendon("pair", joints={first: 1.0, second: 0.5})
    drum = Wrap("upper", 0.12, Pose((0.2, 0.1, -0.46), (0.8, 0.6, 0.0, 0.0)), "cylinder")
    b.tendon("drum", via=[("world", (0.3, 0.1, -0.3)), drum, ("hand", (-0.1, 0.1, -0.2))], stiffness=30.0, damping=0.5)
    ball = Wrap("hand", 0.1, side=(-0.3, 0.1, 0.1))
    via = [("upper", (0.15, 0.0, -0.3)), ball, ("hand", (0.0, 0.0, -0.25))]
    b.tendon("ball", via=via, stiffness=20.0, rest=0.1, force_limits=(-9.0, 9.0))
    b.actuator("motor", "path", gear=2.0)
    b.position_servo("servo", "pair", kp=8.0, kv=0.3, gear=1.2)
    b.position_servo("clipped", "shoulder", kp=30.0, kv=1.0, gear=0.9, force_limits=(-2.0, 1.5))
    b.position_servo("free", "shoulder", kp=5.0, kv=0.2, force_limits=(-20.0, 20.0))
    b.actuator("winch", "ball", gear=2.0)
    quick = Activation("muscle", 0.01, release=0.04, smooth=0.2)
    b.add(Muscle("muscle", "drum", peak=40.0, length_range=(0.5, 0.9), activation=quick))
    return b.build()


INTEGRATORS = {
    "bodies": la.Galerkin(order=2),
    "bodies of order 4": la.Galerkin(order=4),
    "joints": la.Galerkin(order=2, interpolation="joints"),
    "maximal": la.Maximal(order=2),
    "bdf": la.BDF(order=2),
}
NAMES = (
    "q",
    "v",
    "controls",
    "stiffness:fixed",
    "damping:fixed",
    "kp:servo",
    "kv:servo",
    "kp:clipped",
    "kp:free",
    "kv:free",
    "stiffness:drum",
    "peak:muscle",
)
STEPS, DT = 6, 0.01
Q, V = np.array([0.4, 0.3, -0.5]), np.array([1.0, -2.0, 1.5])
U = np.tile([1.5, 0.4, 0.8, 0.3, 0.6, 0.4], (STEPS, 1)) + 0.1 * np.arange(STEPS)[:, None]


def goal(run):
    weights = np.array([1.0, -2.0, 0.5])
    dq = np.zeros((len(run), 3))
    dq[-1] = weights
    return float(run.q[-1] @ weights), dq, None


@pytest.mark.parametrize("name", INTEGRATORS)
def test_gradients_are_those_of_differences(name):
    robot, integrator = arm(), INTEGRATORS[name]
    options = {"dt": DT, "steps": STEPS}
    _, gradient = la.adjoint(robot, integrator, goal, list(NAMES), q=Q, v=V, controls=U, **options)

    def value(changes):
        own = {key: x for key, x in changes.items() if ":" in key}
        start = {"q": changes.get("q", Q), "v": changes.get("v", V), "controls": changes.get("controls", U)}
        changed = with_parameters(robot, own)
        return goal(la.simulate(changed, **start, **options, integrator=integrator, progress=False))[0]

    rng, scale = np.random.default_rng(1), 0.0
    for key in NAMES:
        at = {"q": Q, "v": V, "controls": U}.get(key)
        at = parameter(robot, key) if at is None else at
        way, h = rng.normal(size=at.shape), 1e-4
        difference = (value({key: at + h * way}) - value({key: at - h * way})) / (2.0 * h)
        found = float(np.sum(gradient[key] * way))
        scale = max(scale, abs(found))
        assert found == pytest.approx(difference, rel=2e-5, abs=2e-7 * max(1.0, scale)), key
    # A clipped servo does not care for its control.
    assert not gradient["controls"][:, 2].any()


def wheel():
    b = la.MechanismBuilder("wheel", gravity=(0, 0, 0))
    b.body("wheel", mass=1.0, inertia=(0.02, 0.02, 0.02))
    b.joint("axle", "revolute", "world", "wheel", axis="z")
    b.position_servo("servo", "axle", kp=4.0, kv=0.8, force_limits=(-2.0, 2.0))
    return b.build()


@pytest.mark.parametrize("name", INTEGRATORS)
def test_clipped_servos_turn_round_and_hold(name):
    """Full force until the target, several turns away, is near."""
    options = {"dt": 0.01, "controls": [20.0], "integrator": INTEGRATORS[name], "progress": False}
    run = la.simulate(wheel(), steps=40, **options)
    assert run.q[-1, 0] == pytest.approx(0.5 * 2.0 / 0.02 * 0.4**2, rel=0.03 if name in ("bdf", "maximal") else 1e-6)
    run = la.simulate(wheel(), steps=300, **options)
    assert run.q[-1, 0] == pytest.approx(20.0, abs=1e-3)


@pytest.mark.parametrize("name", [name for name in INTEGRATORS if name != "joints"])
def test_stiff_feedback_along_a_tendon_is_stable(name):
    b = la.robots.pendulum(links=2).edit()
    b.tendon("both", joints={"joint1": 1.0, "joint2": 1.0})
    b.position_servo("tendon", "both", kp=1e5, kv=5e2)
    b.position_servo("joint", "joint2", kp=1e5, kv=5e2, force_limits=(-1e4, 1e4))
    run = la.simulate(b.build(), dt=0.01, steps=100, controls=[0.5, 0.2], integrator=INTEGRATORS[name], progress=False)
    assert np.abs(run.q[-1] - [0.3, 0.2]).max() < 2e-3


def test_gradients_of_stiff_servos_do_not_look_beyond_their_range():
    """Displacements of differences are wider than the 0.6 mm over which this servo is not clipped."""

    def end(run):
        return float(run.q[-1, 0]), np.eye(len(run))[:, -1:], None

    found = {}
    for limits in ((-30.0, 30.0), (-1e9, 1e9)):
        b = la.MechanismBuilder("lift")
        b.body("load", mass=2.0)
        b.prismatic("slide", "world", "load", axis="z")
        b.position_servo("motor", "slide", kp=1e5, kv=2e3, force_limits=limits)
        for u in (2e-4, 0.8):
            given = {"dt": 0.01, "steps": 3, "controls": [u]}
            found[limits[1], u] = la.adjoint(b.build(), la.Maximal(), end, ["q", "controls"], q=[0.0], **given)[1]
    for name in ("q", "controls"):
        np.testing.assert_allclose(found[30.0, 2e-4][name], found[1e9, 2e-4][name], rtol=1e-9)
    assert found[30.0, 0.8]["q"] == pytest.approx(1.0)  # clipped: it moves on as it is
    assert not found[30.0, 0.8]["controls"].any()


def test_springs_know_how_often_joints_have_turned_round():
    b = la.robots.pendulum(links=1).edit()
    b.tendon("wound", joints={"joint1": 0.5}, stiffness=8.0, rest=1.0)
    wheel = b.build()
    bare = la.robots.pendulum(links=1)
    for q in (-9.0, 0.3, 4.0, 20.0):
        stored = la.dynamics.potential_energy(wheel, [q]) - la.dynamics.potential_energy(bare, [q])
        assert stored == pytest.approx(4.0 * (0.5 * q - 1.0) ** 2, rel=1e-12)
    run = la.simulate(wheel, [2.5], [15.0], dt=0.01, steps=20, integrator=INTEGRATORS["bdf"])
    assert run.q[-1, 0] > 4.0
    assert run.stored.get("divided", np.zeros(1)).max() <= 1
    assert np.ptp(run.energy) < 0.1


def test_lanes_refuse_what_they_do_not_know():
    b = la.robots.pendulum(links=2).edit()
    b.tendon("both", joints={"joint1": 1.0, "joint2": 1.0}, stiffness=1.0)
    with pytest.raises(IntegratorError, match="tendons that act"):
        la.batch.Simulator(b.build(), 2, dt=0.01, integrator=la.Galerkin(order=2), device="cuda")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either joints or points"),
        ({"joints": {"nowhere": 1.0}}, "unknown degree of freedom 'nowhere'"),
        ({"joints": {"joint1": 1.0}, "limits": (0.0, 1.0)}, "give limit_stiffness"),
        ({"joints": {"joint1": 1.0}, "rest": (2.0, 1.0)}, "rest are reversed"),
        ({"via": ["link1"]}, "at least two points"),
        ({"via": ["link1", "link2", 2.0, "link1"]}, "at least two points"),
        ({"via": ["link1", "lost"]}, "tendon 't': unknown body 'lost'"),
        ({"via": "link1"}, "tendon 't': via: expected several"),
        ({"joints": {"joint1": 1.0}, "stifness": 2.0}, "no property 'stifness'; did you mean 'stiffness'"),
    ],
)
def test_refusals(options, message):
    b = la.robots.pendulum(links=2).edit()
    with pytest.raises(MechanismError, match=message):
        (b.tendon("t", **options), b.build())
