"""Runs on disk: everything comes back, and reading a file runs no code."""

import json
import pickle
import zipfile

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Pose, Sphere
from leastaction.mechanism.text.codec import from_json, to_json
from tests.oracles.random_trees import KINDS, random_state, random_tree


def with_everything():
    """A mechanism with every kind of part."""
    b = random_tree(5, 6, ("revolute",), branching=0.0, damping=0.1, stiffness=2.0).edit()
    b.body(
        "case",
        mass=1.0,
        inertia=0.1,
        shapes=[Box((1, 2, 3)), Sphere(0.1, pose=Pose((1, 0, 0))), Capsule(0.1, 1.0)],
    )
    b.revolute("lid", "body5", "case", limits=(-1, 2), effort_limit=5.0, friction=0.2, velocity_limit=3.0)
    tetrahedron = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    b.add_shape("case", Mesh(tetrahedron, file="a.stl"))
    b.add_shape("case", Cylinder(0.1, 0.2))
    b.add_shape("world", Plane(name="floor"))
    b.add_shape("world", HeightField(np.arange(6.0).reshape(2, 3), 0.5))
    b.joint("closure", "spherical", "world", "case", loop=True)
    b.coupling("gears", "joint1", "joint0", ratio=-2.0, offset=0.1)
    b.spring("spring", "world", ("case", (1, 2, 3)), stiffness=1.0, rest_length=0.5, damping=0.2)
    b.cable("cable", ["world", "body3", ("case", (0, 0, 1))], stiffness=5.0, rest_length=1.0)
    b.actuator("motor", "joint2", gear=3.0, limits=(-1, 1))
    b.thruster("thruster", "case", (0, 0, 0, 1, 2, 3))
    b.wrench("wind", "case", (1, 2, 3, 4, 5, 6), frame="body")
    b.contact("foot", "case", (0, 0, -1), radius=0.1, friction=0.8, restitution=0.3)
    return b.build()


@pytest.mark.parametrize("robot", [with_everything(), *(random_tree(k, 4, KINDS) for k in range(4))], ids=str)
def test_mechanism_as_json(robot):
    """Through JSON text and back it is equal, part by part."""
    again = from_json(json.loads(json.dumps(to_json(robot))))
    assert again == robot
    assert again.summary() == robot.summary()
    assert hash(again) == hash(robot)


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load(kind, tmp_path):
    robot = random_tree(2, 3, ("revolute", kind), branching=0.0)
    run = la.simulate(robot, *random_state(robot, 1), dt=0.01, steps=5, start=1.0, integrator=la.RungeKutta())
    path = run.save(tmp_path / "run")
    assert path == tmp_path / "run.npz"
    assert list(tmp_path.iterdir()) == [path]
    again = la.Trajectory.load(path)
    assert again.mechanism == robot
    assert again.dt == run.dt
    for name in ("t", "q", "v", "p", "energy", "momentum"):
        assert (getattr(again, name) == getattr(run, name)).all(), name


def test_saving_replaces_a_file_at_once(tmp_path):
    robot = random_tree(2, 2)
    short, long = (la.simulate(robot, steps=n, integrator=la.RungeKutta()) for n in (2, 9))
    path = short.save(str(tmp_path / "run.npz"))
    long.save(path)
    assert la.Trajectory.load(path).steps == 9
    assert list(tmp_path.iterdir()) == [path]


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_reading_runs_no_code(tmp_path):
    robot = random_tree(2, 2)
    run = la.simulate(robot, steps=2, integrator=la.RungeKutta())
    bait = tmp_path / "bait"
    trap = np.array([Trap(bait)], dtype=object)
    np.savez(tmp_path / "trap.npz", t=run.t, q=trap, dt=run.dt, about=np.array("{}"))
    with pytest.raises(la.FormatError):
        la.Trajectory.load(tmp_path / "trap.npz")
    (tmp_path / "raw.npz").write_bytes(pickle.dumps(Trap(bait)))
    with pytest.raises(la.FormatError):
        la.Trajectory.load(tmp_path / "raw.npz")
    assert not bait.exists()
    with pytest.raises(la.FormatError, match="unknown part 'Path'"):
        from_json({"type": "Path", "args": ["/"]})


def damaged(path, how):
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("t,q\n0,1\n")
    elif how == "cut short":
        path.write_bytes(data[: len(data) // 2])
    elif how == "single array":
        with path.open("wb") as file:
            np.save(file, np.zeros(3))
    elif how == "other archive":
        np.savez(path, x=np.zeros(3))
    elif how == "zip of text":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.npy", "hello")
    elif how == "flipped bits":
        k = len(data) // 3
        path.write_bytes(data[:k] + bytes(255 - x for x in data[k : k + 200]) + data[k + 200 :])
    else:  # mechanism of another size
        with np.load(path) as archive:
            np.savez(path, **(dict(archive) | {"q": np.zeros((2, 99))}))


@pytest.mark.parametrize(
    "how",
    [
        "missing",
        "empty",
        "text",
        "cut short",
        "single array",
        "other archive",
        "zip of text",
        "flipped bits",
        "q",
    ],
)
def test_damaged_files_are_refused_by_name(how, tmp_path):
    run = la.simulate(random_tree(2, 2), steps=20, integrator=la.RungeKutta())
    path = run.save(tmp_path / "run.npz")
    damaged(path, how)
    with pytest.raises(la.FormatError, match=r"run\.npz"):
        la.Trajectory.load(path)


def test_arrays_that_are_one_are_written_once(tmp_path):
    """Rigid bodies of `Maximal` are the bodies themselves where nothing is welded."""
    robot = la.robots.pendulum(2)
    run = la.simulate(robot, q=[0.4, 0.1], dt=0.01, steps=3, integrator=la.Maximal())
    assert np.shares_memory(run.stored["poses"], run.stored["rigid_poses"])
    path = run.save(tmp_path / "run")
    with np.load(path) as data:
        assert "stored_poses" in data.files
        assert "stored_rigid_poses" not in data.files
    back = la.Trajectory.load(path)
    for name, values in run.stored.items():
        assert np.array_equal(back.stored[name], values), name
