"""Every robot of the zoo: it builds, its loops close, its start is sensible, the list tells the truth."""

import pickle
import types

import numpy as np
import pytest

from leastaction import MechanismError, dynamics, robots
from leastaction.robots import Entry
from tests.robots.kinematics import loop_jacobian, loop_residual, poses, rank

ENTRIES = {entry.name: entry for entry in robots.catalogue()}
LEGGED = ("spring_flamingo", "littledog", "atlas", "nao", "unitree_a1", "minitaur")
every_robot = pytest.mark.parametrize("name", ENTRIES)


def test_the_list_holds_every_robot_of_the_package():
    functions = {name for name in robots.__all__ if isinstance(getattr(robots, name), types.FunctionType)}
    assert set(ENTRIES) == functions - {"catalogue", "decompose", "get", "holding_controls", "home", "on_ground"}
    assert len(ENTRIES) == len(robots.catalogue())


@every_robot
def test_a_robot_is_named_as_its_function_and_documented(name):
    entry = ENTRIES[name]
    assert entry.robot.name == name
    assert entry.build is getattr(robots, name)
    assert entry.build.__doc__
    assert entry.origin
    assert "\n" not in entry.origin


@every_robot
def test_building_twice_gives_equal_robots(name):
    first, second = ENTRIES[name].build(), ENTRIES[name].build()
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == first


@every_robot
def test_loops_are_closed_at_the_start_and_at_zero(name):
    entry = ENTRIES[name]
    for q in (entry.home(), entry.robot.neutral()):
        assert np.abs(loop_residual(entry.robot, q)).max(initial=0.0) < 1e-12


@every_robot
def test_degrees_of_freedom_are_those_that_the_loops_leave(name):
    entry = ENTRIES[name]
    robot = entry.robot
    lost = rank(loop_jacobian(robot, entry.home())) if robot.loops else 0
    assert entry.dof == robot.nv - lost


@every_robot
def test_the_start_velocity_keeps_the_loops_closed(name):
    entry = ENTRIES[name]
    v = entry.home_velocity()
    assert v.shape == (entry.robot.nv,)
    if entry.robot.loops:
        assert np.abs(loop_jacobian(entry.robot, entry.home()) @ v).max() < 1e-9


@every_robot
def test_the_start_is_a_configuration_within_the_limits(name):
    robot, q = ENTRIES[name].robot, ENTRIES[name].home()
    assert q.shape == (robot.nq,)
    np.testing.assert_allclose(robot.normalize(q), q, atol=1e-15)
    i = 0
    for joint in robot.joints:
        if joint.nq == joint.nv:  # balls and free joints have no limits
            part = q[i : i + joint.nq]
            assert np.all(part >= joint.lower), joint.name
            assert np.all(part <= joint.upper), joint.name
        i += joint.nq


@every_robot
def test_the_mass_matrix_at_the_start_is_regular(name):
    M = dynamics.mass_matrix(ENTRIES[name].robot, ENTRIES[name].home())
    eigenvalues = np.linalg.eigvalsh(M)
    assert eigenvalues[0] > 1e-8 * eigenvalues[-1]


@every_robot
def test_the_compiled_kinematics_agree_with_the_definition_of_the_joints(name):
    robot = ENTRIES[name].robot
    q = robot.random_configuration(1)
    expected = poses(robot, q)
    for body, X in zip(robot.body_names, dynamics.body_poses(robot, q), strict=True):
        np.testing.assert_allclose(X, expected[body], atol=1e-13)


@every_robot
def test_every_body_has_something_to_show(name):
    for body in ENTRIES[name].robot.bodies:
        assert any(shape.visual for shape in body.shapes), body.name


@pytest.mark.parametrize("name", LEGGED)
def test_feet_stand_on_the_ground(name):
    robot, X = ENTRIES[name].robot, poses(ENTRIES[name].robot, ENTRIES[name].home())
    heights = [(X[c.body] @ np.array([*c.point, 1.0]))[2] - c.radius for c in robot.contacts]
    np.testing.assert_allclose(heights, 0.0, atol=1e-9)
    assert all(c.friction > 0.0 for c in robot.contacts)


@pytest.mark.parametrize("name", LEGGED)
def test_legged_robots_stand_over_their_feet(name):
    robot, q = ENTRIES[name].robot, ENTRIES[name].home()
    X = poses(robot, q)
    feet = np.array([(X[c.body] @ np.array([*c.point, 1.0]))[:2] for c in robot.contacts])
    com = dynamics.center_of_mass(robot, q)[:2]
    assert np.all(com >= feet.min(axis=0))
    assert np.all(com <= feet.max(axis=0))


@pytest.mark.parametrize("name", LEGGED)
def test_the_ground_is_added_on_request(name):
    assert not ENTRIES[name].robot.ground
    assert [shape.kind for shape in robots.get(name, ground=True).ground] == ["plane"]


@pytest.mark.parametrize("name", ["atlas", "nao", "littledog", "unitree_a1", "humanoid_tree"])
def test_all_joints_are_driven_but_not_the_base(name):
    robot = ENTRIES[name].robot
    driven = {actuator.coordinate for actuator in robot.actuators}
    assert driven == {n for n in robot.velocity_names if not n.startswith("base.")}


@pytest.mark.parametrize("name", ["atlas", "nao", "littledog", "unitree_a1", "minitaur", "humanoid_tree"])
def test_a_welded_base_leaves_the_joints(name):
    floating, welded = ENTRIES[name].robot, robots.get(name, floating=False)
    assert welded.nv == floating.nv - 6
    assert welded.coordinate_names == floating.coordinate_names[7:]
    np.testing.assert_array_equal(robots.home(welded), robots.home(name)[7:])


def test_robots_are_built_when_something_asks():
    built = []
    entry = Entry("toy", lambda: built.append(1) or robots.pendulum(), "here")
    assert not built
    assert entry.mass == 1.0
    assert entry.dof == 1
    assert built == [1]


def test_get_finds_by_name_and_passes_parameters():
    assert robots.get("atlas") is robots.get("atlas")
    assert robots.get("pendulum", links=3) == robots.pendulum(links=3)


@pytest.mark.parametrize("ask", [robots.get, robots.home])
def test_an_unknown_name_gets_a_hint(ask):
    with pytest.raises(MechanismError, match=r"unknown robot 'atals'; did you mean 'atlas'\?"):
        ask("atals")
    with pytest.raises(MechanismError, match="known robots: pendulum"):
        ask("zzzzzz")


def test_home_follows_the_parameters():
    big = robots.cube(edge=2.0)
    assert robots.home(big)[2] == 1.0
    chain = robots.sphere_chain(3, radius=0.1)
    assert robots.home(chain)[2] == 0.1
    assert robots.home("cube")[2] == 0.25
    for name in ("cube", "sphere_chain"):  # one home: that in which a run starts
        robot = robots.get(name)
        assert np.array_equal(robots.home(robot), robot.home())
        assert np.allclose(robots.on_ground(robot), robot.home(), atol=1e-12)
