"""Includes and meshes of MJCF files: read inside the model's folder, refused or left out otherwise."""

import pytest

from leastaction.errors import FormatError, LeastActionWarning, MissingExtraError
from leastaction.formats import load_mjcf
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")

BALL = '<body name="{}"><freejoint/><geom size="0.1"/></body>'
INERTIAL = '<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def include(file):
    return f'<include file="{file}"/>'


def part(*inside):
    return "<mujocoinclude>\n" + "\n".join(inside) + "\n</mujocoinclude>"


def refused(path, message, **options):
    with pytest.raises(FormatError, match=message) as error:
        load_mjcf(path, **options)
    return error.value


# ---------------------------------------------------------------------- includes


def test_includes_anywhere_and_nested(tmp_path):
    write(tmp_path, part(BALL.format("b"), include("parts/c.xml")), "b.xml")
    write(tmp_path, part(BALL.format("c")), "parts/c.xml")
    write(tmp_path, part('<option gravity="0 0 -1"/>'), "option.xml")
    text = mjcf(BALL.format("a") + include("b.xml") + BALL.format("d"), before=include("option.xml"))
    robot = load_mjcf(write(tmp_path, text, "main.xml"))
    assert robot.body_names == ("a", "b", "c", "d")
    assert robot.gravity == (0.0, 0.0, -1.0)


def test_cyclic_includes_are_refused(tmp_path):
    write(tmp_path, part(include("c.xml")), "b.xml")
    write(tmp_path, part("", include("b.xml")), "c.xml")
    error = refused(write(tmp_path, mjcf(include("b.xml")), "main.xml"), r"cycle: b\.xml -> c\.xml -> b\.xml")
    assert (error.file, error.line) == (str(tmp_path / "c.xml"), 3)


def test_a_file_that_includes_itself_is_refused(tmp_path):
    refused(write(tmp_path, mjcf(include("main.xml")), "main.xml"), r"cycle: main\.xml -> main\.xml")


def test_a_file_is_included_only_once(tmp_path):
    """As in MuJoCo; else n files that include each other twice would make 2^n copies."""
    write(tmp_path, part(BALL.format("b")), "b.xml")
    refused(write(tmp_path, mjcf(include("b.xml") * 2), "main.xml"), "included twice")


@pytest.mark.parametrize("file", ["../secret.xml", "../out.txt", "/etc/hosts", "link.xml"])
def test_other_files_outside_the_folder_are_refused(tmp_path, file):
    """Absolute paths, what is no model, even through a link that is called like one; their contents do not show."""
    outside = write(tmp_path, part(BALL.format("b")), "out.txt")
    write(tmp_path, "<passwords><key>abc</key></passwords>", "secret.xml")
    path = write(tmp_path, mjcf(include(file)), "model/main.xml")
    (tmp_path / "model/link.xml").symlink_to(outside)
    error = refused(path, "outside the model's folder")
    assert (error.line, error.element) == (4, "<include>")
    assert "passwords" not in str(error)


def test_models_beside_the_folder_are_included(tmp_path):
    write(tmp_path, part(BALL.format("b")), "out.xml")
    path = write(tmp_path, mjcf(include("../out.xml")), "model/main.xml")
    assert load_mjcf(path).body_names == ("b",)


def test_missing_and_faulty_includes_are_refused_at_their_place(tmp_path):
    error = refused(write(tmp_path, mjcf(include("none.xml")), "main.xml"), "does not exist")
    assert error.line == 4
    write(tmp_path, "<mujocoinclude>\n<body>", "half.xml")
    error = refused(write(tmp_path, mjcf(include("half.xml")), "main.xml"), "truncated")
    assert error.file == str(tmp_path / "half.xml")
    write(tmp_path, "<!DOCTYPE a>\n<mujocoinclude/>", "type.xml")
    refused(write(tmp_path, mjcf(include("type.xml")), "main.xml"), "document type")


def test_mujocos_complaints_carry_the_line_of_the_included_file(tmp_path):
    write(tmp_path, part('<body name="b">', '<joint typo="1"/>', "</body>"), "b.xml")
    error = refused(write(tmp_path, mjcf(include("b.xml")), "main.xml"), "unrecognized attribute: 'typo'")
    assert (error.file, error.line, error.element) == (str(tmp_path / "b.xml"), 3, '<joint> of body "b"')


@pytest.mark.parametrize(
    ("world", "rest", "line", "message"),
    [
        ('<body name="a"/>\n<body name="a"/>', "", 5, "repeated name 'a'"),
        ('<body name="a"><joint/></body>', "", 4, "mass and inertia of moving bodies"),
        ('<body name="a"><joint/><geom size="0.1" mass="-1"/></body>', "", 4, "mass"),
        (
            BALL.format("a"),
            '<actuator>\n<motor joint="no"/></actuator>',
            7,
            "unknown transmission target 'no'",
        ),
        ('<flexcomp name="f" type="grid"/>', "", 4, "flexible bodies"),
        ("", '<asset><model name="m" file="m.xml"/></asset>', 6, "attached file 'm.xml' does not exist"),
    ],
)
def test_faulty_models_are_refused_at_their_line(tmp_path, world, rest, line, message):
    path = write(tmp_path, mjcf(world, rest), "main.xml")
    error = refused(path, message)
    assert (error.file, error.line) == (str(path), line)


# ---------------------------------------------------------------------- meshes

MESH_BODY = '<body name="a">{}<joint/><geom type="mesh" mesh="m" {}/></body>'
ASSET = '<asset><mesh name="m" file="m.obj"/></asset>'


def test_meshes_are_read_from_the_mesh_folder(tmp_path):
    write(tmp_path, TETRAHEDRON, "assets/m.obj")
    text = mjcf(MESH_BODY.format("", ""), before='<compiler meshdir="assets"/><asset><mesh file="m.obj"/></asset>')
    robot = load_mjcf(write(tmp_path, text, "main.xml"))
    assert robot.bodies[0].shapes[0].kind == "mesh"
    assert robot.total_mass == pytest.approx(1000 / 6, rel=1e-5)


def test_meshes_at_absolute_paths_are_refused(tmp_path):
    write(tmp_path, TETRAHEDRON, "out/m.obj")
    asset = f'<compiler meshdir="{tmp_path}/out"/>{ASSET}'
    path = write(tmp_path, mjcf(MESH_BODY.format("", ""), before=asset), "model/main.xml")
    error = refused(path, "outside the model's folder.* is absolute")
    assert error.element == 'mesh "m"'
    assert load_mjcf(path, allow_outside=True).nv == 1


def test_meshes_beside_the_folder_are_read(tmp_path):
    write(tmp_path, TETRAHEDRON, "out/m.obj")
    asset = '<asset><mesh name="m" file="../out/m.obj"/></asset>'
    assert load_mjcf(write(tmp_path, mjcf(MESH_BODY.format("", ""), before=asset), "model/main.xml")).nv == 1


def test_files_that_included_files_name_may_lie_beside_these(tmp_path):
    """As in MuJoCo: the main file's folder comes first."""
    write(tmp_path, part(include("assets.xml"), include("more.xml")), "parts/all.xml")
    write(tmp_path, part('<asset><mesh name="m" file="../meshes/m.obj"/></asset>'), "parts/assets.xml")
    write(tmp_path, part('<option gravity="0 0 -2"/>'), "parts/more.xml")
    write(tmp_path, TETRAHEDRON, "meshes/m.obj")
    text = mjcf(MESH_BODY.format("", ""), before=include("parts/all.xml") + '<compiler meshdir="none"/>')
    path = write(tmp_path, text, "main.xml")
    robot = load_mjcf(path)
    assert robot.total_mass == pytest.approx(mujoco.MjModel.from_xml_path(str(path)).body_mass[1], rel=1e-12)
    assert robot.gravity == (0.0, 0.0, -2.0)
    write(tmp_path, part('<option gravity="0 0 -3"/>'), "more.xml")
    assert load_mjcf(path).gravity == (0.0, 0.0, -3.0)


DEFAULT = '<default><default class="v"><geom type="mesh" mesh="m" density="0"/></default></default>'


@pytest.mark.parametrize(
    ("world", "before"),
    [
        (MESH_BODY.format(INERTIAL, ""), ""),
        (MESH_BODY.format("", 'mass="0"').replace("</body>", '<geom size="0.1"/></body>'), ""),
        ('<body name="a"><joint/><geom size="0.1"/><geom class="v"/></body>', DEFAULT),
        (
            '<body name="a" childclass="v"><joint/><geom/><frame><geom/></frame>' + INERTIAL + "</body>",
            DEFAULT,
        ),
        ('<geom type="mesh" mesh="m"/>' + BALL.format("a"), ""),
        ('<body name="s"><geom type="mesh" mesh="m"/></body>' + BALL.format("a"), ""),
    ],
)
def test_missing_meshes_that_carry_no_moving_mass_make_one_warning(tmp_path, world, before):
    path = write(tmp_path, mjcf(world, before=ASSET + before), "main.xml")
    with pytest.warns(UserWarning, match=r"meshes that were not found: m\.obj") as record:
        robot = load_mjcf(path)
    assert len(record) == 1
    assert all(shape.kind != "mesh" for body in robot.bodies for shape in body.shapes)


@pytest.mark.parametrize("before", ["", '<compiler inertiafromgeom="true"/>'])
def test_missing_meshes_that_would_give_mass_are_refused(tmp_path, before):
    inertial = INERTIAL if before else ""
    path = write(tmp_path, mjcf(MESH_BODY.format(inertial, ""), before=ASSET + before), "main.xml")
    error = refused(path, "mesh 'm' would give body \"a\" its mass, but 'm.obj' is missing")
    assert (error.line, error.element) == (4, '<geom> of body "a"')


def test_missing_masses_can_be_left_out(tmp_path):
    world = MESH_BODY.format("", "").replace("</body>", '<geom size="0.1"/></body>')
    path = write(tmp_path, mjcf(world, before=ASSET), "main.xml")
    with pytest.warns(UserWarning, match="masses of bodies from those meshes: a"):
        assert load_mjcf(path, strict=False).nv == 1


def test_without_mujoco_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match=r"leastaction\[mjcf\]"):
        load_mjcf(write(tmp_path, mjcf(BALL.format("a")), "main.xml"))


def test_warnings_of_mujoco_leave_no_file(tmp_path, monkeypatch):
    """By itself it writes them to MUJOCO_LOG.TXT in the folder of the user."""
    import mujoco

    from leastaction.formats.mjcf._mjcf_compiler import quiet

    monkeypatch.chdir(tmp_path)
    before = mujoco.get_mju_user_warning()
    text = '<mujoco><worldbody><geom size="0.1" pos="nan 0 0"/></worldbody></mujoco>'
    with pytest.warns(LeastActionWarning, match="MuJoCo warns: XML contains a 'NaN'"), quiet(mujoco):
        mujoco.MjModel.from_xml_string(text)
    assert not list(tmp_path.iterdir())
    assert mujoco.get_mju_user_warning() is before
