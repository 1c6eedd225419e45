"""Each verb does what it says, for people and as JSON."""

import csv
import json
import math
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import leastaction as la
from leastaction.cli import app
from leastaction.integration import registry

QUICK = ("--dt", "0.01", "--duration", "0.2")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def run_json(*arguments):
    return json.loads(run(*arguments, "--json"))


def test_robots():
    rows = run_json("robots")
    assert {row["name"] for row in rows} == {entry.name for entry in la.robots.catalogue()}
    assert next(row for row in rows if row["name"] == "double_pendulum")["dof"] == 2
    assert "double_pendulum" in run("robots")
    assert "mass [kg]" in run("robots")


def test_inspect_shows_tree_and_loops():
    text = run("inspect", "four_bar")
    assert "coupler" in text
    assert "loop 'closure'" in text
    assert "degrees of freedom: 1, of nv = 3 the loops and couplings take 2" in text
    facts = run_json("inspect", "pendulum", "--set", "links=3")
    assert facts["nv"] == 3
    assert facts["mass"] == pytest.approx(la.robots.pendulum(links=3).total_mass)
    assert [joint["name"] for joint in facts["joints"]] == ["joint1", "joint2", "joint3"]


@pytest.mark.parametrize("name", ["double_pendulum", "four_bar", "bricard", "andrews_squeezer"])
def test_inspect_counts_degrees_of_freedom(name):
    """As the catalogue does, where they are written down."""
    entry = next(e for e in la.robots.catalogue() if e.name == name)
    assert run_json("inspect", name)["degrees_of_freedom"] == entry.dof


def test_inspect_lets_a_base_without_mass_be(tmp_path):
    """Nearly every URDF file has one; it is welded to the world."""
    inertia = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    arm = f'<link name="arm"><inertial>{inertia}</inertial></link>'
    joint = '<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="r"><link name="base"/>{arm}{joint}</robot>')
    assert run_json("inspect", "arm.urdf")["warnings"] == []


def test_inspect_warns_about_what_is_odd():
    b = la.MechanismBuilder("odd")
    b.body("plate", mass=1e5, inertia=1e3)
    b.body("feather", mass=1e-3, inertia=1e-6)
    b.revolute("hinge", "world", "plate")
    b.revolute("quill", "plate", "feather", limits=(-1, 90))
    la.formats.save_urdf(b.build(), "odd.urdf")
    warnings = " ".join(run_json("inspect", "odd.urdf")["warnings"])
    assert "plate and feather differ by a factor of 1e+08" in warnings
    assert "has limits, which act with minimal, maximal, " in warnings
    assert "limits of joint quill are 14.3 turns away; angles are radians, not degrees" in warnings


def test_simulate_is_the_library():
    told = run_json("simulate", "double_pendulum", "--order", "4", "--q", "joint1=pi/2", *QUICK)
    robot = la.robots.double_pendulum()
    by_hand = la.simulate(robot, q=[math.pi / 2, 0], dt=0.01, duration=0.2, integrator=la.Galerkin(order=4))
    assert told["q"] == dict(zip(robot.coordinate_names, by_hand.q[-1].tolist(), strict=True))
    assert told["integrator"] == "galerkin:4"
    assert told["steps"] == 20
    assert told["energy_error"] == np.abs(by_hand.energy - by_hand.energy[0]).max()


def test_simulate_with_controls(tmp_path):
    """Held numbers, and a table: that of an exported run gives the run."""
    start = ("simulate", "double_pendulum", "--q", "0,0", *QUICK)
    held = run_json(*start, "--u", "joint2=0.5", "--save", "run.npz")
    by_hand = la.simulate(la.robots.double_pendulum(), dt=0.01, duration=0.2, controls=[0.0, 0.5])
    assert list(held["q"].values()) == by_hand.q[-1].tolist() != [0.0, 0.0]
    run("export", "run.npz", "--csv")
    assert run_json(*start, "--u", "run.csv")["q"] == held["q"]
    (tmp_path / "u.csv").write_text("joint2\n" + 20 * "0.5\n")
    assert run_json(*start, "--u", "u.csv")["q"] == held["q"]


def test_simulate_starts_at_home():
    told = run_json("simulate", "free_body", "--q", "home", *QUICK)
    home = next(entry for entry in la.robots.catalogue() if entry.name == "free_body")
    by_hand = la.simulate(home.robot, home.home(), home.home_velocity(), dt=0.01, duration=0.2)
    assert list(told["v"].values()) == by_hand.v[-1].tolist()
    assert told["momentum_drift"] < 1e-12


def test_simulate_writes_files(tmp_path):
    told = run_json(
        "simulate", "double_pendulum", *QUICK, "--save", "run", "--plot", "energy,q,phase", "--format", "svg"
    )
    files = {"run.npz", *(f"double_pendulum_{kind}.svg" for kind in ("energy", "q", "phase"))}
    assert set(told["files"]) == files
    assert {path.name for path in tmp_path.iterdir()} == files
    assert la.Trajectory.load("run").steps == 20


def test_simulate_tells_people():
    text = run("simulate", "double_pendulum", *QUICK)
    for words in ("Galerkin(order=4)", "largest change of energy", "joint2", "steps a second"):
        assert words in text


def test_options_of_an_integrator():
    told = run_json("simulate", "double_pendulum", *QUICK, "-o", "tolerance=1e-6")
    assert told["integrator"] == "galerkin:4:tolerance=1e-06"
    assert run_json("simulate", "pendulum", *QUICK, "-i", "runge-kutta:2")["integrator"] == "runge-kutta:2"


@pytest.mark.parametrize(
    ("robot", "chosen", "why"),
    [
        ("double_pendulum", "galerkin:4", "nothing touches"),
        ("cube", "maximal:2", "it has contacts"),
        ("serial_arm", "minimal", "it has joint limits"),
    ],
)
def test_the_integrator_that_a_robot_needs(robot, chosen, why):
    done = CliRunner().invoke(app, ["simulate", robot, *QUICK, "--json"])
    assert json.loads(done.stdout)["integrator"] == chosen
    assert why in done.stderr
    assert "--integrator takes another" in done.stderr
    named = CliRunner().invoke(app, ["simulate", robot, *QUICK, "--json", "-i", chosen])
    assert why not in named.stderr


def test_compare_tells_them_apart():
    """Semi-implicit Euler is of first order, Runge-Kutta of fourth: their energy errors differ by orders."""
    told = run_json("compare", "double_pendulum", "-i", "semi-implicit-euler,runge-kutta", "--duration", "1")
    euler, runge_kutta = told["results"]
    assert euler["energy_error"] > 100 * runge_kutta["energy_error"]
    assert euler["energy_is_kept"]
    assert euler["momentum_drift"] is None  # the pivot holds it


def test_compare_goes_on_past_a_refusal(tmp_path):
    arguments = ("compare", "three_link_loop", "-i", "galerkin:2,runge-kutta", *QUICK, "--project")
    told = run_json(*arguments)
    assert told["results"][0]["constraint_violation"] < 1e-9
    assert "cannot close the loop" in told["results"][1]["error"]
    text = run(*arguments, "--plot", "energy-error,q")
    assert "refused" in text
    assert {path.name for path in tmp_path.iterdir()} == {
        "three_link_loop_compare_energy-error.png",
        "three_link_loop_compare_q.png",
    }


def test_linearize_is_the_library():
    told = run_json("linearize", "pendulum", "--q", "0.3", "--v", "1", "--save", "ab.npz")
    robot = la.robots.pendulum()
    p = la.dynamics.mass_matrix(robot, [0.3]) @ [1.0]
    A, B = la.linearize(robot, la.Galerkin(order=2), [0.3], p, dt=0.01)
    assert np.array_equal(told["A"], A)
    assert np.array_equal(told["B"], B)
    assert told["symplectic_defect"] < 1e-12
    with np.load("ab.npz") as saved:
        assert np.array_equal(saved["A"], A)
    assert "largest eigenvalues" in run("linearize", "pendulum")


def test_linearize_with_loops_claims_nothing_about_motions_that_open_them():
    assert run_json("linearize", "four_bar")["symplectic_defect"] is None
    text = run("linearize", "four_bar")
    assert "symplectic" not in text
    assert "4 eigenvalues are zero: motions that open loops" in text


def test_export_csv():
    run("simulate", "double_pendulum", *QUICK, "--save", "run.npz")
    assert "run.csv" in run("export", "run.npz", "--csv")
    with open("run.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    saved = la.Trajectory.load("run.npz")
    assert [float(row["q.joint2"]) for row in rows] == saved.q[:, 1].tolist()
    assert [float(row["energy"]) for row in rows] == saved.energy.tolist()
    assert run_json("export", "run.npz", "--output", "table.csv")["files"] == ["table.csv"]


def test_integrators_lists_every_public_one():
    rows = {row["name"]: row for row in run_json("integrators")}
    assert set(rows) == set(registry.names())
    assert rows["galerkin"]["options"]["order"] == 2
    assert list(rows) == sorted(rows)
    assert "forces" not in rows["bdf"]["options"]  # cannot be typed
    assert "hermite-simpson" in run("integrators")


def test_doctor():
    told = run_json("doctor")
    assert told["versions"]["numpy"] == np.__version__
    assert {"view", "mjcf", "urdf"} <= {row["extra"] for row in told["extras"]}
    assert all("install" in row for row in told["extras"] if not row["present"])
    assert told["cache"]["kernels"] > 0
    assert len(told["laws"]) == 3
    assert all(law["value"] <= law["bound"] for law in told["laws"])
    text = run("doctor", "--no-self-test")
    assert "kernel cache" in text
    assert "Self-test" not in text


def test_doctor_fails_when_a_law_is_broken(monkeypatch):
    monkeypatch.setattr(sys.modules["leastaction.cli.commands.doctor"], "_energy", lambda: 1.0)
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 1
    assert "BROKEN" in done.stdout


def test_view_hands_over_runs_and_robots(monkeypatch):
    pytest.importorskip("viser")
    run("simulate", "double_pendulum", *QUICK, "--save", "run.npz")
    seen = []
    monkeypatch.setitem(vars(la), "view", lambda what, **options: seen.append((what, options)))
    run("view", "run.npz", "--port", "9999", "--no-browser")
    run("view", "four_bar")
    run("view", "run.npz", "run.npz")
    run("simulate", "double_pendulum", *QUICK, "--view")
    run("view", "pendulum", "--live", "--dt", "0.02", "--integrator", "runge_kutta")
    assert seen[0][0].steps == 20
    assert seen[0][1] == {"port": 9999, "open_browser": False, "block": True}
    assert seen[1][0] == la.robots.four_bar()
    assert list(seen[1][1]["q"]) == la.robots.home("four_bar").tolist()
    assert [type(x) for x in seen[2][0]] == [la.Trajectory, la.Trajectory]
    assert seen[3][0].steps == 20
    assert seen[4][0].mechanism == la.robots.pendulum()
    assert seen[4][0].dt == 0.02
    assert seen[4][0].q.tolist() == la.robots.home("pendulum").tolist()


@pytest.mark.parametrize("words", ["table.csv", "--csv table.csv", "--csv -o table.csv"])
def test_export_to_a_file_that_is_named(words):
    run("simulate", "double_pendulum", *QUICK, "--save", "run.npz")
    assert run_json("export", "run.npz", *words.split())["files"] == ["table.csv"]


def test_export_page_and_film(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    run("simulate", "pendulum", *QUICK, "--save", "run.npz")
    told = run("export", "run.npz", "--html", "--mp4")
    assert "run.html" in told
    assert "run.mp4" in told
    assert (tmp_path / "run.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    assert (tmp_path / "run.mp4").read_bytes()[4:8] == b"ftyp"


def test_every_verb_has_examples_that_it_understands():
    """Options and arguments of each example are parsed by the verb itself; nothing is run."""
    import shlex

    from typer.main import get_command

    group = get_command(app)
    for name, command in group.commands.items():
        assert "Examples:" in command.help, name
        prose = command.help.partition("\b")[0]
        assert not any(line.startswith(" ") for line in prose.splitlines()), name
        examples = [line.strip() for line in command.help.splitlines() if line.strip().startswith("leastaction ")]
        assert examples, name
        for example in examples:
            words = shlex.split(example)
            assert words[1] == name
            command.make_context(name, words[2:])


def test_version_both_ways():
    from leastaction.cli._about import own_version

    assert own_version()[0].isdigit()
    assert run("--version").strip() == f"leastaction {own_version()}"
    assert f"leastaction {own_version()}" in run("version")
    assert f"numpy {np.__version__}" in run("version")


def test_completion_offers_names_and_files(tmp_path):
    from leastaction.cli._model import complete_model, complete_run
    from leastaction.cli.commands.simulate import complete_integrator

    (tmp_path / "dog.urdf").write_text("<robot/>")
    (tmp_path / "double.npz").write_text("")
    assert complete_model("do") == ["double_pendulum", "double_four_bar", "dog.urdf"]
    assert complete_run("double.")[0] == "double.npz"
    assert complete_integrator("gal") == ["galerkin"]


def test_ground_is_added_and_stood_on(tmp_path):
    robot = tmp_path / "ball.urdf"
    robot.write_text("""<robot name="ball"><link name="ball">
      <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><geometry><sphere radius="0.1"/></geometry></collision>
    </link></robot>""")
    run("simulate", robot, "--floating", "--ground", "--integrator", "maximal", "--save", "run.npz", *QUICK)
    q = la.Trajectory.load("run.npz").q
    assert q[:, 2] == pytest.approx(0.1, abs=1e-6)


def test_a_keyframe_is_a_start(tmp_path):
    pytest.importorskip("mujoco")
    scene = tmp_path / "scene.xml"
    scene.write_text("""<mujoco><worldbody><body><joint name="hinge" axis="0 1 0"/><geom size=".1" pos="1 0 0"/></body>
      </worldbody><keyframe><key name="bent" qpos="0.7"/></keyframe></mujoco>""")
    run("simulate", scene, "--q", "bent", "--save", "run.npz", *QUICK)
    assert la.Trajectory.load("run.npz").q[0] == [0.7]
    run("simulate", scene, "--q", "hinge=0.3", "--save", "run.npz", *QUICK)
    assert la.Trajectory.load("run.npz").q[0] == [0.3]
