"""Mesh files: found in the model's folder, read at the right size, or skipped with one warning."""

import numpy as np
import pytest

from leastaction.errors import FormatError
from leastaction.formats import load_urdf
from tests.formats.models import link, urdf, write

pytest.importorskip("trimesh")

# A tetrahedron with corners at the origin and on the axes, faces counter-clockwise from outside: volume 1/6.
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="cm" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common>
<accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#w"/></scene></COLLADA>
"""


def model(*filenames, scale=""):
    mesh = '<visual><geometry><mesh filename="{}" {}/></geometry></visual>'
    return urdf(link("a", "".join(mesh.format(name, scale) for name in filenames)))


def shapes(path, **options):
    return load_urdf(path, **options).bodies[0].shapes


@pytest.mark.parametrize(
    "filename", ["m.obj", "./m.obj", "meshes/../m.obj", "package://thing/m.obj", "package://any/m.obj"]
)
def test_meshes_are_found_in_the_models_folder(tmp_path, filename):
    write(tmp_path, TETRAHEDRON, "thing/m.obj")
    (shape,) = shapes(write(tmp_path, model(filename), "thing/robot.urdf"))
    assert shape.file == filename
    assert (shape.visual, shape.collision) == (True, False)
    np.testing.assert_array_equal(shape.vertices, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert shape.volume() == pytest.approx(1 / 6)


def test_a_package_below_the_model(tmp_path):
    write(tmp_path, TETRAHEDRON, "package/meshes/m.obj")
    for scheme in ("package", "model"):
        assert len(shapes(write(tmp_path, model(f"{scheme}://package/meshes/m.obj")))) == 1


@pytest.mark.parametrize(("scale", "sign"), [("2 3 4", 1), ("2 -3 4", -1)])
def test_scale_also_a_mirror_image_keeps_the_outside_outside(tmp_path, scale, sign):
    write(tmp_path, TETRAHEDRON, "m.obj")
    (shape,) = shapes(write(tmp_path, model("m.obj", scale=f'scale="{scale}"')))
    np.testing.assert_array_equal(np.ptp(shape.vertices, axis=0), [2, 3, 4])
    assert shape.vertices[2, 1] == sign * 3
    assert shape.volume() == pytest.approx(24 / 6)


def test_collada_has_units(tmp_path):
    write(tmp_path, COLLADA, "m.dae")
    (shape,) = shapes(write(tmp_path, model("m.dae")))
    np.testing.assert_allclose(np.ptp(shape.vertices, axis=0), [0.01] * 3, rtol=1e-12)


def test_missing_meshes_make_one_warning(tmp_path):
    path = write(tmp_path, model("a.obj", "b.stl", "package://c/d.dae", "http://e/f.stl", "g.obj", "a.obj", "h.obj"))
    with pytest.warns(UserWarning, match=r"meshes that were not found: a\.obj, b\.stl.* and 1 more") as record:
        assert shapes(path) == ()
    assert len(record) == 1
    assert record[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("m.obj", "v 1 2", "could not be read"),
        ("m.stl", "rubbish", "could not be read"),
        ("m.blend", "", "formats other than"),
        ("m.dae", '<!DOCTYPE x [<!ENTITY a "b">]>' + COLLADA.split("\n", 1)[1], "document type"),
    ],
)
def test_unreadable_meshes_make_one_warning(tmp_path, name, text, why):
    write(tmp_path, text, name)
    with pytest.warns(UserWarning, match=why):
        assert shapes(write(tmp_path, model(name))) == ()


def test_meshes_can_be_left_alone(tmp_path, recwarn):
    assert shapes(write(tmp_path, model("a.obj", "../b.obj")), meshes=False) == ()
    assert not recwarn


@pytest.mark.parametrize("filename", ["../m.txt", "/m.obj", "file:///m.obj", "package://a/../../m.txt", "link.obj"])
def test_other_files_outside_the_folder_are_refused(tmp_path, filename):
    """Absolute paths, and what is no mesh, even through a link that is called like one."""
    outside = write(tmp_path, TETRAHEDRON, "m.txt")
    path = write(tmp_path, model(filename), "thing/robot.urdf")
    (tmp_path / "thing/link.obj").symlink_to(outside)
    with pytest.raises(FormatError, match="outside the model's folder") as error:
        load_urdf(path)
    assert (error.value.line, error.value.element) == (2, '<mesh> of link "a"')


@pytest.mark.parametrize("filename", ["../m.obj", "package://pack/m.obj", "package://{}/m.obj", "file://{}/m.obj"])
def test_meshes_beside_the_folder_are_found(tmp_path, filename):
    write(tmp_path, TETRAHEDRON, "m.obj")
    write(tmp_path, TETRAHEDRON, "pack/m.obj")
    absolute = filename.startswith("file")
    filename = filename.format(tmp_path if absolute else tmp_path.name)
    path = write(tmp_path, model(filename), "thing/robot.urdf")
    assert len(shapes(path, allow_outside=absolute)) == 1


def test_meshes_of_other_kinds_that_are_missing_are_left_out(tmp_path):
    """As all that are missing, wherever they would be."""
    with pytest.warns(UserWarning, match="not found.*pack/m.gltf"):
        assert shapes(write(tmp_path, model("package://pack/m.gltf"), "thing/robot.urdf")) == ()


def test_packages_are_found_where_the_caller_or_the_environment_says(tmp_path, monkeypatch):
    write(tmp_path, TETRAHEDRON, "elsewhere/pack/m.obj")
    path = write(tmp_path, model("package://pack/m.obj"), "thing/robot.urdf")
    with pytest.warns(UserWarning, match="package_dirs or ROS_PACKAGE_PATH.*pack/m.obj"):
        assert shapes(path) == ()
    assert len(shapes(path, package_dirs=[tmp_path / "elsewhere"])) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'elsewhere'}")
    assert len(shapes(path)) == 1
    with pytest.raises(FormatError, match="package_dirs"):
        load_urdf(path, package_dirs=3)


def test_the_size_limit_holds_for_meshes(tmp_path):
    write(tmp_path, TETRAHEDRON + "# filler\n" * 1000, "m.obj")
    with pytest.raises(FormatError, match="larger than 2000 bytes"):
        load_urdf(write(tmp_path, model("m.obj")), max_bytes=2000)


def test_without_trimesh_the_robot_still_loads(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path))  # where no triangles are known
    write(tmp_path, TETRAHEDRON, "m.obj")
    with pytest.warns(UserWarning, match=r"leastaction\[urdf\]"):
        assert shapes(write(tmp_path, model("m.obj"))) == ()
