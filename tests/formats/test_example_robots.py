"""Real robots, from the package example-robot-data, against Pinocchio and yourdfpy."""

from importlib.metadata import PackageNotFoundError, files

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_urdf, save_urdf
from leastaction.formats._repair_inertia import LIGHT
from tests.formats.models import assert_same

pin = pytest.importorskip("pinocchio")
# Several of these robots have inertias that no real body has.
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::UserWarning")]


def robot_files():
    try:
        return {f.name: f.locate() for f in files("example-robot-data") or () if f.suffix == ".urdf"}
    except PackageNotFoundError:
        return {}


FILES = robot_files()
MASSLESS = "neither it nor anything it carries has mass"
# Files with a fault, and what their refusal says.
FAULTY = {
    "alex_psyonic_hands.urdf": "mimics joint 'index_q1', which does not exist",
    "bluevolta_bravo7_gripper.urdf": MASSLESS,
    "bravo7_gripper.urdf": MASSLESS,
    "falcon.urdf": "child link 'Z_propeller' does not exist",
    "falcon_bravo7_gripper.urdf": MASSLESS,
    "romeo.urdf": MASSLESS,
    "romeo_laas_small.urdf": "negative principal moment",
    "ur3.urdf": "has no <link>",
}


@pytest.mark.skipif(not FILES, reason="example-robot-data is not installed")
@pytest.mark.parametrize("name", sorted(FILES))
def test_total_mass_and_degrees_of_freedom_are_pinocchios(name):
    path = FILES[name]
    if name in FAULTY:
        with pytest.raises(la.FormatError, match=FAULTY[name]):
            load_urdf(path, meshes=False, strict=True)
        return
    robot = load_urdf(path, meshes=False)
    model = pin.buildModelFromUrdf(str(path))
    given = 10 * LIGHT if name == "human.urdf" else 0.0  # to the links of its gimbals, which have none
    assert robot.total_mass == pytest.approx(sum(inertia.mass for inertia in model.inertias) + given, rel=1e-13)
    assert robot.nv == model.nv
    assert set(model.names[1:]) <= set(robot.joint_names)


def positions(robot, model, rng):
    """Random q, ours and Pinocchio's, which sorts joints by name and writes endless angles as (cos, sin)."""
    q, theirs, order = np.zeros(robot.nq), np.zeros(model.nq), []
    for joint in model.joints[1:]:
        name = model.names[joint.id]
        k = robot.coordinate_index(name)
        q[k] = rng.uniform(-1, 1)
        theirs[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(q[k]), np.sin(q[k])] if joint.nq == 2 else q[k]
        order.append(robot.velocity_index(name))
    return q, theirs, order


@pytest.mark.parametrize("name", ["panda.urdf", "ur5_robot.urdf", "solo12.urdf", "talos_reduced.urdf", "anymal.urdf"])
def test_mass_matrix_and_gravity_are_pinocchios(name):
    if name not in FILES:
        pytest.skip("example-robot-data is not installed")
    robot = load_urdf(FILES[name], meshes=False)
    model = pin.buildModelFromUrdf(str(FILES[name]))
    data = model.createData()
    q, theirs, order = positions(robot, model, np.random.default_rng(1))
    M = la.dynamics.mass_matrix(robot, q)[np.ix_(order, order)]
    np.testing.assert_allclose(np.triu(M), np.triu(pin.crba(model, data, theirs)), atol=1e-13 * np.abs(M).max())
    gravity = la.dynamics.gravity_forces(robot, q)[order]
    expected = pin.computeGeneralizedGravity(model, data, theirs)
    np.testing.assert_allclose(gravity, expected, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["panda.urdf", "solo12.urdf", "pr2.urdf"])
def test_poses_of_all_links_are_yourdfpys(name):
    yourdfpy = pytest.importorskip("yourdfpy")
    if name not in FILES:
        pytest.skip("example-robot-data is not installed")
    robot = load_urdf(FILES[name], meshes=False)
    theirs = yourdfpy.URDF.load(str(FILES[name]), load_meshes=False, build_scene_graph=True)
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, robot.nq)
    for c in robot.couplings:
        q[robot.coordinate_index(c.follower)] = np.polyval(c.coefficients[::-1], q[robot.coordinate_index(c.leader)])
    theirs.update_cfg({name: q[robot.coordinate_index(name)] for name in theirs.actuated_joint_names})
    for body, pose in zip(robot.body_names, la.dynamics.body_poses(robot, q), strict=True):
        np.testing.assert_allclose(pose, theirs.get_transform(body), atol=1e-13)


@pytest.mark.parametrize("name", ["panda.urdf", "solo12.urdf", "talos_reduced.urdf", "baxter.urdf"])
def test_real_robots_read_back_the_same(tmp_path, name):
    if name not in FILES:
        pytest.skip("example-robot-data is not installed")
    robot = load_urdf(FILES[name], meshes=False)
    save_urdf(robot, tmp_path / "robot.urdf")
    assert_same(load_urdf(tmp_path / "robot.urdf"), robot, 2e-15)
