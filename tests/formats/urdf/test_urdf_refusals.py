"""Every faulty URDF is refused with a `FormatError` that names the file, the line and the element."""

import pytest

from leastaction.errors import FormatError
from leastaction.formats import load_urdf
from tests.formats.models import arm, joint, link, urdf, write

LOOP = '<loop_joint name="l" type="{kind}">{inside}</loop_joint>\n'
ENDS = '<link1 link="base"/><link2 link="tip"/>'
BOX = '<visual><geometry><box size="1 1 1"/></geometry></visual>'


def with_loop(inside, kind="fixed"):
    return arm().replace("</robot>", LOOP.format(kind=kind, inside=inside) + "</robot>")


# The robot element is line 1; each link and joint has a line of its own.
CASES = {
    "no links": (urdf(), 1, 'robot "robot"', "no <link>"),
    "nameless link": (urdf("<link/>"), 2, "<link>", "'name' is missing"),
    "two links of one name": (urdf(link("a"), link("b"), link("a")), 4, 'link "a"', "twice, first in line 2"),
    "two joints of one name": (
        urdf(link("a"), link("b"), link("c"), joint("j", "fixed", "a", "b"), joint("j", "fixed", "a", "c")),
        6,
        'joint "j"',
        "twice, first in line 5",
    ),
    "two roots": (urdf(link("a"), link("b")), 3, 'link "b"', 'nor link "a" \\(line 2\\)'),
    "no root": (
        urdf(link("a"), link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
        1,
        'robot "robot"',
        "cycle",
    ),
    "a cycle beside the tree": (
        urdf(link("a"), link("b"), link("c"), joint("j", "fixed", "b", "c"), joint("k", "fixed", "c", "b")),
        5,
        'joint "j"',
        "cycle",
    ),
    "a link on two joints": (
        urdf(link("a"), link("b"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "a", "b")),
        5,
        'joint "k"',
        'already hangs on joint "j" \\(line 4\\)',
    ),
    "unknown parent": (
        urdf(link("base"), link("tip"), joint("j", "fixed", "bas", "tip")),
        4,
        '<parent> of joint "j"',
        "did you mean 'base'",
    ),
    "no parent": (
        urdf(link("a"), link("b"), '<joint name="j" type="fixed"><child link="b"/></joint>'),
        4,
        'joint "j"',
        "has no <parent>",
    ),
    "a joint from a link to itself": (
        urdf(link("a"), link("b"), joint("j", "fixed", "b", "b")),
        4,
        'joint "j"',
        "cycle",
    ),
    "unknown type": (arm(kind="orbital"), 4, 'joint "hinge"', "unknown joint type 'orbital'"),
    "no type": (arm().replace('type="continuous"', ""), 4, 'joint "hinge"', "'type' is missing"),
    "zero axis": (arm('<axis xyz="0 0 0"/>'), 4, '<axis> of joint "hinge"', "must not be zero"),
    "short axis": (arm('<axis xyz="0 1"/>'), 4, '<axis> of joint "hinge"', "expected 3 numbers, got 2"),
    "words for numbers": (arm('<origin xyz="a b c"/>'), 4, '<origin> of joint "hinge"', "expected numbers"),
    "nan": (arm('<origin xyz="0 nan 0"/>'), 4, '<origin> of joint "hinge"', "finite"),
    "reversed limits": (
        arm('<limit lower="1" upper="-1"/>', kind="revolute"),
        4,
        'joint "hinge"',
        "limits are reversed",
    ),
    "negative damping": (arm('<dynamics damping="-1"/>'), 4, 'joint "hinge"', "must not be negative"),
    "dampings that do not fit": (
        arm('<dynamics damping="1 2"/>', kind="planar"),
        4,
        '<dynamics> of joint "hinge"',
        "expected 1 or 3 numbers, got 2",
    ),
    "mimic of nothing": (arm('<mimic joint="hing"/>'), 4, '<mimic> of joint "hinge"', "did you mean 'hinge'"),
    "mimic of itself": (arm('<mimic joint="hinge"/>'), 4, 'joint "hinge"', "cannot follow itself"),
    "mimic of a fixed joint": (
        urdf(
            *(link(name) for name in "abc"),
            joint("f", "fixed", "a", "b"),
            joint("j", "continuous", "b", "c", '<mimic joint="f"/>'),
        ),
        6,
        '<mimic> of joint "j"',
        "'f' is fixed",
    ),
    "negative mass": (urdf(link("a", mass=-1)), 2, 'link "a"', "mass: must not be negative"),
    "infinite mass": (urdf(link("a", mass="1e999")), 2, '<mass> of link "a"', "finite"),
    "no mass": (urdf('<link name="a"><inertial/></link>'), 2, '<inertial> of link "a"', "needs <mass>"),
    "density of nothing": (
        urdf('<link name="a"><inertial><density value="1"/></inertial></link>'),
        2,
        '<density> of link "a"',
        "no <collision>",
    ),
    "no moment": (urdf(link("a").replace('iyy="0.1"', "")), 2, '<inertia> of link "a"', "'iyy' is missing"),
    "massless moving link": (
        urdf(link("base"), link("tip", mass=None), joint("j", "continuous", "base", "tip")),
        3,
        'link "tip"',
        "neither it nor anything it carries has mass",
    ),
    "implausible inertia": (urdf(link("a").replace('izz="0.1"', 'izz="9"')), 2, 'link "a"', "strict=False"),
    "a link called world that is no root": (
        urdf(link("a"), link("world"), joint("j", "fixed", "a", "world")),
        3,
        'link "world"',
        "only the root",
    ),
    "no geometry": (urdf(link("a", "<visual/>")), 2, '<visual> of link "a"', "no <geometry>"),
    "unknown geometry": (urdf(link("a", BOX.replace("box", "cone"))), 2, '<geometry> of link "a"', "none of"),
    "negative radius": (
        urdf(link("a", '<collision><geometry><sphere radius="-1"/></geometry></collision>')),
        2,
        '<sphere> of link "a"',
        "must be positive",
    ),
    "loop without an end": (with_loop('<link1 link="base"/>'), 5, 'loop_joint "l"', "no <link2>"),
    "loop to nowhere": (
        with_loop(ENDS.replace("tip", "nose")),
        5,
        '<link2> of loop_joint "l"',
        "link2 link 'nose' does not exist",
    ),
    "loop that ends at the world": (
        with_loop(ENDS.replace("tip", "world")),
        5,
        'loop_joint "l"',
        "swap link1 and link2",
    ),
    "loop of unknown type": (with_loop(ENDS, "spline"), 5, 'loop_joint "l"', "unknown joint type"),
    "loop with the name of a joint": (
        with_loop(ENDS).replace('name="l"', 'name="hinge"'),
        5,
        'loop_joint "hinge"',
        "twice",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusal(tmp_path, case):
    text, line, element, message = CASES[case]
    path = write(tmp_path, text)
    with pytest.raises(FormatError, match=message) as error:
        load_urdf(path, strict=True)
    assert (error.value.file, error.value.line, error.value.element) == (str(path), line, element)


def test_the_world_cannot_float(tmp_path):
    path = write(tmp_path, urdf(link("world", mass=None), link("a"), joint("j", "fixed", "world", "a")))
    with pytest.raises(FormatError, match="cannot float"):
        load_urdf(path, floating_base=True)


def test_a_base_without_inertia_on_one_joint_cannot_float(tmp_path):
    """Whatever drives the joint would turn the base alone, which has nothing to turn; with two joints it has a hold."""
    base, arm = link("base", mass=None), joint("j", "continuous", "base", "a")
    path = write(tmp_path, urdf(base, link("a"), arm))
    words = "no inertia, and nothing would hold it against joint 'j', so it cannot float"
    with pytest.raises(FormatError, match=words):
        load_urdf(path, floating_base=True)
    assert load_urdf(path).nv == 1
    path = write(tmp_path, urdf(link("base", mass=0.0), link("a"), arm))  # PyBullet's way to fix a base
    with pytest.raises(FormatError, match=r"moments of inertia but no mass, by which .* cannot float"):
        load_urdf(path, floating_base=True)
    path = write(tmp_path, urdf(base, link("a"), link("b"), arm, joint("k", "continuous", "base", "b")))
    assert load_urdf(path, floating_base=True).nv == 8
    path = write(tmp_path, urdf(base, link("t"), link("a"), joint("f", "fixed", "base", "t"), arm))
    assert load_urdf(path, floating_base=True).nv == 7
