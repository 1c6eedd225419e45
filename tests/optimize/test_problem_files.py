"""Problems in TOML files."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import leastaction as la
from leastaction import optimize as opt
from leastaction.cli import app

pytest.importorskip("casadi")

SWING_UP = """
robot = "cart_pole"
steps = 20
duration = [1.5, 2.5]

[start]
q = [0, 0]
v = [0, 0]

[finish]
q = {rail = 0, pivot = 3.141592653589793}
v = [0, 0]

[bounds]
u = [-20, 20]
q = {rail = [-2, 2]}

[costs]
effort = 1
time = {weight = 0.5}

[[constraints]]
kind = "clearance"
body = "pole"
center = [3.0, 0, 0]
radius = 0.1
"""

HOP = """
robot = "hopper.urdf"
steps = 8
dt = 0.05
integrator = "galerkin:4"

[costs]
effort = 1

[feet.left]
body = "link1"
friction = 0.5

[[phases]]
steps = 5
feet = ["left"]
[[phases]]
steps = 3

[contact]
early = true
ground = {kind = "gaps", places = [[0.5, 1.0]]}
points = [{body = "link1", radius = 0.1}]
"""


def test_a_problem_from_a_file(tmp_path):
    file = tmp_path / "swing.toml"
    file.write_text(SWING_UP)
    out = CliRunner().invoke(app, ["optimize", str(file), "--json"])
    assert out.exit_code == 0, out.output
    figures = json.loads(out.output)
    assert figures["success"] is True
    assert 1.5 <= figures["duration"] <= 2.5
    problem = opt.read_problem(file, steps=10)
    assert problem.steps == 10
    assert [c.function.name for c in problem.costs] == ["effort", "time"]
    assert len(problem.constraints) == 1
    np.testing.assert_allclose(problem.finish_position, [0, np.pi])


def test_feet_contacts_and_robots_in_files(tmp_path):
    b = la.MechanismBuilder("hopper")
    b.body("link1", inertia=la.mechanism.Inertia(1.0, (0, 0, 0), 0.1))
    b.prismatic("lift", "world", "link1", axis="z")
    la.formats.save_urdf(b.build(), tmp_path / "hopper.urdf")
    (tmp_path / "hop.toml").write_text(HOP)
    problem = opt.read_problem(tmp_path / "hop.toml")
    assert problem.mechanism.nv == 1
    assert problem.integrator == la.Galerkin(order=4)
    assert [(p.steps, [f.friction for f in p.feet]) for p in problem.schedule.phases] == [(5, [0.5]), (3, [])]
    assert problem.schedule.early
    assert problem.schedule.touches[0].radius == 0.1
    assert problem.schedule.terrain == opt.gaps([(0.5, 1.0)])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('robot = "cart_pole"', 'robot = "cart_ploe"', "cart_pole"),
        ('robot = "cart_pole"', "", "robot is missing"),
        ("steps = 20", "", "steps is missing"),
        ("steps = 20", "stpes = 20", "there is no 'stpes'; did you mean 'steps'"),
        ("effort = 1", "efort = 1", "costs: there is no 'efort'; did you mean 'effort'"),
        ("effort = 1", "reach = {body = 'pole'}", "costs.reach: target is missing"),
        ('kind = "clearance"', 'kind = "clear"', "constraints: kind: there is no 'clear'"),
        ("radius = 0.1", "radius = 0.1\nsize = 3", "constraints clearance: there is no 'size'"),
        ("u = [-20, 20]", "u = 20", "bounds: u: expected"),
        ("q = [0, 0]", "q = [0, 0, 0]", r"start: q: expected shape \(2,\)"),
        ("steps = 20", "steps = = 20", "no problem can be read"),
        ("[costs]", "phases = 3\n[costs]", "bounds: there is no 'phases'"),
    ],
)
def test_wrong_files_say_what_is_wrong(tmp_path, old, new, message):
    file = tmp_path / "wrong.toml"
    assert old in SWING_UP
    file.write_text(SWING_UP.replace(old, new, 1))
    with pytest.raises(la.LeastActionError, match=message) as found:
        opt.read_problem(file)
    assert "wrong.toml" in str(found.value)
    out = CliRunner().invoke(app, ["optimize", str(file)])
    assert out.exit_code == 1
