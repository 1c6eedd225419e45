"""Pages, films and pictures as files: whole or not at all, and what they say is what was put in."""

import base64
import gzip
import json
import re
import sys

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import FormatError, LeastActionError, MissingExtraError
from leastaction.view import build_scene, export_html, export_mp4, screenshot

SMALL = {"width": 96, "height": 64}


@pytest.fixture(scope="module")
def run():
    return la.simulate(la.robots.pendulum(), q=[1.0], dt=0.02, duration=0.4, integrator=la.SemiImplicitEuler())


def test_a_picture_is_what_the_file_holds(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    picture = screenshot(run, tmp_path / "run.png", time=0.2, **SMALL)
    assert picture.shape == (64, 96, 3)
    assert np.array_equal(np.asarray(image.open(tmp_path / "run.png")), picture)
    assert (picture != screenshot(run, time=0.0, **SMALL)).any()
    assert [path.name for path in tmp_path.iterdir()] == ["run.png"]


def test_a_film_has_the_frames_of_its_time(run, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    done = []
    path = export_mp4(run, tmp_path / "run.mp4", fps=20, speed=0.5, progress=lambda *k: done.append(k), **SMALL)
    frames, seconds = ffmpeg.count_frames_and_secs(path)
    assert frames == 17  # 0.4 s at half speed, 20 frames each second, and the first one
    assert seconds == pytest.approx(17 / 20, abs=0.06)
    assert done[-1] == (17, 17)


def test_an_animated_picture_moves(run, tmp_path):
    image = pytest.importorskip("PIL.Image")
    with image.open(export_mp4(run, tmp_path / "run.gif", fps=10, **SMALL)) as film:
        assert film.n_frames == 5
        first = np.asarray(film.convert("RGB"))
        film.seek(4)
        assert (np.asarray(film.convert("RGB")) != first).any()


def read_page(text):
    scene = json.loads(re.search(r'<script id="scene" type="application/json">(.*?)</script>', text, re.DOTALL)[1])
    packed = re.search(r'<script id="data" type="application/octet-stream">(.*?)</script>', text, re.DOTALL)[1]
    return scene, gzip.decompress(base64.b64decode(packed))


def test_a_page_holds_the_poses_of_its_scene(run, tmp_path):
    scene = build_scene(run)
    text = export_html(scene, tmp_path / "run.html").read_text("utf-8")
    told, data = read_page(text)
    place = told["actors"][0]["poses"]
    assert place["start"] % 4 == 0
    poses = np.frombuffer(data, np.float32, place["count"], place["start"]).reshape(scene.actors[0].poses.shape)
    assert poses == pytest.approx(scene.actors[0].poses, abs=1e-6)
    times = told["t"]
    assert np.frombuffer(data, np.float32, times["count"], times["start"]) == pytest.approx(scene.t)


def test_a_page_needs_no_network(run, tmp_path):
    text = export_html(run, tmp_path / "run.html").read_text("utf-8")
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)|@import|url\(|fetch\(|import\(|https?://""", text)


def test_names_cannot_break_out_of_a_page(run, tmp_path):
    evil = "</script><script>alert(1)</script>"
    text = export_html(run, tmp_path / "run.html", labels=[evil], title=evil).read_text("utf-8")
    assert evil not in text
    assert read_page(text)[0]["actors"][0]["label"] == evil


def test_equal_meshes_are_stored_once(tmp_path):
    one = build_scene(la.robots.pendulum(links=1))
    many = build_scene(la.robots.pendulum(links=8))
    first, last = (read_page(export_html(s, tmp_path / "x.html").read_text("utf-8"))[0] for s in (one, many))
    assert len(last["meshes"]) == len(first["meshes"])
    assert len(last["actors"][0]["parts"]) > len(first["actors"][0]["parts"])


def test_bad_requests_leave_no_file(run, tmp_path, monkeypatch):
    with pytest.raises(FormatError, match=r"expected \.mp4 or \.gif, got '\.avi'"):
        export_mp4(run, tmp_path / "run.avi")
    with pytest.raises(FormatError, match=r"expected \.png"):
        screenshot(run, tmp_path / "run.jpg")
    with pytest.raises(FormatError, match="does not exist"):
        export_html(run, tmp_path / "nowhere" / "run.html")
    with pytest.raises(LeastActionError, match="width must be an even number"):
        export_mp4(run, tmp_path / "run.mp4", width=97)
    with pytest.raises(LeastActionError, match="speed must be positive"):
        export_mp4(run, tmp_path / "run.mp4", speed=0.0)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtraError, match=r'pip install "leastaction\[video\]"'):
        export_mp4(run, tmp_path / "run.mp4", **SMALL)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(FormatError, match="this is a folder"):
        export_html(run, tmp_path / "folder.html")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=r'pip install "leastaction\[view\]"'):
        la.view(run, block=False)


def test_the_module_is_the_viewer():
    assert callable(la.view)
    assert la.view.export_html is export_html
    with pytest.raises(AttributeError, match="no attribute 'export_avi'"):
        la.view.export_avi  # noqa: B018
