"""Makes the pictures of the documentation: python docs/pictures.py [names] (needs the extras, playwright, Chromium).

Names: `plots` (drawn by matplotlib), `scenes` and `films` (by the package's own renderer), `pages` (in a browser),
`applications` (by the scripts in `examples/`, some minutes); default all.
"""

import json
import math
import runpy
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.view.files import _png

IMAGES = Path(__file__).parent / "images"
EXAMPLES = Path(__file__).parents[1] / "examples"
FLAGS = ("--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
SIZE = {"width": 1000, "height": 560}


def leap():
    """Unitree A1 in flight, from its stance."""
    robot = la.robots.unitree_a1()
    v = np.zeros(robot.nv)
    v[[1, 3, 5]] = -1.2, 1.0, 2.6  # it pitches, goes forward and up
    v[6:] = np.tile([0.0, -2.0, 4.0], 4)
    return la.simulate(robot, q=la.robots.home(robot), v=v, dt=0.005, duration=0.5, integrator=la.Galerkin(order=4))


def zoo(columns=5, width=256, height=192):
    """Most robots of the catalogue in one picture, shape (rows, columns, 3)."""
    others = ("free_body", "n_four_bar", "acrobot", "spatial_chain", "pendulum", "three_link_loop")
    names = [entry.name for entry in la.robots.catalogue() if entry.name not in others]
    tiles = [named(la.view.screenshot(la.robots.get(name), width=width, height=height), name) for name in names]
    rows = [np.concatenate(tiles[k : k + columns], axis=1) for k in range(0, len(tiles), columns)]
    return np.concatenate(rows)


def named(picture, text):
    """The picture with a line of text below."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.fromarray(picture)
    ImageDraw.Draw(image).text((8, image.height - 20), text, fill=(70, 75, 85), font=ImageFont.load_default(13))
    return np.array(image)


def pendulum():
    robot = la.robots.double_pendulum()
    return la.simulate(robot, q=[1.57, 0.0], dt=0.01, duration=10.0, integrator=la.Galerkin(order=4))


def four_bar():
    robot = la.robots.four_bar()
    return la.simulate(robot, q=la.robots.home(robot), dt=0.01, duration=5.0, integrator=la.Galerkin(order=4))


def save(path, shot):
    """As a PNG file with a palette, which is a third of the size."""
    from PIL import Image

    Image.open(shot).convert("RGB").quantize(255, dither=Image.Dither.NONE).save(path, optimize=True)


def energies():
    """The picture of the README: a minute of a double pendulum with four integrators."""
    robot = la.robots.double_pendulum()
    methods = {
        "semi-implicit Euler": la.SemiImplicitEuler(),
        "Runge-Kutta 4": la.RungeKutta(order=4),
        "Galerkin 2 (variational)": la.Galerkin(order=2),
        "Galerkin 4 (variational)": la.Galerkin(order=4),
    }
    options = {"q": [0.5 * math.pi, 0.0], "dt": 0.01, "duration": 60.0}
    return [la.simulate(robot, integrator=i, **options) for i in methods.values()], list(methods)


def crate():
    """The run of docs/tutorial/contact.md."""
    b = la.MechanismBuilder("crate")
    b.body("crate", mass=2.0, shapes=la.mechanism.Box((0.4, 0.4, 0.4), friction=0.5))
    b.free("crate")
    b.add_shape("world", la.mechanism.Plane())
    robot = b.build()
    q = robot.normalize([0.0, 0.0, 0.6, 0.92, 0.31, 0.24, 0.0])
    return la.simulate(robot, q, [0, 0, 0, 1.0, 0, 0], dt=0.01, duration=2.0, integrator=la.Maximal())


def reaching_arm():
    """The run of docs/tutorial/gradient.md."""
    from scipy.optimize import minimize

    arm = la.robots.serial_arm(dof=4)
    arm = arm.replace(joints=tuple(replace(joint, damping=(4.0,)) for joint in arm.joints))
    goal = la.derivatives.reach("link4", (0, 0, 0.35), [0.6, 0.3, 0.7])
    objective = la.derivatives.SimulationObjective(
        arm, la.BDF(order=2), goal, ["controls"], scale={"controls": 10.0}, dt=0.02, steps=30
    )
    found = minimize(objective, objective.start, jac=True, method="L-BFGS-B", options={"maxiter": 40})
    return objective.run(found.x)


def swing_up():
    """The solution of docs/tutorial/swing_up.md."""
    problem = la.optimize.Problem(la.robots.cart_pole(), steps=60, duration=2.0)
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[0, math.pi], v=[0, 0]).bounds(u=(-20, 20), q={"rail": (-2, 2)})
    return problem.minimize(la.optimize.effort()).solve()


def plots(shot):
    runs, labels = energies()
    la.plot.energy(runs, labels=labels, path=shot, error=True, worst=True)
    save(IMAGES / "double_pendulum_energy.png", shot)
    swing_up().plot().savefig(shot, dpi=120)
    save(IMAGES / "tutorial_swing_up.png", shot)


def scenes(shot):
    run = crate()
    times = [0.0, 0.3, 0.5, 0.7, 2.0]
    strip(shot, "tutorial_contact", run, times, traces=["crate"], follow=False)
    arm = reaching_arm()
    strip(shot, "tutorial_arm", arm, [0.0, 0.2, 0.4, 0.6], traces=[("link4", (0, 0, 0.35))], follow=False)
    Path(shot).write_bytes(_png(zoo()))
    save(IMAGES / "view_zoo.png", shot)


def strip(shot, name, run, times, width=300, height=300, **options):
    """Several moments of a run side by side."""
    scene = la.view.build_scene(run, plots=(), **options)
    tiles = [la.view.screenshot(scene, time=t, width=width, height=height) for t in times]
    Path(shot).write_bytes(_png(np.concatenate(tiles, axis=1)))
    save(IMAGES / f"{name}.png", shot)


def pages(shot):
    from playwright.sync_api import sync_playwright

    shots = {
        "pendulum": (pendulum(), 3.3, {"traces": [("link2", (0.0, 0.0, -1.0))], "plots": ("energy", "momentum")}),
        "four_bar": (four_bar(), 0.32, {"plots": ("energy", "violation")}),
        "unitree_a1": (leap(), 0.26, {"plots": ("energy", "momentum"), "follow": False}),
    }
    folder = Path(shot).parent
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        options = {"executable_path": program, "args": list(FLAGS), "viewport": SIZE}
        browser = playwright.chromium.launch_persistent_context(f"{folder}/profile", **options)
        page = browser.new_page()
        for name, (run, time, settings) in shots.items():
            path = la.view.export_html(run, f"{folder}/{name}.html", **settings)
            page.goto(Path(path).as_uri())
            page.wait_for_function("window.player && player.drawn > 2")
            page.evaluate(f"player.setPlaying(false); player.seek({time})")
            page.wait_for_function("!player.dirty")
            page.screenshot(path=shot)
            save(IMAGES / f"view_{name}.png", shot)
        with la.view(la.robots.atlas(), block=False, open_browser=False) as viewer:
            served(page, viewer, "back_bkz")
            page.screenshot(path=shot)
            save(IMAGES / "view_atlas.png", shot)
        sim = la.Simulator(la.robots.pendulum(3), la.Galerkin(order=2), dt=0.01)
        with la.view(sim, block=False, open_browser=False, play=False, camera=(-1.57, 0.2)) as viewer:
            served(page, viewer, "joint3")
            x, y = 0.338 * SIZE["width"], 0.75 * SIZE["height"]  # the last link, as it hangs
            page.mouse.move(x, y)
            page.mouse.down()
            page.mouse.move(x + 120, y - 120, steps=12)
            viewer.play()
            page.wait_for_timeout(4000)
            page.screenshot(path=shot)
            page.mouse.up()
            save(IMAGES / "view_live.png", shot)
        browser.close()


def served(page, viewer, text):
    """Wait until the page of a viewer shows this text, and close what the browser has to say about itself."""
    page.goto(viewer.url)
    page.get_by_text(text).first.wait_for()
    page.wait_for_timeout(3000)
    for close in page.locator(".mantine-Notification-closeButton").all():
        close.click()
    page.wait_for_timeout(1500)


def applications(shot):
    """What the scripts of docs/examples.md draw, and a stride of the gait that the quadruped has learnt."""
    pictures = {"quadruped": "learning_to_walk", "exoskeleton": "exoskeleton_torques", "leg_chain": "leg_chains"}
    pictures |= {"mpc": "mpc_pushes"}
    for script, name in pictures.items():
        folder = Path(shot).parent / script
        program = EXAMPLES / f"{script}.py"
        sys.argv = [str(program), "--output", str(folder)]
        made = runpy.run_path(str(program), run_name="__main__")
        save(IMAGES / f"{name}.png", next(folder.glob("*.png")))
        if script == "quadruped":
            gait = json.loads((folder / "gait.json").read_text())["parameters"]
            run = made["walk"](made["quadruped"](), np.array(list(gait.values())), 2.0, 0.001)
            stride = 0.1 / gait["b"]  # [s]
            strip(shot, "quadruped_walks", run, 1.5 + stride * np.arange(4) / 4, width=360, height=280)
            figure = la.plot.contacts(run)
            figure.axes[0].set_xlim(1.5, 2.0)
            figure.savefig(shot, dpi=150)
            save(IMAGES / "quadruped_contacts.png", shot)


def drop(robot):
    """The robot let go a quarter of a metre above the ground, limp."""
    q = la.robots.home(robot)
    q[2] += 0.25
    return la.simulate(robot, q, dt=0.005, duration=1.6, integrator=la.Maximal())


def films(shot):
    """The moving pictures of docs/gallery.md."""
    bricard = la.robots.bricard()
    chain = la.robots.pendulum(links=6)
    governor = la.robots.flyball_governor()
    home = la.robots.home
    runs = {
        "chain": (
            la.simulate(chain, q=[1.4, *[0.3] * 5], dt=0.005, duration=4.0, integrator=la.Galerkin(order=4)),
            {"traces": [("link6", (0, 0, -1.0))]},
        ),
        "bricard": (la.simulate(bricard, home(bricard), dt=0.005, duration=4.0, integrator=la.Galerkin(order=4)), {}),
        "governor": (
            la.simulate(governor, home(governor), dt=0.005, duration=4.0, integrator=la.Maximal()),
            {},
        ),
        "crate": (crate(), {"speed": 0.5}),
        "unitree_a1": (drop(la.robots.unitree_a1(ground=True)), {"speed": 0.4}),
        "minitaur": (drop(la.robots.minitaur(ground=True, friction=0.6)), {"speed": 0.4}),
        "swing_up": (swing_up().trajectory, {"speed": 0.5}),
        "leap": (leap(), {"speed": 0.125, "follow": False}),
    }
    for name, (run, options) in runs.items():
        path = Path(shot).with_name(f"{name}.gif")
        la.view.export_mp4(run, path, width=320, height=240, fps=15, **options)
        shutil.copyfile(path, IMAGES / f"film_{name}.gif")


def main():
    kinds = {"plots": plots, "scenes": scenes, "films": films, "pages": pages, "applications": applications}
    with tempfile.TemporaryDirectory() as folder:
        for kind in sys.argv[1:] or list(kinds):
            kinds[kind](f"{folder}/shot.png")


if __name__ == "__main__":
    main()
