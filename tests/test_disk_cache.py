"""What is kept on disk of the files of models: the same as what is made anew, and never in anybody's way."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction._disk_cache import cached_arrays, key_of, read, write
from leastaction.contact.narrow_phase import convex_hulls
from leastaction.formats.mjcf import _mjcf_compiler
from leastaction.mechanism import Mesh

KEY = key_of(b"key")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LEASTACTION_CACHE_DIR", str(tmp_path))
    convex_hulls.hull.cache_clear()
    yield tmp_path / "data"
    convex_hulls.hull.cache_clear()


def round_mesh() -> Mesh:
    points = np.random.default_rng(1).normal(size=(400, 3))
    return Mesh(points / np.linalg.norm(points, axis=1, keepdims=True))


def test_what_is_written_is_read(folder):
    write("kind", KEY, b"data")
    assert read("kind", KEY) == b"data"
    assert read("other", KEY) is None
    assert [path.suffix for path in folder.iterdir()] == [".data"]  # no temporary file is left


def test_keys_tell_where_one_part_ends():
    assert key_of(b"ab", b"c") != key_of(b"a", b"bc")


@pytest.mark.parametrize("damage", [lambda x: x[:-3], lambda x: x[:40] + bytes([x[40] ^ 1]) + x[41:], lambda _: b""])
def test_a_damaged_entry_is_made_anew(folder, damage):
    made = []

    def make():
        made.append(1)
        return [np.arange(5.0), np.arange(3)]

    cached_arrays("kind", KEY, make)
    (path,) = folder.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    again = cached_arrays("kind", KEY, make)
    assert len(made) == 2
    np.testing.assert_array_equal(again[0], np.arange(5.0))
    cached_arrays("kind", KEY, make)
    assert len(made) == 2  # the entry is whole again


def test_nothing_is_kept_where_nobody_may_write_or_the_disk_is_full(folder, monkeypatch):
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file in place of the folder")
    np.testing.assert_array_equal(cached_arrays("kind", KEY, lambda: [np.ones(2)])[0], np.ones(2))
    folder.unlink()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    np.testing.assert_array_equal(cached_arrays("kind", KEY, lambda: [np.ones(2)])[0], np.ones(2))
    assert list(folder.iterdir()) == []


def test_hulls_from_disk_are_those_made_anew(folder, monkeypatch):
    mesh = round_mesh()
    made = convex_hulls.hull(mesh)
    assert len(list(folder.iterdir())) == 1
    convex_hulls.hull.cache_clear()
    monkeypatch.setattr(convex_hulls, "thinned", None)  # it must not be called any more
    for one, other in zip(made, convex_hulls.hull(mesh), strict=True):
        np.testing.assert_array_equal(one, other)


def test_two_processes_at_once(folder):
    code = (
        "import numpy as np\n"
        "from leastaction._disk_cache import cached_arrays\n"
        "for k in range(30):\n"
        "    x, = cached_arrays('kind', str(k), lambda: [np.full(50_000, float(k))])\n"
        "    assert (x == k).all() and len(x) == 50_000\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ)) for _ in range(2)]
    assert [run.wait() for run in runs] == [0, 0]
    assert len(list(folder.iterdir())) == 30


@pytest.mark.oracle
def test_models_of_mujoco_from_disk_are_those_compiled_anew(folder, tmp_path, monkeypatch):
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><asset><mesh name="m" file="m.obj"/></asset>
      <worldbody><body name="stone"><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""
    mesh = round_mesh()
    lines = [f"v {x} {y} {z}" for x, y, z in mesh.vertices] + [f"f {a} {b} {c}" for a, b, c in mesh.faces + 1]
    (tmp_path / "m.obj").write_text("\n".join(lines))
    (tmp_path / "m.xml").write_text(text)
    monkeypatch.setattr(_mjcf_compiler, "LARGE", 0)
    monkeypatch.setattr(_mjcf_compiler, "LONG", 0.0)
    before = la.load(tmp_path / "m.xml")
    assert len(list(folder.glob("mjcf-*"))) == 1
    monkeypatch.setattr(mujoco.MjModel, "from_xml_string", None)  # it must not be called any more
    assert la.load(tmp_path / "m.xml") == before
