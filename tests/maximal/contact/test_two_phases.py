"""Both phases of a step with contact: momenta at the nodes, restarts from them, unique loads and their derivatives."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.corpus.families import scene
from leastaction.mechanism import Box, MechanismBuilder, Plane

DT = 0.01


def thrown(seed):
    """A cube thrown on the ground: (robot, q, v)."""
    rng = np.random.default_rng(seed)
    robot = la.robots.cube(edge=0.2, friction=rng.uniform(0.05, 1.0))
    turn = rng.normal(size=4)
    q = np.concatenate([[0.0, 0.0, 0.3], turn / np.linalg.norm(turn)])
    return robot, q, np.concatenate([3.0 * rng.normal(size=3), rng.normal(size=3)])


def loss_of(weights):
    """A linear function of the last place and velocity of a free body, with its gradients."""

    def loss(run):
        by_q, by_v = np.zeros((2, len(run.t), 6))
        R = Rotation.from_quat(run.q[-1, [4, 5, 6, 3]]).as_matrix()
        by_q[-1, 3:], by_v[-1] = R.T @ weights[:3], weights[3:]
        return float(weights[:3] @ run.q[-1, :3] + weights[3:] @ run.v[-1]), by_q, by_v

    return loss


def test_gradients_through_landings():
    """Faces land, slide and spin: the split of their load among four corners decides on the torque of friction.

    Where forward and backward differences agree; a landing may also pass a kink.
    """
    smooth = 0
    for seed in range(8):
        robot, q, v = thrown(seed)
        rng = np.random.default_rng(seed + 1000)
        loss, d = loss_of(0.1 * rng.normal(size=9)), rng.normal(size=6)

        def value(h, robot=robot, q=q, v=v, loss=loss, d=d):
            return loss(la.simulate(robot, q, v + h * d, dt=DT, steps=60, integrator=la.Maximal()))[0]

        behind, middle, ahead = value(-1e-6), value(0.0), value(1e-6)
        if abs(ahead - 2.0 * middle + behind) > 1e-9:
            continue
        smooth += 1
        _, found = la.adjoint(robot, la.Maximal(), loss, ["v"], q=q, v=v, dt=DT, steps=60)
        assert found["v"] @ d == pytest.approx((ahead - behind) / 2e-6, rel=1e-3, abs=1e-4), seed
    assert smooth >= 5


@pytest.mark.parametrize("family", ["cubes", "boxes", "gears", "grasps", "drop_unitree_a1"])
def test_a_run_goes_on_from_its_state(family):
    """Nothing is carried from step to step but (q, p): a restart from them gives the same run."""
    for seed in range(2):
        it = scene(family, seed)
        kw = {"dt": it.dt, "integrator": la.Maximal()} | ({} if it.controls is None else {"controls": it.controls})
        run = la.simulate(it.robot, it.q, it.v, steps=80, **kw)
        for k in (20, 40):
            again = la.simulate(it.robot, run.q[k], p=run.p[k], steps=40, **kw)
            moved = it.robot.difference(run.q[k + 40], again.q[-1])
            assert np.abs(moved).max() < 1e-6, (seed, k)


@pytest.mark.parametrize("friction", ["cone", "linear"])
def test_what_rests_has_no_momentum(friction):
    """A box on four corners: its weight is borne by both phases, and no speed is left but that of the compliance."""
    b = MechanismBuilder("box")
    b.body("box", mass=2.0, shapes=Box((0.3, 0.2, 0.1), friction=0.5))
    b.free("box")
    b.add_shape("world", Plane())
    q = [0.0, 0.0, 0.05, 1.0, 0.0, 0.0, 0.0]
    run = la.simulate(b.build(), q, dt=DT, steps=50, integrator=la.Maximal(friction=friction))
    assert np.abs(run.v).max() < 1e-6
    assert run.q[:, 2].min() > 0.05 - 1e-8
    np.testing.assert_allclose(run.contact_force("box", "world")[1:, 2], 2.0 * 9.81, rtol=1e-6)


def test_redundant_contacts_share_a_load_evenly():
    """Least norm: each corner of a cube that rests bears a quarter, whatever it did before."""
    robot, q, v = thrown(1)
    run = la.simulate(robot, q, v, dt=DT, steps=300, integrator=la.Maximal())
    last = run.stored["contacts"][run.stored["contacts"][:, 0] == run.steps - 1]
    loads = last[last[:, 8] > 1e-3, 8]
    assert len(loads) == 4
    np.testing.assert_allclose(loads, 9.81 / 4, rtol=1e-3)


def test_contacts_without_restitution_take_energy_alone():
    """Energy identity of the two phases: what is left is the error of a body that pivots."""
    for seed in range(6):
        robot, q, v = thrown(seed)
        run = la.simulate(robot, q, v, dt=DT, steps=120, integrator=la.Maximal())
        assert np.diff(run.energy).max() < 1e-4 * run.kinetic_energy.max(), seed


def test_velocities_at_a_node_do_not_lead_into_what_is_touched():
    """Admissible momenta: corners that touch the ground do not move down at any node."""
    robot, q, v = thrown(3)
    corners = 0.1 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    run = la.simulate(robot, q, v, dt=DT, steps=120, integrator=la.Maximal())
    touched = 0
    for k in range(1, len(run.t)):
        R = Rotation.from_quat(run.q[k, [4, 5, 6, 3]]).as_matrix()
        heights = run.q[k, 2] + corners @ R[2]
        velocities = R @ run.v[k, 3:] + np.cross(R @ run.v[k, :3], corners @ R.T)
        closed = heights < 1e-7
        touched += int(closed.any())
        assert velocities[closed, 2].min(initial=0.0) > -1e-6
    assert touched > 20
