"""What each element of an MJCF file becomes, and what is left out."""

import math
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_mjcf
from leastaction.mechanism import (
    Activation,
    Attachment,
    Box,
    Cable,
    Capsule,
    Cylinder,
    HeightField,
    JointActuator,
    Plane,
    Servo,
    Sphere,
)
from tests.formats.models import mjcf, write

pytest.importorskip("mujoco")

BODY = '<body name="a"><joint name="j" {}/><geom name="g" size="0.1"/></body>'
PAIR = '<pair geom1="g" geom2="h"/>'
TWO = '<body name="a">{}<geom size="0.1"/><body name="b" pos="1 0 0">{}<geom size="0.1"/></body></body>'


def read(tmp_path, text, **options):
    return load_mjcf(write(tmp_path, text, "model.xml"), **options)


def test_names_sizes_and_gravity(tmp_path):
    robot = read(tmp_path, mjcf(BODY.format(""), before='<option gravity="1 2 3"/>'))
    assert (robot.name, robot.body_names, robot.joint_names) == ("robot", ("a",), ("j",))
    assert robot.gravity == (1.0, 2.0, 3.0)
    assert load_mjcf(write(tmp_path, mjcf(BODY.format("")).replace(' model="robot"', ""), "x.xml")).name == "x"


def test_the_compiler_gives_bodies_their_mass(tmp_path):
    robot = read(tmp_path, mjcf(BODY.format("")))
    assert robot.total_mass == pytest.approx(1000 * 4 / 3 * math.pi * 0.1**3)
    assert robot.bodies[0].inertia.moments[0] == pytest.approx(0.4 * robot.total_mass * 0.01)


def test_joint_properties(tmp_path):
    attributes = (
        'range="-30 60" damping="1" frictionloss="2" armature="3" stiffness="4" springref="90" '
        'actuatorfrclimited="true" actuatorfrcrange="-5 6"'
    )
    (joint,) = read(tmp_path, mjcf(BODY.format(attributes))).joints
    np.testing.assert_allclose((*joint.lower, *joint.upper), np.radians([-30, 60]))
    assert (joint.damping, joint.friction, joint.armature, joint.stiffness) == ((1,), (2,), (3,), (4,))
    np.testing.assert_allclose(joint.rest, math.pi / 2)
    assert joint.effort_limit == (6.0,)


def test_made_up_names_avoid_given_ones(tmp_path):
    world = (
        '<body><freejoint/><geom size="0.1"/></body><body name="body1"><joint/><geom size="0.1"/></body>'
        '<body name="c"><geom size="0.1"/></body>'
        '<body name="d"><joint name="c_fixed"/><geom size="0.1"/></body>'
    )
    robot = read(tmp_path, mjcf(world))
    assert robot.body_names == ("body1_2", "body1", "c", "d")
    assert robot.joint_names == ("body1_2_free", "body1_joint", "c_fixed_2", "c_fixed")


def test_a_free_joint_has_mujocos_coordinates(tmp_path):
    """q is the pose in the world, as qpos is, wherever the file puts the body."""
    robot = read(tmp_path, mjcf('<body name="a" pos="1 2 3"><freejoint/><geom size="0.1"/></body>'))
    np.testing.assert_array_equal(la.dynamics.body_poses(robot, [4, 5, 6, 1, 0, 0, 0])[0, :3, 3], [4, 5, 6])


# ---------------------------------------------------------------------- geoms


def test_shapes(tmp_path):
    geoms = {
        Sphere: '<geom size="0.1" pos="1 2 3" rgba="1 0 0 1" group="3"/>',
        Capsule: '<geom type="capsule" size="0.1 0.2" contype="0" conaffinity="0"/>',
        Cylinder: '<geom type="cylinder" size="0.1 0.2" rgba="1 1 1 0"/>',
        Box: '<geom type="box" size="0.1 0.2 0.3" material="m"/>',
    }
    text = mjcf(
        f'<geom name="floor" type="plane" size="1 1 1"/><body name="a"><joint/>{"".join(geoms.values())}</body>',
        before='<asset><texture name="t" type="2d" file="none.png"/>'
        '<material name="m" rgba="0 0 1 1" texture="t"/></asset>',
    )
    robot = read(tmp_path, text)
    sphere, capsule, cylinder, box = robot.bodies[0].shapes
    assert (type(sphere), sphere.radius, sphere.pose.position) == (Sphere, 0.1, (1, 2, 3))
    assert (sphere.color, sphere.visual, sphere.collision) == ((1, 0, 0, 1), False, True)
    assert (type(capsule), capsule.radius, capsule.length, capsule.collision) == (Capsule, 0.1, 0.4, False)
    assert (type(cylinder), cylinder.radius, cylinder.length, cylinder.visual) == (Cylinder, 0.1, 0.4, False)
    assert (type(box), box.size, box.color) == (Box, (0.2, 0.4, 0.6), (0, 0, 1, 1))
    assert [(type(s), s.name) for s in robot.ground] == [(Plane, "floor")]


def test_meshes_become_shapes_at_the_same_place(tmp_path):
    """MuJoCo moves meshes to their centre of mass; vertices in the body's frame are those of the file."""
    corners = "0 0 0 1 0 0 0 1 0 0 0 1"
    text = mjcf(
        '<body name="a"><joint/><geom type="mesh" mesh="m" pos="1 2 3"/></body>',
        before=f'<asset><mesh name="m" vertex="{corners}"/></asset>',
    )
    (shape,) = read(tmp_path, text).bodies[0].shapes
    vertices = np.array([shape.pose.apply(x) for x in shape.vertices])
    expected = np.array(corners.split(), float).reshape(4, 3) + [1, 2, 3]
    assert sorted(vertices.round(5).tolist()) == sorted(expected.tolist())
    assert shape.volume() == pytest.approx(1 / 6, rel=1e-5)
    assert read(tmp_path, text, meshes=False).bodies[0].shapes == ()


def test_height_fields(tmp_path):
    text = mjcf(
        '<geom type="hfield" hfield="h"/>' + BODY.format(""),
        before='<asset><hfield name="h" nrow="2" ncol="3" size="2 1 0.5 1" elevation="0 1 2 3 4 5"/></asset>',
    )
    (ground,) = read(tmp_path, text).ground
    assert isinstance(ground, HeightField)
    assert ground.spacing == 2.0
    # MuJoCo scales elevations to [0, 1], here times 0.5 m; the first row in the file is the one at +y.
    np.testing.assert_allclose(ground.heights, [[0.3, 0.0], [0.4, 0.1], [0.5, 0.2]], atol=1e-7)


def test_spheres_and_capsules_that_collide_become_contact_points(tmp_path):
    world = (
        '<geom size="0.1"/><body name="a"><joint/><geom name="ball" size="0.1" pos="1 0 0" friction="0.7"/>'
        '<geom name="bar" type="capsule" size="0.1 0.5"/><geom type="box" size="1 1 1"/>'
        '<geom size="0.1" contype="0" conaffinity="0"/></body><body name="b"><geom size="0.1"/></body>'
    )
    robot = read(tmp_path, mjcf(world))
    points = [(c.name, c.body, c.point, c.radius, c.friction) for c in robot.contacts]
    assert points == [
        ("ball", "a", (1, 0, 0), 0.1, 0.7),
        ("bar", "a", (0, 0, -0.5), 0.1, 1.0),
        ("bar_2", "a", (0, 0, 0.5), 0.1, 1.0),
    ]
    assert [shape.friction for shape in robot.bodies[0].shapes] == [0.7, 1.0, 1.0, None]
    assert read(tmp_path, mjcf(world), contacts=False).contacts == ()


# ---------------------------------------------------------------------- actuators, tendons


def test_motor_limits_join_those_of_control_and_force(tmp_path):
    motors = (
        '<motor name="free" joint="j"/><motor name="ctrl" joint="j" ctrlrange="-1 2"/>'
        '<motor name="force" joint="j" forcerange="-3 4" gear="7"/>'
        '<general name="both" joint="j" ctrlrange="-1 2" forcerange="-20 3" gainprm="-10"/>'
    )
    robot = read(tmp_path, mjcf(BODY.format(""), f"<actuator>{motors}</actuator>"))
    limits = {a.name: (a.gear, a.lower, a.upper) for a in robot.actuators}
    inf = math.inf
    assert limits == {
        "free": (1, -inf, inf),
        "ctrl": (1, -1, 2),
        "force": (7, -3, 4),
        "both": (-10, -0.3, 2),
    }


def test_servos_keep_their_gains(tmp_path):
    servos = (
        '<position name="p" joint="j" kp="5" kv="0.5" gear="2" ctrlrange="-1 1" forcerange="-3 4"/>'
        '<velocity name="v" joint="j" kv="5"/>'
        '<position name="slow" joint="j" kp="7" timeconst="0.2"/>'
        '<intvelocity name="i" joint="j" kp="6" actrange="-1 2"/>'
        '<general name="g" joint="j" gainprm="3" biastype="affine" biasprm="1 -2 -0.1"/>'
        '<general name="f" joint="j" gainprm="3" dyntype="filter" dynprm="0.1"/>'
    )
    robot = read(tmp_path, mjcf(BODY.format(""), f"<actuator>{servos}</actuator>"))
    assert robot.actuators == (
        Servo("p", "j", 2.0, -1.0, 1.0, kp=5.0, kv=0.5, force_limits=(-3.0, 4.0)),
        Servo("v", "j", kv=5.0),
        Servo("slow", "j", kp=7.0, activation=Activation("filter", 0.2)),
        Servo("i", "j", kp=6.0, activation=Activation("integrator", 0.0, -1.0, 2.0)),
        Servo("g", "j", kp=2.0, kv=0.1, gain=3.0, rest=0.5),
        JointActuator("f", "j", 3.0, activation=Activation("filter", 0.1)),
    )


def test_limits_of_what_actuators_do_to_a_joint(tmp_path, recwarn):
    """`actuatorfrcrange` of the joint, after the gear (`test_mjcf_joint_forces.py`: of several actuators together)."""
    body = BODY.format('actuatorfrcrange="-4 6"')
    for actuator, expected in (
        ('<position name="p" joint="j" kp="5" gear="2"/>', (-2.0, 3.0)),
        ('<position name="p" joint="j" kp="5" gear="-2" forcerange="-1 9"/>', (-1.0, 2.0)),
    ):
        robot = read(tmp_path, mjcf(body, f"<actuator>{actuator}</actuator>"))
        assert robot.actuators[0].force_limits == expected
    motor = read(tmp_path, mjcf(body, '<actuator><motor name="m" joint="j" gear="2" ctrlrange="-1 9"/></actuator>'))
    assert (motor.actuators[0].lower, motor.actuators[0].upper) == (-1.0, 3.0)
    assert not recwarn


def test_actuated_coordinates_of_composite_joints(tmp_path):
    world = '<body name="a"><joint name="x" type="slide"/><joint name="y" axis="1 0 0"/><geom size="0.1"/></body>'
    text = mjcf(world, '<actuator><motor joint="y"/></actuator>')
    assert read(tmp_path, text).actuators[0].coordinate == "y"


SITES = '<site name="s"/><body name="a"><joint name="j"/><geom size="0.1"/><site name="t" pos="0 0 1"/></body>'


SPATIAL = '<tendon><spatial name="c" {}><site site="s"/><site site="t"/></spatial></tendon>'


@pytest.mark.parametrize(("springlength", "rest", "pulls_only"), [("0.3", 0.3, False), ("0 0.4", 0.4, True)])
def test_tendons_through_sites_become_cables(tmp_path, springlength, rest, pulls_only):
    tendon = SPATIAL.format(f'stiffness="5" springlength="{springlength}"')
    robot = read(tmp_path, mjcf(SITES, tendon))
    ends = Attachment("world"), Attachment("a", (0, 0, 1))
    assert robot.cables == (Cable("c", ends, 5.0, rest, 0.0, pulls_only),)


# ---------------------------------------------------------------------- what is left out


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (mjcf(TWO.format('<joint name="j"/>', "")), None),
        (mjcf(TWO.format('<joint name="j" type="ball" range="0 30"/>', "")), "limits of ball joints: j"),
        (mjcf('<body name="m" mocap="true"/>' + BODY.format("")), None),
        (mjcf(BODY.format(""), before='<option density="1.2"/>'), "medium: density"),
        (mjcf(BODY.format("").replace('size="0.1"', 'type="ellipsoid" size="1 2 3"')), None),
        (mjcf(BODY.format(""), '<equality><joint name="e" joint1="j"/></equality>'), None),
        (
            mjcf(BODY.format(""), '<equality><weld name="e" body1="a" active="false"/></equality>'),
            "not active: e",
        ),
        (
            mjcf(SITES, SPATIAL.format('range="0 1"')),
            None,
        ),
        (
            mjcf(BODY.format(""), '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
                 '<actuator><motor name="m" tendon="t"/></actuator>'),
            None,
        ),
        (mjcf(BODY.format(""), '<actuator><muscle name="m" joint="j"/></actuator>'), "muscles.*: m"),
        (
            mjcf(BODY.format(""), '<actuator><damper name="m" joint="j" kv="1" ctrlrange="0 1"/></actuator>'),
            "actuators whose gain .*: m; all actuators, .* control for each degree of freedom: nu = 1",
        ),
        (
            mjcf('<geom name="h" size="1"/>' + BODY.format(""), "<contact>" + PAIR + "</contact>"),
            None,
        ),
    ],
)  # fmt: skip
def test_one_warning_names_what_has_no_counterpart(tmp_path, recwarn, text, what):
    read(tmp_path, text)
    assert len(recwarn) == (what is not None)
    if what:
        with pytest.warns(UserWarning, match=what):
            read(tmp_path, text)


def test_dampers_that_would_drive_are_left_out_or_refused(tmp_path):
    """MuJoCo runs them; here a damper never adds energy."""
    text = mjcf(BODY.format('damping="-0.01"'))
    with pytest.warns(UserWarning, match=r"negative damping\): j"):
        assert read(tmp_path, text).joints[0].damping == (0.0,)
    with pytest.raises(la.FormatError, match="damping must not be negative"):
        read(tmp_path, text, strict=True)


def test_settings_of_earlier_versions_of_mujoco_are_named_and_left_out(tmp_path):
    """What no version knows is a mistake."""
    old = '<compiler convexhull="true"/><option apirate="50" gravity="0 0 -2" mpr_iterations="9"/>'
    with pytest.warns(UserWarning, match="no longer knows: convexhull of <compiler>, apirate of <option>, mpr_it"):
        assert read(tmp_path, mjcf(BODY.format(""), before=old)).gravity == (0.0, 0.0, -2.0)
    with pytest.raises(la.FormatError, match="unrecognized attribute: 'apirat'"):
        read(tmp_path, mjcf(BODY.format(""), before='<option apirat="50"/>'))


def test_sensors_are_named_as_left_out(tmp_path):
    text = mjcf(BODY.format(""), '<sensor><jointpos name="angle" joint="j"/><clock name="time"/></sensor>')
    with pytest.warns(UserWarning, match="omitted: sensors: time"):
        read(tmp_path, text)


def test_friction_of_condim(tmp_path):
    """3: sliding; 4: spinning as well; 6: rolling as well; 1: none, unless the other geom has more.

    Contact points of balls say the same.
    """
    for condim, expected in (
        (1, (0.7, None, None)),
        (3, (0.7, None, None)),
        (4, (0.7, 0.02, None)),
        (6, (0.7, 0.02, 0.03)),
    ):
        geom = f'<geom name="g" size="0.1" condim="{condim}" friction="0.7 0.02 0.03"/>'
        robot = read(tmp_path, mjcf(f'<body name="a"><freejoint/>{geom}</body>'))
        shape, point = robot.bodies[0].shapes[0], robot.contacts[0]
        assert (shape.friction, shape.spinning, shape.rolling) == expected
        assert shape.condim == (1 if condim == 1 else None)
        assert (point.friction, point.spinning, point.rolling) == tuple(x or 0.0 for x in expected)


def test_keyframes_cameras_and_the_like_do_not_matter(tmp_path, recwarn):
    rest = (
        '<keyframe><key qpos="1"/></keyframe>'
        '<contact><exclude body1="a" body2="world"/></contact><custom><numeric name="n" data="1"/></custom>'
    )
    world = BODY.format("") + '<camera name="c"/><light name="l" pos="0 0 1"/>'
    assert read(tmp_path, mjcf(world, rest, before='<visual><map znear="0.1"/></visual>')).nv == 1
    assert not recwarn


def test_parameters_of_shapes_are_those_of_the_contact_points_made_of_them(tmp_path):
    """Another size in the file, or by a parameter: the same robot."""
    text = mjcf(
        '<geom type="plane" size="1 1 1"/><body name="a"><joint/>'
        '<geom name="leg" type="capsule" size="0.03 0.2" euler="20 30 40" friction="0.5"/>'
        '<geom name="foot" size="0.04" pos="0.1 0 0.2"/><geom size="0.05" pos="0.1 0 0.2"/></body>'
    )
    robot = read(tmp_path, text)
    for there, here, name, value in (
        ("0.03 0.2", "0.06 0.2", "radius:a/leg", 0.06),
        ("0.03 0.2", "0.03 0.3", "length:a/leg", 0.6),
        ('friction="0.5"', 'friction="0.2"', "friction:a/leg", 0.2),
        ('"0.04"', '"0.01"', "radius:a/foot", 0.01),
        ('size="0.05" pos="0.1', 'size="0.05" pos="0.15', "position:a/2", (0.15, 0.0, 0.2)),
    ):
        wanted, found = read(tmp_path, text.replace(there, here)), la.derivatives.with_parameters(robot, {name: value})
        assert found.contacts != robot.contacts
        for a, b in zip(found.contacts, wanted.contacts, strict=True):
            np.testing.assert_allclose(a.point, b.point, atol=1e-15)
            assert replace(a, point=b.point) == b
