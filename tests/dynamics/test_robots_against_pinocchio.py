"""Classical dynamics against Pinocchio: all robots of the catalogue, all URDFs of example-robot-data."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction import dynamics
from leastaction.robots import catalogue

pytestmark = pytest.mark.oracle
pytest.importorskip("pinocchio")
from tests.oracles.pinocchio_model import PinocchioModel  # noqa: E402

TOLERANCE = 1e-10
PACKAGE = "example-robot-data"


def error(actual, expected):
    """Largest difference relative to the largest entry."""
    return np.abs(actual - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-12)


def check(robot, peer, q, rng):
    """Poses, mass matrix, inverse and forward dynamics, centre of mass and energies at q."""
    v, a = rng.normal(size=(2, robot.nv))
    assert np.abs(dynamics.body_poses(robot, q) - peer.body_poses(q)).max() <= TOLERANCE
    assert np.abs(dynamics.center_of_mass(robot, q) - peer.center_of_mass(q)).max() <= TOLERANCE
    M = peer.mass_matrix(q)
    assert error(dynamics.mass_matrix(robot, q), M) <= TOLERANCE
    tau = peer.inverse_dynamics(q, v, a)
    assert error(dynamics.inverse_dynamics(robot, q, v, a), tau) <= TOLERANCE
    ours, theirs = dynamics.forward_dynamics(robot, q, v, tau), peer.forward_dynamics(q, v, tau)
    assert error(M @ ours, M @ theirs) <= TOLERANCE
    # Accelerations lose as many digits as the condition number of the mass matrix has.
    lost = 2e-16 * np.linalg.cond(M) if robot.nv else 0.0
    assert error(ours, theirs) <= max(TOLERANCE, lost)
    kinetic, potential = peer.energies(q, v)
    armature = 0.5 * robot.tree.dofs.armature @ v**2
    assert dynamics.kinetic_energy(robot, q, v) == pytest.approx(kinetic + armature, rel=TOLERANCE)
    springs = dynamics.potential_energy(robot.replace(gravity=(0, 0, 0)), q)
    assert dynamics.potential_energy(robot, q) - springs == pytest.approx(potential, rel=TOLERANCE, abs=1e-9)


@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: entry.name)
def test_robots_of_the_catalogue(entry):
    robot = entry.build()
    peer = PinocchioModel(robot)
    rng = np.random.default_rng(1)
    check(robot, peer, entry.home(), rng)
    check(robot, peer, robot.random_configuration(rng), rng)


def urdf_files():
    """Paths within the package, or none where it is not installed."""
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return []
    return sorted(str(file) for file in files if file.suffix == ".urdf")


# Files that we refuse, and why. Pinocchio refuses the first two as well; for the others its mass matrix is
# singular (massless links) or it does not look at what is wrong (a mimic of a joint that does not exist).
REFUSED = {
    "falcon.urdf": "child link 'Z_propeller' does not exist",
    "ur3.urdf": "has no <link>",
    "alex_psyonic_hands.urdf": "mimics joint 'index_q1', which does not exist",
    "bluevolta_bravo7_gripper.urdf": "'bravo_finger2_joint' moves it, but neither it",
    "bravo7_gripper.urdf": "'bravo_finger2_joint' moves it, but neither it",
    "falcon_bravo7_gripper.urdf": "'bravo_finger2_joint' moves it, but neither it",
}

MENDED = ("romeo.urdf", "romeo_laas_small.urdf", "icub.urdf", "human.urdf")
"""Files with joints that move bodies without inertia, which get a ball's: they are not Pinocchio's robots any more."""

UR = ("robot", "gripper", "joint_limited_robot")
STANDING = ("TwoDofs", "xarm7", "z1", *(f"ur{n}_{kind}" for n in (3, 5, 10) for kind in UR))
ROOTED = dict.fromkeys((f"{name}.urdf" for name in STANDING), "the root link is the world, so it cannot float")


@pytest.mark.skipif(not urdf_files(), reason=f"{PACKAGE} is not installed")
def test_documentation_says_how_many_files_are_checked():
    if not metadata.version(PACKAGE).startswith("6.0"):
        pytest.skip("the documentation speaks of release 6.0")
    names = [Path(file).name for file in urdf_files()]
    refused, mended = (sum(name in group for name in names) for group in (REFUSED, MENDED))
    text = " ".join((Path(__file__).parents[2] / "docs" / "index.md").read_text("utf-8").split())
    assert f"on {len(names) - refused - mended} of the {len(names)} URDF files" in text
    assert (refused, mended) == (2, 4)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.skipif(not urdf_files(), reason=f"{PACKAGE} is not installed")
@pytest.mark.parametrize("file", urdf_files(), ids=lambda file: Path(file).stem)
@pytest.mark.parametrize("floating_base", [False, True], ids=["fixed", "floating"])
def test_urdf_files(file, floating_base):
    path = Path(str(metadata.distribution(PACKAGE).locate_file(file)))
    # Half of these files hold inertias that no real body has, which only strict reading refuses.
    options = {"floating_base": floating_base, "meshes": False, "strict": False}
    refusal = REFUSED.get(path.name) or (floating_base and ROOTED.get(path.name))
    if refusal:
        with pytest.raises(la.FormatError, match=refusal):
            la.load(path, **options)
        return
    if path.name in MENDED:
        with pytest.warns(la.LeastActionWarning, match="inertia"):
            la.load(path, **options)
        return
    robot = la.load(path, **options)
    peer = PinocchioModel.from_urdf(path, robot, floating_base=floating_base)
    rng = np.random.default_rng(1)
    check(robot, peer, robot.neutral(), rng)
    check(robot, peer, robot.random_configuration(rng), rng)
