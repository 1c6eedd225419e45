"""The sums over all forces: slopes are the derivatives of wrenches, reverse mode is their transpose."""

import numpy as np
import pytest

import leastaction as la
from leastaction.forces import total
from leastaction.forces.arrays import BALL_SPRING, force_gradients, force_model, force_modes
from leastaction.forces.points import point_state
from leastaction.forces.tendons.tendon_records import HINGE, ITEM, SLIDE, TENDON
from leastaction.kinematics.sweeps import LINK

COTANGENT = np.dtype([("W", "f8", 6)], align=True)
STEP = 1e-6


def spring(b):
    b.spring("f", ("world", (0.5, 0.1, 0)), ("l1", (0, 0.1, -0.3)), stiffness=30.0, rest_length=0.5, damping=1.0)


def cable(b):
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("f", via, stiffness=20.0, rest_length=0.3, damping=0.3)


def unclipped_cable(b):
    via = [("world", (-1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("f", via, stiffness=20.0, rest_length=0.3, damping=0.3, clip=False)


def isotropic_spring(b):
    b.spring("f", ("l0", (0.2, 0.1, -0.5)), ("l1", (0, 0.1, -0.3)), stiffness=10.0, damping=0.5, isotropic=True)


def world_wrench(b):
    b.wrench("f", "l1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), point=(0.1, 0, 0))


def body_wrench(b):
    b.wrench("f", "l0", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), frame="body", point=(0.1, 0, 0))


def sliding_penalty(b):
    law = {"stiffness": 200.0, "damping": 3.0, "friction": 0.4, "stiction": 500.0}
    b.penalty_contact("f", "l1", [(0.1, 0.1, -0.6)], origin=(0, 0, 1), normal=(0, 0.6, 0.8), **law)


def sticking_penalty(b):
    law = {"stiffness": 200.0, "damping": 3.0, "friction": 4.0, "stiction": 0.5}
    b.penalty_contact("f", "l1", [(0.1, 0.1, -0.6)], origin=(0, 0, 1), normal=(0, 0.6, 0.8), **law)


def drag(b):
    b.drag("f", "l1", linear=2.0, quadratic=3.0, point=(0.1, -0.2, 0.3))


def tendon(b):
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), 2.0, ("l0", (0, 0, 0)), ("l1", (0, 0, -0.3))]
    law = {"limit_stiffness": 50.0, "limit_damping": 0.4, "limits": (0.0, 0.5)}
    b.tendon("f", via=via, stiffness=20.0, rest=(0.2, 0.3), damping=0.3, **law)


def axes(b):
    """Nothing in the mechanism: angles and ways between the bodies are added to the arrays."""


def clipped_axes(b):
    """The same with a drive whose force is clipped."""


def ball_spring(b):
    """Nothing in the mechanism: it is added to the arrays."""


FORCES = [
    spring,
    cable,
    unclipped_cable,
    isotropic_spring,
    world_wrench,
    body_wrench,
    sliding_penalty,
    sticking_penalty,
    drag,
    tendon,
    axes,
    clipped_axes,
    ball_spring,
]


def two_bodies(force):
    """Arrays of two floating bodies with one force."""
    b = la.MechanismBuilder("two")
    for k in range(2):
        b.body(f"l{k}", mass=1.0, inertia=0.1)
        b.free(f"l{k}")
    force(b)
    forces = force_model(b.build().tree)
    if force in (axes, clipped_axes):
        forces = forces._replace(**axis_records(0.01 if force is clipped_axes else 1e3))
    if force is ball_spring:
        balls = np.zeros(1, BALL_SPRING).view(np.recarray)
        balls[0].child, balls[0].other, balls[0].frame = 1, 0, rotation(np.array([0.3, -0.2, 0.5])).ravel()
        balls[0].stiffness, balls[0].damping, balls[0].rest = (3.0, 2.0, 1.0), (0.1, 0.2, 0.3), (0.8, 0.6, 0.0, 0.0)
        forces = forces._replace(balls=balls)
    return forces


def axis_records(strongest):
    """A tendon along an angle whose mark leans towards the axis, and along a way, with a spring and a drive."""
    items = np.zeros(2, ITEM).view(np.recarray)
    items.node, items.other, items.weight, items.sign = (1, 0), (0, 1), (0.8, -0.6), (-1.0, 1.0)
    items.kind, items.n = (HINGE, SLIDE), ((0.6, 0.8, 0.0), (0.0, 0.6, 0.8))
    items.n2, items.w2 = (0.8, -0.6, 0.0), (0.48, 0.6, 0.64)
    items.pa, items.pb = (0.1, 0.2, 0.3), (-0.2, 0.1, 0.4)
    tendons = np.zeros(1, TENDON).view(np.recarray)
    t = tendons[0]
    t.count, t.driven, t.stiffness, t.longest, t.damping = 2, 1, 7.0, -0.1, 0.3
    t.shortest, t.lower, t.upper = -0.2, -np.inf, np.inf
    t.held, t.target, t.brake, t.weakest, t.strongest = 5.0, 0.3, 0.2, -strongest, strongest
    return {"tendons": tendons, "items": items}


def rotation(w):
    angle = np.linalg.norm(w)
    K = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    return np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * K @ K


def exponential(T):
    """Pose of a world twist, to second order."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = rotation(T[:3]), T[3:] + 0.5 * np.cross(T[:3], T[3:])
    return X


@pytest.fixture
def state():
    rng = np.random.default_rng(5)
    links = np.zeros(2, LINK).view(np.recarray)
    for link in links:
        link.R, link.p, link.v = rotation(rng.normal(size=3)).ravel(), rng.normal(size=3), rng.normal(size=6)
    return links, rng


def moved(links, T, dV):
    out = links.copy()
    for old, new, t, d in zip(links, out, T, dV, strict=True):
        X = exponential(t)
        new.R, new.p = (X[:3, :3] @ old.R.reshape(3, 3)).ravel(), X[:3, :3] @ old.p + X[:3, 3]
        new.v = old.v + d
    return out


def wrenches(forces, links):
    external = np.zeros((len(links), 6))
    total.wrenches(forces, force_modes(forces), links, external)
    return external


@pytest.mark.parametrize("force", FORCES)
def test_slopes_are_derivatives(force, state):
    links, rng = state
    forces = two_bodies(force)
    T, dV = rng.normal(size=(2, 6)), rng.normal(size=(2, 6))
    out = np.zeros((2, 6))
    total.wrench_slopes(forces, force_modes(forces), links, T, dV, out)
    up, down = (wrenches(forces, moved(links, s * STEP * T, s * STEP * dV)) for s in (1, -1))
    np.testing.assert_allclose(out, (up - down) / (2 * STEP), rtol=1e-7, atol=1e-7)
    assert np.abs(out).max() > 1e-3


@pytest.mark.parametrize("force", FORCES)
def test_reverse_mode_is_the_transpose(force, state):
    links, rng = state
    forces = two_bodies(force)
    modes = force_modes(forces)
    cot = np.zeros(2, COTANGENT).view(np.recarray)
    cot.W = rng.normal(size=(2, 6))
    GT, GV, grads = np.zeros((2, 6)), np.zeros((2, 6)), force_gradients(forces)
    total.wrench_cotangents(forces, modes, links, cot, GT, GV, grads)
    for _ in range(3):
        T, dV, out = rng.normal(size=(2, 6)), rng.normal(size=(2, 6)), np.zeros((2, 6))
        total.wrench_slopes(forces, modes, links, T, dV, out)
        assert (cot.W * out).sum() == pytest.approx((GT * T).sum() + (GV * dV).sum(), rel=1e-10, abs=1e-10)


def test_body_forces_without_dampers_are_conservative(state):
    """The power of elastic forces is minus the rate of their energy."""
    links, rng = state
    for force in (spring, cable, unclipped_cable, isotropic_spring, sticking_penalty, tendon, axes, ball_spring):
        forces = two_bodies(force)
        forces.tendons.damping = forces.tendons.limit_damping = forces.tendons.driven = 0.0
        for record in (forces.paths, forces.penalties, *(() if forces.balls is None else (forces.balls,))):
            record.damping = 0.0
        forces.penalties.stiction = forces.penalties.friction = 0.0
        T = rng.normal(size=(2, 6))
        modes, q = force_modes(forces), np.zeros(4)
        ends = [total.energy(forces, modes, moved(links, s * STEP * T, 0 * T), q) for s in (1, -1)]
        power = (wrenches(forces, links) * T).sum()
        assert power == pytest.approx(-(ends[0] - ends[1]) / (2 * STEP), rel=1e-6, abs=1e-7)


def test_points_move_with_their_bodies(state):
    links, rng = state
    local = tuple(rng.normal(size=3))
    x, v = (np.array(part) for part in point_state(1, local, links))
    ahead, _ = point_state(1, local, moved(links, STEP * np.stack([link.v for link in links]), np.zeros((2, 6))))
    np.testing.assert_allclose((np.array(ahead) - x) / STEP, v, atol=1e-5)
