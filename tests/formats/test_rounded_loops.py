"""Linkages that are closed more often than they need to be, in files with few digits."""

import re
import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import leastaction as la

R = Rotation.from_euler("xyz", [0.3, -0.5, 0.7]).as_matrix()


def linkage(digits, *, at_home=True, across=(0.02, -0.02), pull=0.0):
    """A parallelogram in a plane that no axis of the world lies in, whose far hinge is two points held together.

    The points of both bodies are rounded each by itself, or (`at_home`) one of them is found where the file starts.
    """

    def at(*x):
        return " ".join(f"{v:.{digits}f}" for v in R @ np.array(x))

    def body(name, place, inner=""):
        joint = f'<joint name="{name}" axis="{at(0, 0, 1)}" stiffness="0.05" damping="0.01"/>'
        ball = '<geom type="sphere" size="0.01" mass="0.2" contype="0" conaffinity="0"/>'
        return f'<body name="{name}" pos="{place}">{joint}{ball}{inner}</body>'

    sites = "".join(f'<site name="end{k}" pos="{at(0.31 + pull, 0, z)}"/>' for k, z in enumerate(across))
    tips = "".join(f'<site name="tip{k}" pos="{at(0.06, 0.08, z)}"/>' for k, z in enumerate(across))
    bodies = body("a", at(0, 0, 0), body("rod", at(0.06, 0.08, 0), sites)) + body("b", at(0.31, 0, 0), tips)
    points = "".join(
        f'<connect name="pin{k}" body1="rod" body2="b" anchor="{at(0.31, 0, z)}"/>'
        if at_home
        else f'<connect name="pin{k}" site1="end{k}" site2="tip{k}"/>'
        for k, z in enumerate(across)
    )
    return f"<mujoco><worldbody>{bodies}</worldbody><equality>{points}</equality></mujoco>"


BODIES = {"a": ("world", (0, 0, 0)), "rod": ("a", (0.06, 0.08, 0)), "b": ("world", (0.31, 0, 0))}
"""Parents of the three bodies of a linkage, and where they are."""


def sdf_linkage(digits):
    """The same in SDF, without springs, with a frame in the world for each body."""

    def at(*x):
        return " ".join(f"{v:.{digits}f}" for v in R @ np.array(x))

    parts, inertia = "", "<inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia>"
    for name, (parent, place) in BODIES.items():
        pose = at(*(np.array(place) + (BODIES[parent][1] if parent != "world" else 0)))
        parts += f'<link name="{name}"><pose>{pose} 0 0 0</pose><inertial><mass>0.2</mass>{inertia}</inertial></link>'
        parts += f'<joint name="j {name}" type="revolute"><parent>{parent}</parent><child>{name}</child>'
        parts += f"<axis><xyz>{at(0, 0, 1)}</xyz></axis></joint>"
    for k, z in enumerate((0.02, -0.02)):
        parts += f'<joint name="pin{k}" type="ball"><parent>rod</parent><child>b</child>'
        parts += f"<pose>{at(0.06, 0.08, z)} 0 0 0</pose></joint>"
    return f'<sdf version="1.9"><model name="linkage">{parts}</model></sdf>'


def urdf_linkage(digits):
    """The same in URDF."""

    def at(*x):
        return " ".join(f"{v:.{digits}f}" for v in R @ np.array(x))

    inertia = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
    parts = '<link name="world"/>'
    for name, (parent, place) in BODIES.items():
        parts += f'<link name="{name}"><inertial><mass value="0.2"/>{inertia}</inertial></link>'
        parts += f'<joint name="j {name}" type="continuous"><parent link="{parent}"/><child link="{name}"/>'
        parts += f'<origin xyz="{at(*place)}"/><axis xyz="{at(0, 0, 1)}"/></joint>'
    for k, z in enumerate((0.02, -0.02)):
        parts += f'<loop_joint name="pin{k}" type="ball"><link1 link="rod" xyz="{at(0.31, 0, z)}"/>'
        parts += f'<link2 link="b" xyz="{at(0.06, 0.08, z)}"/></loop_joint>'
    return f'<robot name="linkage">{parts}</robot>'


def run(text):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        robot = la.load_string(text)
        out = la.simulate(robot, dt=0.005, steps=200, integrator=la.Maximal())
    return out, [str(w.message) for w in said]


@pytest.mark.parametrize("at_home", [True, False])
@pytest.mark.parametrize("digits", [7, 8])
def test_linkages_that_few_digits_close_twice_over_move_as_exact_ones(digits, at_home):
    exact, said = run(linkage(17))
    assert said == []
    assert [joint.kind for joint in exact.mechanism.loops] == ["revolute"]
    rounded, said = run(linkage(digits, at_home=at_home))
    assert ["'pin0' (by" in words for words in said if "digits" in words] == [True]
    assert np.ptp(exact.q, axis=0).max() > 0.3
    np.testing.assert_allclose(rounded.q, exact.q, atol=1e3 * 10.0**-digits)
    assert rounded.constraint_violation.max() < 1e-9


@pytest.mark.parametrize("text", [sdf_linkage, urdf_linkage], ids=["SDF", "URDF"])
def test_other_formats_have_few_digits_too(text):
    exact, said = run(text(17))
    assert said == []
    rounded, said = run(text(7))
    assert ["'pin0' (by" in words for words in said if "digits" in words] == [True]
    assert np.ptp(exact.q, axis=0).max() > 0.3
    np.testing.assert_allclose(rounded.q, exact.q, atol=1e-4)
    assert rounded.constraint_violation.max() < 1e-9


def test_two_points_on_the_same_bodies_are_a_hinge_wherever_the_linkage_moves():
    text = linkage(17).replace('axis="', 'type="ball" axis="', 1).replace('stiffness="0.05" ', "", 1)
    robot = la.load_string(text)
    (hinge,) = robot.loops
    assert hinge.kind == "revolute"
    out = la.simulate(robot, dt=0.005, steps=100, integrator=la.Maximal())
    ends = [np.array(la.dynamics.body_poses(robot, q)) for q in out.q]
    rod, b = robot.body_index("rod"), robot.body_index("b")
    for z in (0.02, -0.02):
        one = [X[rod] @ [*(R @ [0.31, 0, z]), 1.0] for X in ends]
        other = [X[b] @ [*(R @ [0.06, 0.08, z]), 1.0] for X in ends]
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_what_no_rounding_explains_is_refused_with_the_name_of_the_joint():
    text = linkage(8, at_home=False, across=(0.02, -0.02, 0.0))
    robot = la.load_string(re.sub('name="tip2" pos="[^ ]*', 'name="tip2" pos="1.5', text))
    with pytest.raises(la.ConvergenceError, match="'pin"):
        la.simulate(robot, dt=0.005, steps=1, integrator=la.Maximal())


def test_a_ball_joint_with_a_damper_that_closes_a_loop_is_read_as_it_is():
    """Its spring or damper has no loop equations in joint coordinates: what runs it decides, not the reader."""
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    ends = '<parent link="{}"/><child link="{}"/>'
    text = "".join(
        [
            '<robot name="r">',
            *(f'<link name="{name}">{link}</link>' for name in ("base", "a", "b")),
            f'<joint name="j" type="continuous">{ends.format("base", "a")}<axis xyz="0 1 0"/></joint>',
            f'<joint name="k" type="continuous">{ends.format("a", "b")}<axis xyz="0 1 0"/></joint>',
            '<loop_joint name="loop" type="spherical"><link1 link="base"/><link2 link="b"/>',
            '<dynamics damping="1"/></loop_joint>',
            "</robot>",
        ]
    )
    robot = la.load_string(text)
    assert robot.loops[0].kind == "spherical"
    assert robot.loops[0].damping == (1.0, 1.0, 1.0)
