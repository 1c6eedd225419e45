"""What each element of a URDF file means."""

import math
import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_urdf
from leastaction.mechanism import Box, Capsule, Coupling, Cylinder, Inertia, Pose, Sphere
from tests.formats.models import arm, joint, link, urdf, write


def read(tmp_path, text, **options):
    return load_urdf(write(tmp_path, text), **options)


@pytest.mark.parametrize(
    ("kind", "ours", "nq", "nv"),
    [
        ("fixed", "fixed", 0, 0),
        ("revolute", "revolute", 1, 1),
        ("continuous", "revolute", 1, 1),
        ("prismatic", "prismatic", 1, 1),
        ("planar", "planar", 3, 3),
        ("floating", "free", 7, 6),
        ("ball", "spherical", 4, 3),
        ("spherical", "spherical", 4, 3),
        ("planaraxis", "planar", 3, 3),
    ],
)
def test_joint_types(tmp_path, kind, ours, nq, nv):
    robot = read(tmp_path, arm(kind=kind))
    hinge = robot.joint("hinge")
    assert (hinge.kind, hinge.nq, hinge.nv, hinge.parent, hinge.child) == (ours, nq, nv, "base", "tip")


@pytest.mark.parametrize("before", ["\n\n", "<!--\n - Licence -->\n<!---->\n"])
def test_blank_lines_and_comments_before_the_declaration_and_zeros_at_the_end_do_no_harm(tmp_path, before):
    text = before + "<?xml version='1.0'?>\n" + arm(kind="revolute") + "\n\0"
    assert read(tmp_path, text).joint("hinge").kind == "revolute"
    broken = text.replace('type="revolute"', 'type="rolling"')
    with pytest.raises(la.FormatError, match="unknown joint type") as caught:
        read(tmp_path, broken)
    assert caught.value.line == 1 + broken[: broken.index('name="hinge"')].count("\n")


def test_the_joint_turns_about_its_axis_at_its_origin(tmp_path):
    """X_base_tip(q) = origin * rotation(axis, q), with the axis in the joint's frame."""
    inside = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
    robot = read(tmp_path, arm(inside))
    expected = Pose.from_rpy((1, 2, 3), (0.1, 0.2, 0.3)) * Pose.from_axis_angle("y", 0.7)
    pose = la.dynamics.body_poses(robot, [0.7])[robot.body_index("tip")]
    np.testing.assert_allclose(pose, expected.matrix, atol=1e-15)


def test_the_default_axis_is_x_and_axes_are_normalised(tmp_path):
    assert read(tmp_path, arm()).joint("hinge").primitives[0].axis == (1.0, 0.0, 0.0)
    axis = read(tmp_path, arm('<axis xyz="0 3 -4"/>')).joint("hinge").primitives[0].axis
    np.testing.assert_allclose(axis, (0.0, 0.6, -0.8), rtol=1e-15)


def test_a_planar_joint_slides_along_the_plane_and_turns_about_its_normal(tmp_path):
    slide1, slide2, turn = read(tmp_path, arm('<axis xyz="0 0 1"/>', kind="planar")).joint("hinge").primitives
    assert (slide1.axis, slide2.axis, turn.axis) == ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def test_limits_and_dynamics(tmp_path):
    inside = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="5" friction="6"/>'
    hinge = read(tmp_path, arm(inside, kind="revolute")).joint("hinge")
    assert (hinge.lower, hinge.upper) == ((-1.0,), (2.0,))
    assert (hinge.effort_limit, hinge.velocity_limit) == ((3.0,), (4.0,))
    assert (hinge.damping, hinge.friction) == ((5.0,), (6.0,))


def test_limits_without_effort_or_bounds(tmp_path):
    hinge = read(tmp_path, arm('<limit lower="-1" upper="2"/>', kind="revolute")).joint("hinge")
    assert (hinge.effort_limit, hinge.velocity_limit) == ((math.inf,), (math.inf,))
    hinge = read(tmp_path, arm('<limit effort="3"/>', kind="revolute")).joint("hinge")
    assert (hinge.lower, hinge.upper, hinge.effort_limit) == ((-math.inf,), (math.inf,), (3.0,))
    # The standard's default of a single bound that is missing is zero.
    hinge = read(tmp_path, arm('<limit upper="2"/>', kind="revolute")).joint("hinge")
    assert (hinge.lower, hinge.upper) == ((0.0,), (2.0,))


def test_continuous_joints_have_no_bounds(tmp_path):
    hinge = read(tmp_path, arm('<limit lower="-1" upper="2" effort="3"/>')).joint("hinge")
    assert (hinge.lower, hinge.upper, hinge.effort_limit) == ((-math.inf,), (math.inf,), (3.0,))


def test_springs_and_armature(tmp_path):
    inside = '<dynamics damping="1" spring_stiffness="2" spring_reference="3" armature="4"/>'
    hinge = read(tmp_path, arm(inside)).joint("hinge")
    assert (hinge.stiffness, hinge.rest, hinge.armature) == ((2.0,), (3.0,), (4.0,))


def test_one_damping_serves_all_axes(tmp_path):
    assert read(tmp_path, arm('<dynamics damping="2"/>', kind="planar")).joint("hinge").damping == (2, 2, 2)
    assert read(tmp_path, arm('<dynamics damping="1 2 3"/>', kind="ball")).joint("hinge").damping == (1, 2, 3)


def test_the_old_name_of_dynamics(tmp_path):
    assert read(tmp_path, arm('<joint_properties damping="2"/>')).joint("hinge").damping == (2.0,)


def test_mimic_becomes_a_coupling(tmp_path):
    robot = read(
        tmp_path,
        urdf(
            *(link(name) for name in "abc"),
            joint("second", "prismatic", "b", "c", '<mimic joint="first" multiplier="-2" offset="0.5"/>'),
            joint("first", "continuous", "a", "b"),
        ),
    )
    assert robot.couplings == (Coupling("second_mimic", "second", "first", (0.5, -2.0)),)


def test_mimics_of_fixed_joints_are_left_out(tmp_path):
    with pytest.warns(UserWarning, match="mimics of fixed joints: hinge"):
        robot = read(tmp_path, arm('<mimic joint="hinge"/>', kind="fixed"))
    assert robot.couplings == ()


def test_inertia_is_turned_into_the_link_frame(tmp_path):
    """The tensor is given in the inertial frame: I_link = R I R'."""
    inertial = (
        '<inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial>'
    )
    body = read(tmp_path, urdf(link("a", inertial, mass=None))).bodies[0]
    assert (body.inertia.mass, body.inertia.com) == (2.0, (1.0, 2.0, 3.0))
    np.testing.assert_allclose(body.inertia.matrix, np.diag([2.0, 1.0, 2.5]), atol=1e-15)


def test_off_diagonal_moments_may_be_missing(tmp_path):
    inertial = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    robot = read(tmp_path, urdf(link("a", inertial, mass=None)))
    assert robot.bodies[0].inertia == Inertia(2.0, (0, 0, 0), 1.0)


# ---------------------------------------------------------------------- the root


def test_the_root_is_welded_to_the_world(tmp_path):
    robot = read(tmp_path, arm())
    assert (robot.joints[0].name, robot.joints[0].kind, robot.joints[0].parent) == (
        "base_fixed",
        "fixed",
        "world",
    )
    assert robot.total_mass == 2.0


def test_a_floating_base_adds_a_free_joint(tmp_path):
    robot = read(tmp_path, arm(), floating_base=True)
    assert (robot.joints[0].name, robot.joints[0].kind) == ("base_free", "free")
    assert (robot.nq, robot.nv) == (8, 7)


def test_a_root_called_world_is_the_world(tmp_path):
    shape = '<collision><geometry><box size="1 1 1"/></geometry></collision>'
    robot = read(tmp_path, urdf(link("world", shape, mass=None), link("a"), joint("j", "floating", "world", "a")))
    assert robot.body_names == ("a",)
    assert [shape.kind for shape in robot.ground] == ["box"]


def test_a_world_that_only_joints_name_is_the_world(tmp_path):
    """As in files that are made for Drake."""
    parts = (link("a"), link("b"), joint("weld", "fixed", "world", "a"), joint("hinge", "continuous", "a", "b"))
    robot = read(tmp_path, urdf(*parts))
    assert (robot.joint_names, robot.joints[0].parent) == (("weld", "hinge"), "world")
    refused = write(tmp_path, urdf(*parts), "flying.urdf")
    with pytest.raises(la.FormatError, match="cannot float") as error:
        load_urdf(refused, floating_base=True)
    assert error.value.line == 4


def test_the_name_of_the_roots_joint_gives_way(tmp_path):
    robot = read(tmp_path, urdf(link("a"), link("b"), joint("a_fixed", "continuous", "a", "b")))
    assert robot.joint_names == ("a_fixed_", "a_fixed")


def test_joints_come_depth_first_in_the_order_of_the_file(tmp_path):
    robot = read(
        tmp_path,
        urdf(
            *(link(name) for name in "dcba"),
            joint("ac", "fixed", "a", "c"),
            joint("bd", "fixed", "b", "d"),
            joint("ab", "fixed", "a", "b"),
        ),
    )
    assert robot.body_names == ("a", "c", "b", "d")


def test_massless_links_are_fine_where_the_subtree_has_mass(tmp_path):
    chain = joint("ab", "continuous", "a", "b"), joint("bc", "continuous", "b", "c")
    assert read(tmp_path, urdf(link("a"), link("b", mass=None), link("c"), *chain)).nv == 2


def test_the_file_names_a_robot_without_a_name(tmp_path):
    assert load_urdf(write(tmp_path, '<robot><link name="a"/></robot>', "thing.urdf")).name == "thing"


# ---------------------------------------------------------------------- loops


def test_loop_joint(tmp_path):
    """link1 and link2 give the joint's frame in each link; at q = 0 a square closes exactly."""
    bars = [link(name) for name in ("base", "left", "top", "right")]
    axis = '<axis xyz="0 1 0"/>'
    loop = (
        '<loop_joint name="closing" type="continuous"><axis xyz="0 1 0"/><dynamics damping="2"/>'
        '<link1 link="top" xyz="1 0 0" rpy="0 0 0"/><link2 link="right" xyz="0 0 1"/></loop_joint>'
    )
    robot = read(
        tmp_path,
        urdf(
            *bars,
            joint("a", "continuous", "base", "left", axis),
            joint("b", "continuous", "left", "top", '<origin xyz="0 0 1"/>' + axis),
            joint("c", "continuous", "base", "right", '<origin xyz="1 0 0"/>' + axis),
            loop,
        ),
    )
    (closing,) = robot.loops
    assert (closing.name, closing.kind, closing.parent, closing.child) == (
        "closing",
        "revolute",
        "top",
        "right",
    )
    assert (closing.loop, closing.damping, closing.primitives[0].axis) == (True, (2.0,), (0.0, 1.0, 0.0))
    poses = dict(zip(robot.body_names, la.dynamics.body_poses(robot, [0.0, 0.0, 0.0]), strict=True))
    first = poses["top"] @ closing.pose.matrix
    second = poses["right"] @ closing.child_pose.inverse().matrix
    np.testing.assert_allclose(first, second, atol=1e-15)


def test_a_loop_may_start_at_the_world(tmp_path):
    loop = '<loop_joint name="l" type="ball"><link1 link="world" xyz="0 0 1"/><link2 link="tip"/></loop_joint>'
    robot = read(tmp_path, arm().replace("</robot>", loop + "</robot>"))
    assert (robot.loops[0].parent, robot.loops[0].kind) == ("world", "spherical")


# ---------------------------------------------------------------------- shapes


def shape(tag, geometry, extra="", attributes=""):
    return f"<{tag} {attributes}>{extra}<geometry>{geometry}</geometry></{tag}>"


@pytest.mark.parametrize(
    ("geometry", "expected"),
    [
        ('<box size="1 2 3"/>', Box((1, 2, 3))),
        ('<sphere radius="0.5"/>', Sphere(0.5)),
        ('<cylinder radius="0.5" length="2"/>', Cylinder(0.5, 2)),
        ('<capsule radius="0.5" length="2"/>', Capsule(0.5, 2)),
    ],
)
def test_solids(tmp_path, geometry, expected):
    robot = read(tmp_path, urdf(link("a", shape("visual", geometry) + shape("collision", geometry))))
    assert robot.bodies[0].shapes == (expected,)


def test_visual_and_collision_stay_apart_where_they_differ(tmp_path):
    box, moved = '<box size="1 1 1"/>', '<origin xyz="0 0 1"/>'
    inside = shape("visual", box, attributes='name="v"') + shape("collision", box, moved)
    visual, collision = read(tmp_path, urdf(link("a", inside))).bodies[0].shapes
    assert (visual.name, visual.visual, visual.collision) == ("v", True, False)
    assert (collision.pose.position, collision.visual, collision.collision) == ((0, 0, 1), False, True)


def test_friction_and_restitution_of_links_and_collisions(tmp_path):
    ball, other = '<sphere radius="1"/>', '<sphere radius="2"/>'
    whole = '<contact><lateral_friction value="0.8"/><restitution value="0.1"/></contact>'
    own = '<contact><lateral_friction value="0.3"/></contact>'
    inside = whole + shape("visual", ball) + shape("collision", ball, own) + shape("collision", other)
    shapes = read(tmp_path, urdf(link("a", inside))).bodies[0].shapes
    assert [(s.visual, s.friction, s.restitution) for s in shapes] == [(True, 0.3, 0.1), (False, 0.8, 0.1)]


def test_colours_by_name_and_inline(tmp_path):
    box = '<box size="1 1 1"/>'
    named, inline = '<material name="red"/>', '<material name=""><color rgba="0 1 0 0.5"/></material>'
    robot = read(
        tmp_path,
        urdf(
            link("a", shape("visual", box, named) + shape("visual", box, inline)),
            '<material name="red"><color rgba="1 0 0 1"/></material>',
        ),
    )
    assert [s.color for s in robot.bodies[0].shapes] == [(1, 0, 0, 1), (0, 1, 0, 0.5)]


def test_shapes_without_size_are_left_out(tmp_path):
    with pytest.warns(UserWarning, match="shapes without size: sphere in line 2"):
        robot = read(tmp_path, urdf(link("a", shape("visual", '<sphere radius="0"/>'))))
    assert robot.bodies[0].shapes == ()


# ---------------------------------------------------------------------- dialects


def test_namespaces_and_foreign_elements_do_not_matter(tmp_path):
    text = arm('<drake:x y="1"/><safety_controller k_velocity="1"/>').replace(
        '<robot name="robot">',
        '<robot name="dog" xmlns="http://drake.mit.edu" xmlns:drake="http://drake.mit.edu">'
        '<transmission type="SimpleTransmission"><joint name="hinge"/></transmission>'
        '<frame link="tip" name="f"/><gazebo reference="tip"><link name="tip"/></gazebo>',
    )
    assert read(tmp_path, text).nv == 1


def test_implausible_inertias_are_kept_with_a_warning_or_refused(tmp_path):
    text = urdf(link("a").replace('izz="0.1"', 'izz="0.9"'))
    with pytest.raises(la.FormatError, match="triangle inequality"):
        read(tmp_path, text, strict=True)
    with pytest.warns(la.LeastActionWarning, match="triangle inequality"):
        robot = read(tmp_path, text)
    assert robot.bodies[0].inertia.moments[5] == 0.9


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("moments", [(1e-6,) * 6, (-1e-20, 0, 0, 0, 0, 1e-20)])
def test_inertias_that_are_wrong_by_round_off_load_silently(tmp_path, strict, moments):
    """Files give frames without a body of their own such numbers; beside the robot's other moments they are nothing."""
    tiny = "".join(
        f'{name}="{x!r}" ' for name, x in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), moments, strict=True)
    )
    frame = f'<link name="frame"><inertial><mass value="1e-6"/><inertia {tiny}/></inertial></link>'
    text = urdf(link("a"), frame, joint("j", "fixed", "a", "frame"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(tmp_path, text, strict=strict)


def test_bodies_that_joints_move_without_inertia_get_that_of_a_ball(tmp_path):
    """One without mass, and a point mass on the axis; one beside it has inertia enough, and strict=True refuses."""
    nothing = '<mass value="0.5"/><inertia ixx="0" iyy="0" izz="0"/>'
    point = f'<link name="{{}}"><inertial><origin xyz="0 {{}} 0"/>{nothing}</inertial></link>'
    hinge = '<joint name="to_{0}" type="continuous"><parent link="base"/><child link="{0}"/><axis xyz="1 0 0"/></joint>'
    links = link("base") + '<link name="tip"/>' + point.format("bob", 0) + point.format("aside", 0.1)
    path = write(tmp_path, urdf(links, *(hinge.format(name) for name in ("tip", "bob", "aside"))), "robot.urdf")
    with pytest.warns(la.LeastActionWarning, match="joints move 'tip', 'bob', which have no inertia"):
        robot = load_urdf(path)
    tip, bob, aside = (robot.bodies[robot.body_index(name)].inertia for name in ("tip", "bob", "aside"))
    water = 4 / 3 * np.pi * 1000.0
    assert tip.mass == pytest.approx(water * 0.01**3)
    assert tip.moments[0] == pytest.approx(0.4 * tip.mass * 0.01**2)
    assert bob.mass == 0.5
    assert bob.moments[0] == pytest.approx(0.4 * 0.5 * (0.5 / water) ** (2 / 3))
    assert not any(aside.moments)
    with pytest.raises(la.FormatError, match="neither it nor anything it carries has mass"):
        load_urdf(path, strict=True)


def test_light_rods_beside_heavy_links_keep_their_inertia(tmp_path):
    """Little beside a link of tons, about the rod's own axis, but not for a rod of a gram."""
    body = '<link name="{}"><inertial><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}"/></inertial></link>'
    slab, rod = body.format("slab", 1e3, 1e3, 1e3, 1e3), body.format("rod", 1e-3, 8.3e-5, 8.3e-5, 1.7e-10)
    axis = '<joint name="{0}" type="continuous"><parent link="{1}"/><child link="{0}"/><axis xyz="0 0 1"/></joint>'
    joints = axis.format("slab", "base"), axis.format("rod", "slab")
    robot = read(tmp_path, urdf(link("base"), slab, rod, *joints))
    assert np.diag(robot.bodies[robot.body_index("rod")].inertia.matrix).tolist() == [8.3e-5, 8.3e-5, 1.7e-10]


@pytest.mark.parametrize("count", [1, 3])
def test_point_masses_get_moments_where_joints_would_have_nothing_to_turn(tmp_path, count):
    """One point mass on an arm is a pendulum and stays one; three hinges can turn one about the line to it."""
    point = '<link name="l{}"><inertial><origin xyz="{}"/><mass value="0.5"/>{}</inertial></link>'
    nothing = '<inertia ixx="0" iyy="0" izz="0"/>'
    links = [point.format(i, "0.2 0.1 0" if i == count - 1 else "0 0 0", nothing) for i in range(count)]
    axes = ["0 0 1", "0 1 0", "1 0 0"]
    joints = [
        joint(f"j{i}", "continuous", "base" if i == 0 else f"l{i - 1}", f"l{i}", f'<axis xyz="{axes[i]}"/>')
        for i in range(count)
    ]
    path = write(tmp_path, urdf(link("base"), *links, *joints), "robot.urdf")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        robot = load_urdf(path)
    moments = [body.inertia.matrix[0, 0] for body in robot.bodies[1:]]
    if count == 1:
        assert not said
        assert moments == [0.0]
    else:
        assert "'l0', 'l1', 'l2' have mass but no moments of inertia" in str(said[-1].message)
        np.testing.assert_allclose(moments, 0.4 * 0.5 * (0.75 * 0.5 / (np.pi * 1000.0)) ** (2 / 3))


@pytest.mark.parametrize(("upper", "locks"), [(1.2, False), (1.5707, True), (3.0, True)])
def test_gimbals_that_can_lock_get_inertia(tmp_path, upper, locks):
    """A hip of three hinges with links without mass between: at a right angle of the second, first and last line up."""
    axes = {"a": "0 0 1", "b": "1 0 0", "leg": "0 1 0"}
    limit = f'<limit lower="-1" upper="{upper}" effort="1" velocity="1"/>'
    joints, parent = [], "base"
    for child, axis in axes.items():
        joints.append(joint(f"to_{child}", "revolute", parent, child, f'<axis xyz="{axis}"/>{limit}'))
        parent = child
    path = write(tmp_path, urdf(link("base"), link("a", mass=None), link("b", mass=None), link("leg"), *joints))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        robot = load_urdf(path, floating_base=True)
    assert [body.inertia.mass > 0.0 for body in robot.bodies] == [True, locks, locks, True]
    assert ["in one line" in str(w.message) for w in said] == [True] * locks


def test_a_density_fills_what_collides(tmp_path):
    """Mass and inertia of a box and a ball of it; what is only seen weighs nothing."""
    shapes = [
        ("visual", '<box size="1 1 1"/>', "0 0 0"),
        ("collision", '<box size="0.1 0.2 0.3"/>', "0.5 0 0"),
        ("collision", '<sphere radius="0.1"/>', "0 0 0"),
    ]
    inside = "".join(f'<{t}><origin xyz="{xyz}"/><geometry>{g}</geometry></{t}>' for t, g, xyz in shapes)
    text = urdf(f'<link name="a">{inside}<inertial><density value="500"/></inertial></link>')
    inertia = read(tmp_path, text, floating_base=True).bodies[0].inertia
    parts = [Box((0.1, 0.2, 0.3), pose=Pose((0.5, 0, 0))), Sphere(0.1)]
    expected = Inertia.from_parts([(part.inertia(density=500.0), Pose()) for part in parts])
    assert inertia.mass == pytest.approx(500.0 * (0.006 + 4.0 / 3.0 * math.pi * 1e-3))
    np.testing.assert_allclose(inertia.com, expected.com)
    np.testing.assert_allclose(inertia.matrix, expected.matrix, atol=1e-15)
