"""Bodies that pass through each other on request, and files that ask for it."""

import pytest

import leastaction as la
from leastaction.errors import FormatError, MechanismError
from leastaction.mechanism import Box, Plane, Sphere
from leastaction.mechanism.text.codec import from_json, to_json

BOX = Box((0.2, 0.2, 0.2))


def two_boxes(*excluded: str) -> la.MechanismBuilder:
    b = la.MechanismBuilder("two boxes")
    for name in ("low", "high"):
        b.body(name, mass=1.0, shapes=BOX)
        b.free(name)
    b.add_shape("world", Plane())
    if excluded:
        b.exclude_contact("high", *excluded)
    return b


@pytest.mark.parametrize(("excluded", "height"), [((), 0.3), (("low",), 0.1)])
def test_a_box_falls_on_the_other_or_through_it(excluded, height):
    run = la.simulate(
        two_boxes(*excluded).build(),
        [0, 0, 0.1, 1, 0, 0, 0, 0.01, 0.01, 0.4, 1, 0, 0, 0],
        dt=0.01,
        duration=1.0,
        integrator=la.Maximal(),
    )
    assert run.q[-1, 9] == pytest.approx(height, abs=1e-6)


def test_a_body_may_pass_through_the_world_and_still_touch_others():
    run = la.simulate(
        two_boxes("world").build(),
        [0, 0, 0.1, 1, 0, 0, 0, 1.0, 0, 0.1, 1, 0, 0, 0],
        dt=0.01,
        duration=0.5,
        integrator=la.Maximal(),
    )
    assert run.q[-1, 2] == pytest.approx(0.1, abs=1e-6)
    assert run.q[-1, 9] == pytest.approx(0.1 - 0.5 * 9.81 * 0.25, abs=1e-6)


def test_exclusions_are_part_of_the_robot():
    robot = two_boxes("low", "world", "low").build()
    assert robot.excluded_contacts == (("high", "low"), ("high", "world"))
    assert from_json(to_json(robot)) == robot
    assert robot.edit().build() == robot
    assert robot != two_boxes().build()
    assert "no contact between high and low" in str(robot)
    b = robot.edit()
    b.remove("high_free")
    b.remove("high")
    assert b.build().excluded_contacts == ()
    with pytest.raises(FormatError, match="high - low"):
        la.formats.save_urdf(robot, "never.urdf")


@pytest.mark.parametrize(("names", "message"), [(("hihg",), "did you mean 'high'"), (("high",), "twice"), ((), "name")])
def test_refusals_name_the_culprit(names, message):
    def build():
        b = two_boxes()
        b.exclude_contact("high", *names)
        return b.build()

    with pytest.raises(MechanismError, match=message):
        build()


MASKS = """<mujoco><worldbody>
  <geom type="plane" size="5 5 .1"/>
  {}
</worldbody>{}</mujoco>"""


def masked(name: str, x: float, contype: int, conaffinity: int) -> str:
    geom = f'<geom type="sphere" size=".1" contype="{contype}" conaffinity="{conaffinity}"/>'
    return f'<body name="{name}" pos="{x} 0 1"><freejoint/>{geom}</body>'


def test_masks_and_excludes_of_mjcf(tmp_path):
    pytest.importorskip("mujoco")
    bodies = [
        masked("a", 0, 1, 1),
        masked("b", 1, 2, 4),
        masked("c", 2, 4, 2),
        masked("d", 3, 0, 1),
        masked("e", 4, 1, 1),
    ]
    path = tmp_path / "scene.xml"
    path.write_text(MASKS.format("".join(bodies), '<contact><exclude body1="e" body2="a"/></contact>'))
    excluded = {frozenset(pair) for pair in la.load(path).excluded_contacts}
    # d has no contype: it meets what has one that matches, a and e and the ground, but not b and c.
    expected = ["world b", "world c", "a b", "a c", "b d", "c d", "b e", "c e", "a e"]
    assert excluded == {frozenset(pair.split()) for pair in expected}


def test_groups_of_shapes():
    """Shapes touch where one touches a group of the other, shape by shape; the bits of MJCF are these."""
    b = la.MechanismBuilder("groups")
    for name, bits in (("a", (1, 1)), ("b", (2, 4)), ("c", (4, 0))):
        b.body(name, mass=1.0, shapes=[Sphere(0.1, name=name, groups=bits[0], touches=bits[1])])
        b.free(name)
    b.add_shape("world", Box((1, 1, 1), name="table", groups=2, touches=1))
    b.add_shape("a", Sphere(0.1, name="more", groups=8, touches=2))
    robot = b.build()
    table = la.Maximal().prepare(robot, 0.01).table
    pairs = [*table.ground, *table.body_pairs()]
    names = {frozenset((table.names[p.a][1], table.names[p.b][1])) for p in pairs}
    assert names == {frozenset(x.split()) for x in ("table a", "table more", "b more", "b c")}
    with pytest.raises(la.MechanismError, match=r"sphere 'x': groups: expected a whole number"):
        Sphere(0.1, name="x", groups=0.5)


def test_groups_of_mjcf(tmp_path):
    """A body may have a geom that touches the ground and another that touches other bodies only."""
    pytest.importorskip("mujoco")
    path = tmp_path / "scene.xml"
    more = '<geom name="m" type="sphere" size=".2" contype="2" conaffinity="2"/></body>'
    bodies = masked("a", 0, 1, 1).replace("</body>", more) + masked("b", 1, 2, 0)
    path.write_text(MASKS.format(bodies, ""))
    robot = la.load(path)
    shapes = robot.bodies[0].shapes
    assert [(s.groups, s.touches) for s in shapes] == [(1, 1), (2, 2)]
    assert len(la.Maximal().prepare(robot, 0.01).table.ground) == 1


def test_merging_keeps_exclusions():
    b = two_boxes("low")
    b.body("lid", mass=0.1, shapes=Sphere(0.05))
    b.fixed("weld", "high", "lid")
    b.exclude_contact("lid", "low", "high")
    from leastaction.formats.merge import merge_fixed_bodies

    assert merge_fixed_bodies(b.build()).excluded_contacts == (("high", "low"),)


def test_a_capsule_of_mjcf_lies_across_a_narrow_box(tmp_path):
    """Both of its ends hang in the air beside the box: they do not stand for all of it."""
    pytest.importorskip("mujoco")
    path = tmp_path / "scene.xml"
    path.write_text("""<mujoco><worldbody>
      <geom type="plane" size="5 5 .1"/> <geom type="box" size=".1 .5 .1" pos="0 0 .1"/>
      <body pos="0 0 .4"><freejoint/><geom type="capsule" size=".05 .5" mass="1" euler="0 90 0"/></body>
    </worldbody></mujoco>""")
    run = la.simulate(la.load(path), [0, 0, 0.4, 1, 0, 0, 0], dt=0.01, duration=0.5, integrator=la.Maximal())
    assert run.q[-1, 2] == pytest.approx(0.25, abs=1e-6)
