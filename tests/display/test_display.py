"""Robots and runs in notebooks and with rich: complete, escaped, and short for long robots. Progress in notebooks."""

import io
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

import leastaction as la
from leastaction._display import progress
from leastaction._files._page import LONGEST


def rich(thing, width=100):
    console = Console(file=io.StringIO(), width=width, markup=False)
    console.print(thing)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def run():
    robot = la.robots.double_pendulum()
    return la.simulate(robot, q=[1.0, 0.0], steps=5, integrator=la.Galerkin(order=4))


def test_a_robot_shows_its_bodies_joints_and_loops():
    robot = la.robots.four_bar()
    for text in (rich(robot), robot._repr_html_()):
        for name in (*robot.body_names, *robot.joint_names, "closure", "mass [kg]"):
            assert name in text


def test_branches_of_the_tree():
    text = rich(la.robots.four_bar())
    assert "├─ crank" in text
    assert "│  └─ coupler" in text
    assert "└─ rocker" in text
    assert "│  └─ coupler  [revolute" in str(la.robots.four_bar())


def test_a_run_prints_what_rich_shows(run):
    text = str(run)
    for part in ("Run of double_pendulum", "Galerkin(order=4)", "of the largest kinetic energy", "joint2"):
        assert part in text
        assert part in rich(run)
    assert repr(run) == "<Trajectory of 'double_pendulum': 5 steps of 0.01 s to 0.05 s>"


def test_limits_are_shown_where_there_are_any():
    assert "limits" not in rich(la.robots.pendulum())
    assert "limits" in rich(la.robots.atlas(), 200)


def test_long_robots_are_cut_short():
    robot = la.robots.pendulum(links=LONGEST + 30)
    assert "… 30 more" in rich(robot)
    assert robot._repr_html_().count("<tr>") == LONGEST + 1 + 1 + 3  # rows, gap, head, facts


def test_names_cannot_inject_html():
    b = la.MechanismBuilder("<script>alert(1)</script>")
    b.body("<b>", mass=1.0, inertia=1.0)
    b.revolute("hinge", "world", "<b>")
    page = b.build()._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_run_tells_what_it_kept(run):
    for text in (rich(run), run._repr_html_()):
        for words in ("Galerkin(order=4)", "5 of 0.01 s", "largest change of energy", "joint2", "rad"):
            assert words in text
    loops = la.simulate(la.robots.four_bar(), steps=2)
    assert "largest violation of a loop" in rich(loops)


def test_units_of_coordinates():
    from leastaction._display.units import coordinate_units

    b = la.MechanismBuilder("all")
    for name in ("a", "b", "c", "d"):
        b.body(name, mass=1.0, inertia=1.0)
    b.free("a", name="fly")
    b.spherical("ball", "a", "b")
    b.prismatic("slide", "b", "c")
    b.revolute("turn", "c", "d")
    robot = b.build()
    assert coordinate_units(robot) == ["m"] * 3 + ["1"] * 8 + ["m", "rad"]
    assert len(coordinate_units(robot)) == robot.nq


class Handle:
    """Stands for a cell of a notebook that is drawn again."""

    def __init__(self, first):
        self.drawn = [first.data]

    def update(self, html):
        self.drawn.append(html.data)


@pytest.fixture
def notebook(monkeypatch):
    """As if the code ran in a Jupyter kernel."""
    pytest.importorskip("IPython")
    shown = []
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: SimpleNamespace(kernel=1))
    functions = sys.modules["IPython.core.display_functions"]
    monkeypatch.setattr(functions, "display", lambda html, display_id: shown.append(Handle(html)) or shown[-1])
    return shown


def test_progress_in_a_notebook(notebook, monkeypatch):
    monkeypatch.setattr(progress, "UPDATE_EVERY", 0.0)
    monkeypatch.setattr(progress, "SHOW_AFTER", 0.0)
    with progress.Progress(10) as bar:
        bar.began -= 1.0
        for k in range(10):
            bar.update(k + 1)
    (cell,) = notebook
    assert 'value="3" max="10"' in cell.drawn[3]
    assert cell.drawn[-1] == ""  # cleared at the end


def test_a_notebook_sees_what_is_being_compiled(notebook):
    from leastaction._jit.messages import LISTENERS, report_compilation

    with progress.Progress(10):
        report_compilation("rollout")
        report_compilation("rollout", 2.0)
    assert LISTENERS == []
    assert "compiling rollout" in notebook[0].drawn[1]
    assert "compiled rollout in 2.0 s" in notebook[0].drawn[2]


def test_no_bar_where_nobody_sees_it(capsys):
    with progress.Progress(10) as bar:
        bar.began -= 100.0
        bar.update(1)
    assert bar.bar is None
    assert capsys.readouterr().err == ""
