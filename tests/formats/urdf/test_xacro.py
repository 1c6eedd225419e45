"""Files with macros of xacro are expanded where the package is there, and refused with the remedy where it is not."""

import sys
import warnings

import pytest

import leastaction as la
from leastaction.errors import FormatError

HEAD = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="arm">'
LEGS = (
    HEAD + '<xacro:macro name="link" params="name mass"><link name="${name}"><inertial><mass value="${mass}"/>'
    '<inertia ixx="${mass / 10}" iyy="${mass / 10}" izz="${mass / 10}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    "</xacro:macro></robot>"
)
ARM = (
    HEAD + '<xacro:include filename="../parts/link.xacro"/><xacro:arg name="heavy" default="1.5"/><link name="base"/>'
    '<xacro:link name="upper" mass="$(arg heavy)"/><joint name="j" type="revolute"><parent link="base"/>'
    '<child link="upper"/><axis xyz="0 1 0"/><limit lower="-2" upper="${pi / 2}" effort="5" velocity="1"/>'
    '<safety_controller k_velocity="3"/></joint></robot>'
)


def written(folder, text=ARM):
    for name, content in (("parts/link.xacro", LEGS), ("robots/arm.urdf.xacro", text)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    return folder / "robots" / "arm.urdf.xacro"


def test_macros_are_expanded(tmp_path):
    pytest.importorskip("xacro")
    path = written(tmp_path)
    with pytest.warns(UserWarning, match="omitted: safety controllers of joints: j"):
        robot = la.load(path)
    assert robot.bodies[1].inertia.mass == 1.5
    assert robot.joints[1].upper[0] == pytest.approx(1.5707963)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert la.load(path, xacro_args={"heavy": 3.0}).bodies[1].inertia.mass == 3.0
    with pytest.raises(FormatError, match=r"xacro_args: the file has no argument 'heavi'.*'heavy'"):
        la.load(path, xacro_args={"heavi": 3.0})


def test_attributes_alone_are_evaluated(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "arm.urdf"
    joint = (
        '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/><origin xyz="${0.5 / 1} 0 0"/></joint>'
    )
    path.write_text(HEAD + '<link name="base"/><link name="tip"/>' + joint + "</robot>")
    assert la.load(path).joints[1].pose.position[0] == 0.5


def test_packages_are_found_and_other_files_are_not_read(tmp_path):
    pytest.importorskip("xacro")
    found = ARM.replace("../parts/link.xacro", "$(find parts)/link.xacro").replace(
        "<safety_controller k_velocity", "<x k"
    )
    assert la.load(written(tmp_path, found)).nv == 1
    for name, message in (("../parts/secret.txt", "no file of a model"), ("$(find lost)/link.xacro", "'lost' is not")):
        (tmp_path / "parts" / "secret.txt").write_text("secret")
        with pytest.raises(FormatError, match=message) as caught:
            la.load(written(tmp_path, ARM.replace("../parts/link.xacro", name)))
        assert "arm.urdf.xacro" in str(caught.value)
    with pytest.raises(FormatError, match="xacro refuses the file"):
        la.load(written(tmp_path, ARM.replace("$(arg heavy)", "${1 / nothing}")))


def test_without_the_package_the_remedy_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(FormatError, match=r'leastaction\[xacro\]"; or run `xacro` on the file'):
        la.load(written(tmp_path))


def test_expressions_read_no_other_files(tmp_path):
    pytest.importorskip("xacro")
    (tmp_path / "own.yaml").write_text("name: tip")
    (tmp_path / "notes.txt").write_text("secret: tip")
    path = tmp_path / "arm.xacro"
    for name in ("own.yaml", "notes.txt"):
        path.write_text(HEAD + f"<link name=\"${{list(xacro.load_yaml('{name}').values())[0]}}\"/></robot>")
        if name == "own.yaml":
            assert la.load(path).body_names == ("tip",)
        else:
            with pytest.raises(FormatError, match=r"arm.xacro:1: link .*: a macro reads .*notes.txt"):
                la.load(path)
            assert la.load(path, allow_outside=True).body_names == ("tip",)


def evaluated(folder, expression, before=""):
    path = folder / "arm.urdf.xacro"
    joint = '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/><origin xyz="{} 0 0"/></joint>'
    path.write_text(HEAD + before + '<link name="base"/><link name="tip"/>' + joint.format(expression) + "</robot>")
    return la.load(path).joints[1].pose.position[0]


@pytest.mark.parametrize(
    "expression",
    [
        "${9**9**9}",
        "${'x' * 10**10}",
        "${10**9 * [1]}",
        "${1 &lt;&lt; 10**10}",
        "${len('%9999999999d' % 1)}",
        "${len('a'.ljust(10**10))}",
        "${math.factorial(10**8)}",
        "${python.sum(python.range(10**12))}",
        "${len([0 for i in python.range(10**5) for j in python.range(10**5)])}",
        "${(lambda f, n: f(f, n))(lambda f, n: f(f, n - 1) + f(f, n - 1) if n else 1, 40)}",
        "$(eval 9**9**9)",
        "$(eval f'{1:9999999999}')",
    ],
)
def test_expressions_without_end_are_refused(tmp_path, expression):
    """Each would take minutes to years, or more memory than there is."""
    pytest.importorskip("xacro")
    with pytest.raises(FormatError, match=r"xacro refuses the file.* more than"):
        evaluated(tmp_path, expression)


@pytest.mark.parametrize("expression", ["${[x.__class__ for x in [1]]}", "$(eval open)"])
def test_expressions_reach_nothing_of_python(tmp_path, expression):
    pytest.importorskip("xacro")
    with pytest.raises(FormatError, match=r"invalid name|not defined"):
        evaluated(tmp_path, expression)


def test_macros_that_call_one_another_without_end_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("xacro")
    monkeypatch.setattr("leastaction.formats.urdf._xacro_expressions.MOST_TURNS", 200)
    macros = '<xacro:macro name="m0"></xacro:macro>' + "".join(
        f'<xacro:macro name="m{k + 1}">{10 * f"<xacro:m{k}/>"}</xacro:macro>' for k in range(9)
    )
    with pytest.raises(FormatError, match="more than 200 turns"):
        evaluated(tmp_path, "0", macros + "<xacro:m9/>")


def test_expressions_are_those_of_python(tmp_path):
    pytest.importorskip("xacro")
    properties = '<xacro:property name="a" value="${2 * 3}"/><xacro:property name="l" value="${[a, 1, 2]}"/>'
    for expression, value in {
        "${a**2 + (7 % 4) - a / 2}": 36.0,
        "${python.sum([k * l[k] for k in python.range(3)])}": 5.0,
        "${float('%.2f' % 0.123) + len(3 * 'ab')}": 6.12,
        "${max(map(lambda k: k + a, l)) + math.cos(0) + radians(180) - pi}": 13.0,
        "$(eval 2 * pi / pi + 7)": 9.0,
    }.items():
        assert evaluated(tmp_path, expression, properties) == pytest.approx(value), expression


@pytest.mark.parametrize("element", ["property", "if", "macro", "insert_block", 'macro name="m" params=" "'])
def test_missing_attributes_are_refused(tmp_path, element):
    path = tmp_path / "a.xacro"
    path.write_text(f'<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:{element}/></robot>')
    with pytest.raises(FormatError, match="xacro refuses the file"):
        la.load(path)
