"""Pages and the viewer in a real browser: they load, they move, and nothing complains."""

import io
import time

import numpy as np
import pytest

import leastaction as la
from leastaction.view import export_html

PLAYED = "() => window.player && player.drawn > 2"


def simulate(robot, **options):
    return la.simulate(robot, dt=0.02, integrator=la.SemiImplicitEuler(), **options)


@pytest.fixture(scope="module")
def runs():
    robot = la.robots.double_pendulum()
    return [simulate(robot, q=[1.5, v], duration=2.0) for v in (0.0, 0.1)]


def pixels(page):
    """What the canvas shows, shape (height, width, 3)."""
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(page.locator("#view").screenshot())).convert("RGB")).astype(int)


def open_file(page, path):
    page.goto(path.as_uri())
    page.wait_for_function(PLAYED)


def test_a_page_plays_from_a_file_without_a_network(page, runs, tmp_path):
    path = export_html(runs[0], tmp_path / "run.html", traces=["link2"], plots=("energy", "momentum"))
    open_file(page, path)
    before = page.evaluate("player.time")
    page.wait_for_function(f"player.time !== {before} && player.drawn > 5")
    assert page.title() == "double_pendulum"
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    page.evaluate("player.setPlaying(false); player.seek(0)")
    page.wait_for_function("!player.dirty")
    start = pixels(page)
    page.evaluate("player.seek(1.0)")
    page.wait_for_function("!player.dirty")
    assert (np.abs(pixels(page) - start).sum(axis=2) > 60).sum() > 50  # the pendulum has moved
    assert len(np.unique(start.reshape(-1, 3), axis=0)) > 100  # and there is a picture
    assert page.evaluate("player.renderer.gl.getError()") == 0
    assert page.locator("#panels canvas").count() == 3


def test_the_controls_of_a_page(page, runs, tmp_path):
    open_file(page, export_html(runs, tmp_path / "runs.html", labels=["one", "two"]))
    assert page.locator("#legend").inner_text().split() == ["one", "two"]
    page.click("#play")
    assert page.evaluate("player.playing") is False
    held = page.evaluate("player.time")
    time.sleep(0.1)
    assert page.evaluate("player.time") == held
    page.evaluate("document.getElementById('scrub').value = 50; scrub.dispatchEvent(new Event('input'))")
    assert page.evaluate("player.frame") == 50
    page.focus("#view")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("player.frame") == 51
    page.keyboard.press("Home")
    assert page.evaluate("player.frame") == 0
    page.select_option("#speed", "0.25")
    assert page.evaluate("player.speed") == 0.25
    for name in ("axes", "follow", "side", "plots"):
        page.click(f"#switch-{name}")
        assert page.get_attribute(f"#switch-{name}", "aria-pressed") == str(name != "plots").lower()
    apart = page.evaluate("player.actors.map((a) => player.pose(a, 0, [0, 0]).position)")
    assert np.linalg.norm(np.subtract(*apart)) > 0.5  # side by side
    box = page.locator("#view").bounding_box()
    before = page.evaluate("[player.camera.azimuth, player.camera.distance]")
    page.mouse.move(box["x"] + 100, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 110)
    page.mouse.up()
    page.mouse.wheel(0, 200)
    page.wait_for_function(f"player.camera.distance > {before[1]}")
    assert page.evaluate("player.camera.azimuth") == pytest.approx(before[0] - 0.48)
    page.keyboard.press(" ")
    assert page.evaluate("player.playing") is True


def test_the_page_places_bodies_as_the_scene_does(page, runs, tmp_path):
    """Between frames too: positions on a line, orientations on the shorter arc."""
    scene = la.view.build_scene(runs[0])
    open_file(page, export_html(scene, tmp_path / "run.html"))
    k = 40
    pose = page.evaluate(f"player.pose(player.actors[0], 1, [{k}, 0])")
    assert pose["position"] == pytest.approx(scene.actors[0].poses[k, 1, :3], abs=1e-6)
    middle = page.evaluate(f"player.pose(player.actors[0], 1, [{k}, 0.5])")
    ends = scene.actors[0].poses[[k, k + 1], 1]
    assert middle["position"] == pytest.approx(ends[:, :3].mean(axis=0), abs=1e-6)
    ends[1, 3:] *= np.sign(ends[0, 3:] @ ends[1, 3:])
    turn = ends[:, 3:].mean(axis=0)
    assert middle["turn"] == pytest.approx(turn / np.linalg.norm(turn), abs=1e-6)


def test_springs_forces_and_a_robot_that_stands_still(page, tmp_path):
    open_one = export_html(la.robots.flyball_governor(), tmp_path / "still.html")
    page.goto(open_one.as_uri())
    page.wait_for_function("() => window.player && player.drawn > 0")
    assert page.locator("#play").is_hidden()
    robot = la.robots.unitree_a1(ground=True)
    run = simulate(robot.replace(ground=()), q=la.robots.home(robot), steps=3)
    run.stored["contact_forces"] = np.tile([0.0, 0.0, 30.0], (4, 4, 1))
    open_file(page, export_html(run, tmp_path / "a1.html"))
    page.evaluate("player.setPlaying(false); player.seek(0)")
    page.wait_for_function("!player.dirty")
    red = ((pixels(page) - [220, 40, 40])[..., 0] > -60) & (pixels(page)[..., 1] < 90) & (pixels(page)[..., 2] < 90)
    page.click("#switch-forces")
    page.wait_for_function("!player.dirty")
    without = (pixels(page)[..., 0] > 160) & (pixels(page)[..., 1] < 90) & (pixels(page)[..., 2] < 90)
    assert red.sum() > without.sum() + 30


def test_a_damaged_page_says_so(browser, runs, tmp_path):
    path = export_html(runs[0], tmp_path / "run.html")
    text = path.read_text("utf-8")
    at = text.index('octet-stream">') + 14
    path.write_text(text[:at] + "AAAA" + text[at + 4 :], "utf-8")
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.wait_for_function("!document.getElementById('message').hidden")
    assert "cannot be shown" in tab.locator("#message").inner_text()
    tab.close()


def test_the_viewer_plays_and_answers(page, runs):
    pytest.importorskip("viser")
    with la.view(runs, block=False, open_browser=False, port=8300, traces=["link2"], layout="side") as viewer:
        page.goto(viewer.url)
        page.wait_for_selector("canvas")
        deadline = time.monotonic() + 20.0
        while not viewer.server.get_clients() and time.monotonic() < deadline:
            page.wait_for_timeout(50)
        assert viewer.server.get_clients()
        seen = set()
        while len(seen) < 5 and time.monotonic() < deadline:
            seen.add(viewer.frame)
            page.wait_for_timeout(30)
        assert len(seen) >= 5  # frames advance
        viewer.pause()
        viewer.seek(1.0)
        assert viewer.scene.t[viewer.frame] == pytest.approx(1.0, abs=0.02)
        position = viewer.stage.frames[0][1].position
        assert position == pytest.approx(viewer.scene.actors[0].poses[viewer.frame, 1, :3])
        page.get_by_role("button", name="Play").click()
        while not viewer.playing and time.monotonic() < deadline:
            page.wait_for_timeout(30)
        assert viewer.playing
        assert viewer.url in viewer._repr_html_()
    assert [url for url in page.requests if "localhost" not in url and not url.startswith(("data:", "blob:"))] == []


def test_the_viewer_of_a_robot_has_sliders(page):
    pytest.importorskip("viser")
    with la.view(la.robots.pendulum(), block=False, open_browser=False, port=8310) as viewer:
        page.goto(viewer.url)
        page.get_by_text("joint1").first.wait_for()
        before = viewer.scene.actors[0].poses[0, 0].copy()
        field = page.locator("input").last
        field.fill("2")
        field.press("Enter")
        deadline = time.monotonic() + 10.0
        while np.allclose(viewer.scene.actors[0].poses[0, 0], before) and time.monotonic() < deadline:
            page.wait_for_timeout(30)
        expected = la.dynamics.body_poses(la.robots.pendulum(), [2.0])[0][:3, :3]
        from leastaction.mechanism.pose import rotation_matrix

        assert rotation_matrix(viewer.scene.actors[0].poses[0, 0, 3:]) == pytest.approx(expected, abs=0.02)


def test_a_simulation_goes_on_and_can_be_pulled(page):
    pytest.importorskip("viser")
    sim = la.Simulator(la.robots.pendulum(), la.RungeKutta(), dt=0.01)
    with la.view(sim, block=False, open_browser=False, port=8320, camera=(-1.57, 0.1)) as viewer:
        page.goto(viewer.url)
        page.get_by_role("button", name="Step").wait_for()
        deadline = time.monotonic() + 20.0

        def wait(done):
            while not done() and time.monotonic() < deadline:
                page.wait_for_timeout(30)
            assert done()

        wait(lambda: viewer.simulator.t > 0.1)
        assert sim.t == 0.0  # the viewer goes on with one of its own
        page.get_by_role("button", name="Pause").click()
        wait(lambda: not viewer.playing)
        page.get_by_role("button", name="Reset").click()
        wait(lambda: viewer.simulator.t == 0.0)
        page.get_by_role("button", name="Step").click()
        wait(lambda: viewer.simulator.steps == 1)
        box = page.locator("canvas").first.bounding_box()
        link = viewer.scene.actors[0].poses[0, 0, :3] + np.array([0.0, 0.0, -0.5])
        camera = next(iter(viewer.server.get_clients().values())).camera
        # Where the camera sees the middle of the link; the picture's height spans the field of view.
        forward = camera.look_at - camera.position
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right = right / np.linalg.norm(right)
        seen = link - camera.position
        scale = 0.5 * box["height"] / np.tan(0.5 * camera.fov) / (seen @ forward)
        x = box["x"] + 0.5 * box["width"] + scale * (seen @ right)
        y = box["y"] + 0.5 * box["height"] - scale * (seen @ np.cross(right, forward))
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 30, y, steps=4)
        wait(lambda: viewer._pull is not None)
        viewer.play()
        wait(lambda: abs(viewer.simulator.q[0]) > 0.02)  # it hangs at rest but for the pull
        page.mouse.up()
        wait(lambda: viewer._pull is None)
    page.complaints[:] = [text for text in page.complaints if "preventDefault" not in text]  # of viser's own listener


def test_a_simulation_that_compiles_says_so():
    """In the panel, for as long as the first step takes."""
    from leastaction._jit.messages import LISTENERS, report_compilation

    pytest.importorskip("viser")
    sim = la.Simulator(la.robots.pendulum())
    with la.view(sim, block=False, open_browser=False, play=False, port=8331) as viewer:
        step, seen = viewer.simulator.step, []

        def slow(u):
            for seconds in (None, 0.1):
                report_compilation("Galerkin", seconds)
                seen.append(viewer._message.content)
            step(u)

        viewer.simulator.step = slow
        viewer.step()
        assert seen == ["compiling Galerkin, once", ""]
        assert LISTENERS == []


def test_a_controller_that_fails_halts_the_simulation():
    pytest.importorskip("viser")
    sim = la.Simulator(la.robots.pendulum(), la.RungeKutta(), dt=0.01)
    with la.view(sim, controller=lambda sim: [1.0 / sim.t], block=False, open_browser=False, port=8330) as viewer:
        deadline = time.monotonic() + 20.0
        while viewer.playing and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not viewer.playing
        assert "ZeroDivisionError" in viewer._message.content
        assert viewer.simulator.steps == 0
    with la.view(sim, drive=False, block=False, open_browser=False, port=8330) as viewer:
        sim.step([5.0])
        viewer.sync()
        assert viewer.simulator is sim
        assert viewer._clock.content == "t = 0.01 s"
    for wrong in ({"controller": 3}, {"controller": lambda: 0.0}, {"pull": "yes"}, {"traces": ["link1"]}):
        with pytest.raises(la.LeastActionError):
            la.view(sim, block=False, open_browser=False, **wrong)
    with pytest.raises(la.LeastActionError, match="no option 'drive'"):
        la.view(sim.mechanism, drive=False)
