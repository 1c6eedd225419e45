"""Shapes that overlap as a robot is made, or that cannot part, never touch; others that overlap are pushed apart."""

import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.penetration.penetration_messages import warn_of_overlap
from leastaction.maximal.contact.filtered_pairs import starts_apart
from leastaction.mechanism import Box, Capsule, Cylinder, MechanismBuilder, Plane, Pose, Sphere


def slider(height):
    """A box that slides along x over the plane z = 0."""
    b = MechanismBuilder("slider")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2), friction=0.5))
    b.prismatic("rail", "world", "box", pose=(0, 0, height), axis="x")
    b.add_shape("world", Plane())
    return b.build()


@pytest.mark.parametrize("height", [0.1, 0.0999])
def test_body_without_freedom_along_the_normal(height):
    """It slides as if there were no ground: what its joint bears is no matter of a contact."""
    robot = slider(height)
    if height < 0.1:
        with pytest.warns(la.LeastActionWarning, match="'world' and 'box' overlap, but their joints leave no way"):
            la.Maximal().prepare(robot, 0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", la.LeastActionWarning)
        run = la.simulate(robot, v=[1.0], dt=0.01, duration=0.2, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[:, 0], run.t, atol=1e-9)
    assert run.iterations.max() < 5


def press():
    """An arm of two links of 0.5 m that home stretches into a wall, 1 dm deep."""
    b = MechanismBuilder("press", gravity=(0, 0, 0))
    b.add_shape("world", Box((0.1, 2.0, 2.0), pose=(1.0, 0, 0)))
    b.body("upper", mass=1.0, inertia=0.03)
    b.revolute("shoulder", "world", "upper", axis="y")
    b.body("fore", mass=1.0, com=(0.25, 0, 0), inertia=0.03, shapes=Sphere(0.05, pose=(0.5, 0, 0)))
    b.revolute("elbow", "upper", "fore", axis="y", position=(0.5, 0, 0))
    return b


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded()])
def test_what_cannot_part_at_home_alone_touches(integrator, recwarn):
    """Nothing moves the tip of a stretched arm along it; wherever else the arm is, it must not go through the wall."""
    assert len(integrator.prepare(press().build(), 0.01).table.ground) == 1
    assert not [w for w in recwarn if "overlap" in str(w.message)]


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded()])
def test_pairs_that_always_touch_do(integrator):
    b = slider(0.0999).edit()
    b.contact_pair("box", "world", always=True)
    assert len(integrator.prepare(b.build(), 0.01).table.ground) == 1
    b = chain(0.12).edit()
    b.contact_pair("ball0", "ball2", always=True)
    table = integrator.prepare(b.build(), 0.01).table
    assert len(table.body_pairs()) == 1


def chain(radius):
    """Three balls on hinges 0.1 m apart, the first of which is fixed to nothing."""
    b = MechanismBuilder("chain", gravity=(0, 0, 0))
    for i in range(3):
        b.body(f"ball{i}", mass=1.0, inertia=0.01, shapes=Sphere(radius, friction=0.5))
    b.free("ball0")
    for i in (1, 2):
        b.revolute(f"hinge{i}", f"ball{i - 1}", f"ball{i}", pose=(0.1, 0, 0), axis="z")
    return b.build()


def test_links_that_overlap_as_the_robot_is_made():
    """The first and the third ball are in each other in every pose near home; they stay at rest."""
    with pytest.warns(la.LeastActionWarning, match="'ball0' and 'ball2' overlap as the robot is made"):
        run = la.simulate(chain(0.12), dt=0.01, duration=0.1, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[-1], run.q[0], atol=1e-12)


@pytest.mark.parametrize("axis", ["y", "z"])
def test_links_that_are_drawn_flush_lock_no_joint(axis, recwarn):
    """A box on a box, face to face: a hinge in the face could turn neither way; one along its normal can."""
    b = MechanismBuilder("flush")
    b.body("below", mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.free("below")
    b.body("between", mass=1.0, inertia=0.01)
    b.revolute("first", "below", "between", position=(0, 0, 0.1), axis=axis)
    b.body("above", mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.prismatic("second", "between", "above", position=(0, 0, 0.1), axis="z")
    table = la.Maximal().prepare(b.build(), 0.01).table
    told = [w for w in recwarn if "'below' and 'above' touch as the robot is made" in str(w.message)]
    assert (len(told), len(table.body_pairs())) == ((1, 0) if axis == "y" else (0, 1))


def test_rods_that_lie_on_each_other_and_turn_in_place_pass_each_other():
    """No joint moves either along the normal at home; aside of it the normal turns, but home has no way."""
    b = MechanismBuilder("rods")
    b.body("base", mass=1.0, inertia=0.01)
    b.free("base")
    lying = (0.0, 0.0, 0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    own = (("low", "base", 0.0, "z"), ("arm", "base", 0.1, "z"), ("high", "arm", -0.03999, "x"))
    for name, parent, height, axis in own:
        b.body(name, mass=1.0, inertia=0.01, shapes=[] if name == "arm" else [Cylinder(0.03, 0.2, pose=lying)])
        b.revolute(f"hinge of {name}", parent, name, position=(0, 0, height), axis=axis)
    assert len(la.Maximal().prepare(b.build(), 0.01).table.body_pairs()) == 0


@pytest.mark.parametrize(("angle", "touch"), [(0.0, 0), (5e-5, 0), (0.3, 1)])
def test_flat_legs_side_by_side_pass_each_other(angle, touch):
    """Four hinges about one axis but for a file's rounding, and legs in one plane that overlap by a hair."""
    b = MechanismBuilder("legs")
    b.body("base", mass=1.0, inertia=0.01)
    b.free("base")
    axis = (0.0, np.cos(angle), np.sin(angle))
    for side, x in (("left", -0.001), ("right", 0.001)):
        leg = Box((0.02, 0.01, 0.2), pose=(x, 0.5 * (0.01 - 4e-6) * np.sign(x), -0.1))
        b.body(f"{side} thigh", mass=0.1, inertia=1e-4)
        b.revolute(f"{side} hip", "base", f"{side} thigh", position=(0, 0, -0.1), axis=axis)
        b.body(f"{side} shin", mass=0.1, inertia=1e-4, shapes=[leg])
        b.revolute(f"{side} knee", f"{side} thigh", f"{side} shin", position=(0, 0, -0.2), axis=axis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", la.LeastActionWarning)
        assert len(la.Maximal().prepare(b.build(), 0.01).table.body_pairs()) == touch


def test_links_that_are_apart_touch(recwarn):
    robot = chain(0.08)
    run = la.simulate(robot, v={"hinge1": 1.0, "hinge2": 3.0}, dt=0.01, duration=1.5, integrator=la.Maximal())
    assert not [w for w in recwarn if "overlap" in str(w.message)]
    assert len(run.stored["contacts"])
    assert run.stored["contacts"][:, 9].min() > -1e-9


def test_what_is_fixed_to_a_fixed_body_is_one_with_it():
    """A leg on a hip that is fixed to a fixed trunk does not touch the trunk, as if trunk and hip were one body."""
    b = MechanismBuilder("leg")
    b.body("trunk", mass=1.0, shapes=Sphere(0.2))
    b.fixed("stand", "world", "trunk")
    b.body("hip", mass=1.0)
    b.fixed("mount", "trunk", "hip", pose=(0, 0, -0.1))
    b.body("leg", mass=1.0, com=(0, 0, -0.2), inertia=0.01, shapes=Sphere(0.1))
    b.revolute("swing", "hip", "leg", axis="y")
    run = la.simulate(b.build(), [0.5], dt=0.01, duration=0.2, integrator=la.Maximal())
    assert not len(run.stored["contacts"])


FOLDED = np.array([0.0, 0.5 * np.pi, 0.5 * np.pi, 0.5 * np.pi, 0.6])


def folded(limits=((-3.0, 3.0),) * 5, follows=False):
    """Rods on hinges about y, folded back until the ball of the last is 1 cm in that of the first."""
    b = MechanismBuilder("folded")
    for i in range(5):
        shapes = [Sphere(0.028, pose=(0.05, 0, 0))] if i in (0, 4) else []
        b.body(f"rod{i}", mass=1.0, com=(0.1, 0, 0), inertia=0.01, shapes=shapes)
    b.revolute("hinge0", "world", "rod0", axis="y")
    for i in range(1, 5):
        b.revolute(f"hinge{i}", f"rod{i - 1}", f"rod{i}", pose=(0.2, 0, 0), axis="y", limits=limits[i])
    if follows:
        b.coupling("gear", "hinge3", "hinge2")
    return b.build()


def between(robot, q):
    """Gap between the two balls [m]."""
    X = la.dynamics.body_poses(robot, q)[[0, 4]]
    return float(np.linalg.norm(np.diff((X @ [0.05, 0, 0, 1])[:, :3], axis=0))) - 0.056


def test_links_that_overlap_at_the_start_start_apart():
    """To push them apart would lift them: energy from nowhere."""
    robot = folded()
    assert -0.011 < between(robot, FOLDED) < -0.009
    with pytest.warns(
        la.LeastActionWarning, match="'rod0' and 'rod4' overlap at the start, by 0.0093 m.* joint 'hinge"
    ):
        run = la.simulate(robot, FOLDED, dt=0.01, duration=0.3, integrator=la.Maximal())
    assert 0.0 <= between(robot, run.q[0]) < 1e-4
    assert np.abs(run.q[0] - FOLDED).max() < 0.1
    assert (run.energy - run.energy[0]).max() < 1e-3 * run.kinetic_energy.max()
    assert min(between(robot, q) for q in run.q) > -1e-9


def test_joints_that_part_links_keep_limits_and_couplings():
    robot = folded(limits=[(-3.0, 0.5 * np.pi)] * 5)
    with pytest.warns(la.LeastActionWarning, match="overlap at the start"):
        q = la.Maximal().prepare(robot, 0.01).clear_start(FOLDED)
    assert between(robot, q) >= 0.0
    assert q.max() <= 0.5 * np.pi + 1e-12
    robot = folded(follows=True)
    with pytest.warns(la.LeastActionWarning, match="overlap at the start"):
        q = la.Maximal().prepare(robot, 0.01).clear_start(FOLDED)
    assert between(robot, q) >= 0.0
    assert q[3] == pytest.approx(q[2], abs=1e-9)


def test_links_start_apart_in_joint_coordinates_too():
    robot, starts = folded(limits=[(-3.0, 0.5 * np.pi)] * 5), []
    for integrator in (la.Maximal(), la.Grounded()):
        with pytest.warns(la.LeastActionWarning, match="'rod0' and 'rod4' overlap at the start, by 0.0093 m"):
            starts.append(integrator.prepare(robot, 0.01).clear_start(FOLDED))
    np.testing.assert_allclose(*starts, atol=1e-9)


def test_what_cannot_part_is_left_to_contacts(recwarn):
    """All hinges but the first are at their stops, which leave them no room to speak of."""
    robot = folded(limits=[(x - 1e-6, x + 1e-6) for x in FOLDED])
    np.testing.assert_array_equal(la.Maximal().prepare(robot, 0.01).clear_start(FOLDED), FOLDED)
    assert not recwarn


@pytest.mark.parametrize(("q", "enough"), [((0.0, 2.9, 3.0), 0.3), ((0.0, 2.6, 3.1), 0.2)])
def test_starts_move_by_as_little_as_it_takes(q, enough):
    """Links that cross in the plane that they move in: no joint moves them along the normal of their contact."""
    b = MechanismBuilder("arm")
    for i, length in enumerate((0.4, 0.4, 0.5)):
        half = 0.5 * length
        rod = Capsule(0.03, length, pose=Pose.from_axis_angle((0, 1, 0), 0.5 * np.pi, (half, 0, 0)))
        b.body(f"link{i}", mass=1.0, com=(half, 0, 0), inertia=length**2 / 12.0, shapes=rod)
        b.revolute(f"hinge{i}", f"link{i - 1}" if i else "world", f"link{i}", pose=(0.4 if i else 0, 0, 0), axis="y")
    robot = b.build()
    alone = np.array([0.0, 0.0, enough])
    with pytest.warns(la.LeastActionWarning, match="'link0' and 'link2' overlap at the start"):
        moved = la.Maximal().prepare(robot, 0.01).clear_start(np.array(q)) - q
    M = la.dynamics.mass_matrix(robot, np.array(q))
    assert 0.0 < moved @ M @ moved < alone @ M @ alone


def standing(point):
    """A leg with a contact point for a foot, on a slider along z."""
    b = MechanismBuilder("leg")
    b.add_shape("world", Plane())
    b.body("leg", mass=1.0, inertia=0.01)
    b.prismatic("lift", "world", "leg", axis="z")
    b.contact("toe", "leg", point=point)
    return b.build()


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Grounded()])
@pytest.mark.parametrize("point", [(0, 0, -0.3), (0, 0, 0)], ids=["foot", "mass point"])
def test_points_that_stand_on_the_ground_do_not_overlap_it(integrator, point, recwarn):
    """Points have no size that a rounding error could be compared with; what is deep is parted as ever."""
    stepper, level = integrator.prepare(standing(point), 0.01), -point[2]
    start = np.array([level - 5.6e-17])
    assert stepper.clear_start(start) is start
    warn_of_overlap(np.array([[0.0, -1, 0, 0, 0, 0, 0, 0, 1, -5.6e-17]]), ["leg", "world"], np.array([level]))
    assert not recwarn
    with pytest.warns(la.LeastActionWarning, match=r"overlap at the start, by 0.01 m.* joint 'lift' by 0.01 \[rad"):
        assert 0.0 <= stepper.clear_start(np.array([level - 0.01]))[0] - level < 1e-6


def test_a_slider_that_touches_by_a_rounding_error_is_not_named(recwarn):
    la.Maximal().prepare(slider(0.1 - 1e-16), 0.01)
    assert not recwarn


def test_a_stretched_arm_bends_to_leave_a_wall():
    """Nothing moves its tip along the wall's normal to first order."""
    robot = press().build()
    with pytest.warns(la.LeastActionWarning, match="'world' and 'fore' overlap at the start, by 0.1 m"):
        q = la.Maximal().prepare(robot, 0.01).clear_start(robot.home())
    tip = 0.5 * np.cos(q[0]) + 0.5 * np.cos(q.sum())
    assert 0.8999 < tip <= 0.9


def test_the_way_back_where_nothing_is_near():
    """A least squares problem without columns, on which the library that solves it crashes."""
    robot = chain(0.01)
    stepper = la.Maximal().prepare(robot, 0.01)
    search, gone = starts_apart(stepper.model, stepper.table), np.array([0.0] * 6 + [0.1, -0.2])
    np.testing.assert_array_equal(search.step(robot.home(), search.look(robot.home()), gone), -gone)


def gripper(overlap, opens):
    """Two fingers on a palm that are drawn side by side, each at the limit of its slide, which lets it open or not."""
    b = MechanismBuilder("gripper")
    b.body("palm", mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
    b.revolute("wrist", "world", "palm", axis="x")
    for name, side in (("left", 1.0), ("right", -1.0)):
        b.body(name, mass=0.03, shapes=Box((0.02, 0.01, 0.05)))
        limits = (0.0, 0.03) if opens else (-0.03, 0.0)
        at = (0, side * (0.005 - 0.5 * overlap), 0.1)
        b.prismatic(name, "palm", name, axis=(0, side, 0), position=at, limits=limits)
    return b.build()


@pytest.mark.parametrize("opens", [True, False])
def test_fingers_that_overlap_by_a_rounding_error_on_their_limits(opens, recwarn):
    """Where these let them get into each other alone, no solution would part them; fingers that open touch."""
    robot = gripper(3e-8, opens)
    assert len(la.Maximal().prepare(robot, 0.005).table.body_pairs()) == (1 if opens else 0)
    run = la.simulate(robot, dt=0.005, steps=40, integrator=la.Maximal())
    assert run.iterations.max() < 100
    assert opens != any("their joints leave no way" in str(w.message) for w in recwarn)
