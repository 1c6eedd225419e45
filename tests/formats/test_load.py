"""`load` tells formats apart by the root element, and names what it cannot read."""

import sys

import pytest

import leastaction as la
from leastaction.formats import load, load_mjcf, load_urdf
from leastaction.formats._xml import Element
from leastaction.formats.mjcf._mjcf_bodies import Names
from tests.formats.models import arm, mjcf, write

BALL = '<body name="ball"><freejoint/><geom size="0.1"/></body>'


@pytest.mark.parametrize("name", ["robot.urdf", "robot.xml", "robot.URDF"])
def test_a_robot_element_is_urdf_whatever_the_extension(tmp_path, name):
    assert load(write(tmp_path, arm(), name)) == load_urdf(tmp_path / name)


def test_a_mujoco_element_is_mjcf(tmp_path):
    path = write(tmp_path, mjcf(BALL), "scene.xml")
    assert load(path) == load_mjcf(path)
    assert load(str(path)).joint_names == ("ball_free",)


def test_load_is_at_the_front_door():
    assert la.load is load


@pytest.mark.parametrize(
    ("name", "root", "what"),
    [
        ("scene.xml", "redmax", "DiffRedMax"),
        ("thing.xml", "html", "unknown format"),
    ],
)
def test_other_formats_are_refused_by_name_root_and_line(tmp_path, name, root, what):
    path = write(tmp_path, f'<?xml version="1.0"?>\n<!-- a comment -->\n<{root}/>', name)
    with pytest.raises(la.FormatError, match=f"{what}.*<{root}>") as error:
        load(path)
    assert (error.value.file, error.value.line) == (str(path), 3)


def test_unknown_extensions_are_refused_unread(tmp_path):
    with pytest.raises(la.FormatError, match=r"unknown extension '.step'"):
        load(tmp_path / "robot.step")
    with pytest.raises(la.FormatError, match=r"'.npz'; Trajectory.load reads runs"):
        load(tmp_path / "run.npz")


def test_options_reach_the_reader(tmp_path):
    assert load(write(tmp_path, arm()), floating_base=True).nq == 8
    with pytest.raises(la.FormatError, match="floating_base"):
        load(write(tmp_path, mjcf(BALL), "scene.xml"), floating_base=True)


@pytest.mark.parametrize(("reader", "text"), [(load_urdf, mjcf(BALL)), (load_mjcf, arm())])
def test_readers_refuse_the_other_format(tmp_path, reader, text):
    with pytest.raises(la.FormatError, match="root element"):
        reader(write(tmp_path, text))


def test_missing_files_and_folders_are_format_errors(tmp_path):
    with pytest.raises(la.FormatError, match="no such file"):
        load(tmp_path / "none.urdf")
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(la.FormatError, match="not a file"):
        load(tmp_path / "folder.urdf")


def test_many_shapes_take_time_that_grows_with_their_number(tmp_path, monkeypatch):
    """The children of a link are looked through once, not once for every shape."""
    looked = []
    plain = Element.all

    def counted(self, tag):
        looked.append(len(self.children))
        return plain(self, tag)

    monkeypatch.setattr(Element, "all", counted)
    work = []
    for count in (50, 100):
        looked.clear()
        shapes = '<collision><geometry><sphere radius="0.1"/></geometry></collision>' * count
        path = tmp_path / f"many{count}.urdf"
        path.write_text(f'<robot name="r"><link name="a">{shapes}</link></robot>')
        assert len(la.load(path).bodies[0].shapes) == count
        work.append(sum(looked))
    assert work[1] < 2.5 * work[0]


def test_made_up_names_are_found_at_once():
    class Counted(set):
        asked = 0

        def __contains__(self, name):
            Counted.asked += 1
            return super().__contains__(name)

    names = Names()
    names.taken = Counted()
    made = [names.unique("geom") for _ in range(100)]
    assert len(set(made)) == 100
    assert made[:3] == ["geom", "geom_2", "geom_3"]
    assert Counted.asked < 310


@pytest.mark.parametrize(("text", "reader"), [(arm(), load_urdf), (mjcf(BALL), load_mjcf)])
def test_a_text_reads_as_its_file_does(tmp_path, text, reader):
    assert la.load_string(text) == reader(write(tmp_path, text, "robot.xml"))


def test_a_text_names_files_relative_to_its_folder(tmp_path):
    write(tmp_path, f"<mujoco><worldbody>{BALL}</worldbody></mujoco>", "ball.xml")
    text = '<mujoco model="scene"><include file="ball.xml"/></mujoco>'
    assert la.load_string(text, folder=tmp_path).joint_names == ("ball_free",)
    with pytest.raises(la.FormatError, match="<string>:1"):
        la.load_string(text, folder=tmp_path / "..")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ball.xml"]


def test_a_text_may_have_keyframes_macros_and_an_encoding_that_was_its_file_s():
    key = '<keyframe><key name="up" qpos="0 0 1 1 0 0 0"/></keyframe></mujoco>'
    text = '<?xml version="1.0" encoding="utf-16"?>\n' + mjcf(BALL).replace("</mujoco>", key)
    assert la.load_string(text, keyframe="up").home()[2] == 1
    pytest.importorskip("xacro")
    text = '<robot name="é" xmlns:xacro="http://ros.org/wiki/xacro"><link name="${\'a\' + str(1)}"/></robot>'
    assert la.load_string(text).body_names == ("a1",)


def test_what_is_no_text_is_refused_and_a_text_in_place_of_a_path_names_the_remedy():
    with pytest.raises(la.FormatError, match="load_string needs a text, got bytes"):
        la.load_string(b"<robot/>")  # pyright: ignore[reportArgumentType]
    with pytest.raises(la.FormatError, match=r"looks like a path: load\('a/arm.urdf'\) reads it"):
        la.load_string("a/arm.urdf")
    with pytest.raises(la.FormatError, match=r"<string>:2: <x>: this is an unknown format"):
        la.load_string("\n<x/>")
    with pytest.raises(la.FormatError, match="there is no folder 'nowhere'"):
        la.load_string(arm(), folder="nowhere")
    with pytest.raises(la.FormatError, match="see load_string"):
        la.load("\n<robot/>")


def test_an_empty_path_is_not_the_folder_one_is_in():
    for empty in ("", "  "):
        with pytest.raises(la.FormatError, match="load needs the path of a file, got"):
            la.load(empty)


def test_folders_are_read_by_their_scene_or_their_only_model(tmp_path):
    write(tmp_path, arm(), "robot.urdf")
    assert load(tmp_path) == load(tmp_path / "robot.urdf")
    write(tmp_path, mjcf(BALL), "ball.xml")
    with pytest.raises(la.FormatError, match=r"ball\.xml, robot\.urdf, and no scene\.xml"):
        load(tmp_path)
    write(tmp_path, mjcf(BALL), "scene.xml")
    assert load(tmp_path) == load(tmp_path / "scene.xml")


def test_names_of_robot_descriptions_are_looked_up_there(tmp_path, monkeypatch):
    package = tmp_path / "robot_descriptions"
    package.mkdir()
    path = write(tmp_path, arm(), "robot.urdf")
    (package / "__init__.py").write_text("")
    (package / "arm_description.py").write_text(f"URDF_PATH = {str(path)!r}")
    (package / "lost_description.py").write_text("raise OSError('no network')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("robot_descriptions", "robot_descriptions.arm_description"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert load("arm_description") == load(path)
    with pytest.raises(la.FormatError, match="did you mean 'arm_description'"):
        load("arms_description")
    with pytest.raises(la.FormatError, match="cannot fetch 'lost_description': no network"):
        load("lost_description")
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        del sys.modules[name]
