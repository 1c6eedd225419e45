"""A mechanism is a value: immutable, comparable, hashable, edited by copies, printed, pickled."""

import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

from leastaction import MechanismError, dynamics, robots
from leastaction.mechanism import Body, Box, Coupling, HeightField, Inertia, MechanismBuilder, Mesh, Plane, Pose, Sphere


def everything():
    """A small mechanism with one of each element."""
    b = MechanismBuilder("everything", gravity=(0, 0, -1.62))
    b.body("base", mass=3.0, inertia=(1, 1, 1), shapes=Box((1, 1, 1)))
    b.free("base")
    b.body("arm", mass=1.0, com=(0, 0, 0.5), inertia=0.1, shapes=[Sphere(0.1), Mesh(np.eye(4)[:, :3] * 0.1)])
    b.revolute("shoulder", "base", "arm", axis="y", limits=(-1, 1), damping=0.1)
    b.body("hand", mass=0.5, inertia=0.01)
    b.prismatic("wrist", "arm", "hand", axis="z", position=(0, 0, 1), stiffness=10.0, rest=0.1)
    b.revolute("grip", "base", "hand", axis="y", position=(0, 0, 1), loop=True)
    b.coupling("gear", "wrist", "shoulder", ratio=0.5)
    b.spring("spring", "base", ("hand", (0, 0, 0.1)), stiffness=5.0)
    b.cable("cable", ["world", "arm", "hand"], stiffness=1.0, rest_length=2.0)
    b.actuator("motor", "shoulder", gear=2.0, limits=(-1, 1))
    b.thruster("jet", "base", (0, 0, 0, 0, 0, 1))
    b.wrench("wind", "arm", (0, 0, 0, 1, 0, 0))
    b.contact("foot", "base", (0, 0, -0.5), radius=0.1, friction=0.5)
    b.add_shape("world", Plane(name="floor"))
    b.add_shape("world", HeightField(np.zeros((2, 2)), 1.0, name="hills"))
    return b.build()


def test_attributes_cannot_be_set():
    robot = everything()
    for thing, name in (
        (robot, "gravity"),
        (robot.bodies[0], "name"),
        (robot.joints[0], "kind"),
        (robot.bodies[0].inertia, "mass"),
        (robot.springs[0], "stiffness"),
        (robot.contacts[0], "friction"),
        (robot.bodies[0].shapes[0], "size"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 1.0)


def test_arrays_inside_cannot_be_written():
    robot = everything()
    mesh = robot.bodies[1].shapes[1]
    for array in (mesh.vertices, mesh.faces, robot.ground[1].heights):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 7


def test_arrays_that_were_passed_in_stay_the_callers():
    corners = np.eye(4)[:, :3].copy()
    mesh = Mesh(corners)
    corners[0, 0] = 99.0
    assert mesh.vertices[0, 0] == 1.0


def test_neutral_is_a_fresh_array_every_time():
    robot = everything()
    robot.neutral()[:] = 5.0
    np.testing.assert_array_equal(robot.neutral()[:3], 0.0)


def test_equal_descriptions_are_equal_and_hash_alike():
    first, second = everything(), everything()
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second}) == 1
    assert first != first.replace(gravity=(0, 0, 0))
    assert first != first.replace(name="other")


def test_every_part_takes_part_in_equality():
    robot = everything()
    for name in ("couplings", "springs", "cables", "actuators", "wrenches", "contacts", "ground"):
        assert robot.replace(**{name: ()}) != robot, name


def test_pickles_keep_everything():
    robot = everything()
    _ = robot.tree, hash(robot)  # caches do not travel
    copy = pickle.loads(pickle.dumps(robot))
    assert copy == robot
    assert hash(copy) == hash(robot)
    assert copy.coordinate_names == robot.coordinate_names
    with pytest.raises(ValueError, match="read-only"):
        copy.bodies[1].shapes[1].vertices[0, 0] = 7


def test_pickles_work_between_processes():
    """Hashes of strings differ between processes, so a pickled hash must not be trusted."""
    code = "import pickle, sys; from leastaction import robots; r = robots.four_bar(); hash(r); "
    code += "sys.stdout.buffer.write(pickle.dumps(r))"
    dump = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout
    other = pickle.loads(dump)
    assert other == robots.four_bar()
    assert hash(other) == hash(robots.four_bar())


def test_edit_gives_a_changed_copy():
    robot = everything()
    b = robot.edit()
    b.body("tool", mass=0.1, inertia=0.001)
    b.fixed("weld", "hand", "tool")
    longer = b.build()
    assert longer.body_names == (*robot.body_names, "tool")
    assert "tool" not in robot.body_names
    assert robot.edit().build() == robot


def test_edit_can_take_parts_away():
    b = everything().edit()
    for name in ("gear", "spring", "cable", "motor", "jet", "wind", "foot", "grip"):
        b.remove(name)
    robot = b.build()
    for kind in ("couplings", "springs", "cables", "actuators", "wrenches", "contacts", "loops"):
        assert getattr(robot, kind) == (), kind
    assert robot.nu == robot.nv
    b.remove("hand")
    with pytest.raises(MechanismError, match="joint 'wrist': unknown child body 'hand'"):
        b.build()


def test_a_motor_with_the_name_of_its_joint_is_removed_alone():
    robot = robots.unitree_a1()
    assert robot.actuators[0].name in robot.joint_names
    b = robot.edit()
    with pytest.raises(MechanismError, match=r"joint and actuator are called .* kind='joint' or kind='actuator', or"):
        b.remove(robot.actuators[0].name)
    assert b.build() == robot
    for actuator in robot.actuators:
        b.remove(actuator.name, kind="actuator")
    assert b.build() == robot.replace(actuators=())
    with pytest.raises(MechanismError, match=r"no actuator is called .* \(a joint is\)"):
        b.remove(robot.actuators[0].name, kind="actuator")


def test_replace_swaps_attributes_and_checks_again():
    robot = everything()
    assert robot.replace(gravity=[0, 0, -9.81]).gravity == (0.0, 0.0, -9.81)
    with pytest.raises(MechanismError, match="a mechanism has no attribute 'gravitation'"):
        robot.replace(gravitation=0)
    with pytest.raises(MechanismError, match="gravity: expected 3 numbers"):
        robot.replace(gravity=9.81)
    light = tuple(Body(b.name, Inertia(), b.shapes) for b in robot.bodies)
    with pytest.raises(MechanismError, match="neither it nor anything it carries has mass"):
        robot.replace(bodies=light)


def test_summary_names_everything():
    text = everything().summary()
    assert text.splitlines()[0] == "everything: 3 bodies, 4.5 kg, nq 9, nv 8, nu 2"
    for words in (
        "└─ base  [free 'base_free', 3 kg]",
        "   └─ arm  [revolute 'shoulder', 1 kg]",
        "      └─ hand  [prismatic 'wrist', 0.5 kg]",
        "loop 'grip': revolute from base to hand",
        "coupling 'gear': wrist",
        "spring 'spring': base to hand, 5 N/m",
        "cable 'cable': world - arm - hand",
        "actuators: motor, jet",
        "external wrench 'wind' on arm",
        "contact points: foot",
        "ground: floor, hills",
    ):
        assert words in text
    assert str(everything()) == text
    assert repr(everything()) == "<Mechanism 'everything': 3 bodies, nq 9, nv 8, 1 loops>"


def test_summary_draws_branches():
    text = robots.four_bar().summary().splitlines()
    assert text[1:5] == [
        "world",
        "├─ crank  [revolute 'crank_joint', 1 kg]",
        "│  └─ coupler  [revolute 'coupler_joint', 2 kg]",
        "└─ rocker  [revolute 'rocker_joint', 1 kg]",
    ]


def test_names_lead_to_indices():
    robot = everything()
    assert robot.body_index("world") == -1
    assert [robot.body_index(name) for name in robot.body_names] == [0, 1, 2]
    assert robot.coordinate_index("wrist") == 8
    assert robot.velocity_index("wrist") == 7
    assert robot.joint("grip").loop
    for ask, message in (
        (robot.body_index, "unknown body 'shuolder'"),
        (robot.joint, "unknown joint 'shuolder' in 'everything'; did you mean 'shoulder'"),
        (robot.coordinate_index, "unknown coordinate 'shuolder'; did you mean 'shoulder'"),
        (robot.velocity_index, "unknown degree of freedom 'shuolder'; did you mean 'shoulder'"),
    ):
        with pytest.raises(MechanismError, match=message):
            ask("shuolder")


def test_controls_are_the_actuators_or_all_degrees_of_freedom():
    robot = everything()
    assert robot.nu == 2
    np.testing.assert_array_equal(robot.generalized_forces([3.0, 0.0], robot.neutral()), [0] * 6 + [6.0, 0.0])
    plain = robots.pendulum(3)
    np.testing.assert_array_equal(plain.generalized_forces([1, 2, 3]), [1, 2, 3])
    with pytest.raises(MechanismError, match="u: expected shape"):
        robot.generalized_forces([1.0])


def test_a_pose_of_a_body_frame_may_be_anywhere_in_the_joint():
    """child_pose moves the body's frame, not the joint."""
    b = MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0)
    b.revolute("j", "world", "a", axis="z", child_pose=Pose((1, 0, 0)))
    X = dynamics.body_poses(b.build(), [np.pi / 2])[0]
    np.testing.assert_allclose(X[:3, 3], [0, 1, 0], atol=1e-15)


def test_couplings_are_told_as_formulas():
    b = MechanismBuilder("train")
    for name in "abcd":
        b.body(name, mass=1.0, inertia=0.1)
        b.revolute(f"j{name}", "world", name)
    b.coupling("same", "jb", "ja")
    b.coupling("gear", "jc", "ja", ratio=-2.5, offset=0.1)
    b.add(Coupling("cam", "jd", "ja", (0.0, -1.0, 0.0, 2.0)))
    told = b.build().summary()
    for words in ("'same': jb = ja\n", "'gear': jc = 0.1 - 2.5 ja\n", "'cam': jd = -ja + 2 ja^3"):
        assert words in told + "\n"


def test_controls_in_place_of_forces_are_told_apart():
    cart = robots.cart_pole()
    with pytest.raises(MechanismError, match=r"u: expected 2 forces.*generalized_forces\(controls, q\)"):
        dynamics.forward_dynamics(cart, [0.0, 0.0], [0.0, 0.0], [1.0])
