"""Wrong input gives one clear line on stderr, an exit code that is not zero, no traceback and no file."""

import sys

import pytest
from typer.testing import CliRunner

import leastaction as la
from leastaction.cli import app

WRONG = {
    # verb: (arguments, what the line says)
    "inspect, typo in a name": ("inspect doubel_pendulum", "did you mean 'double_pendulum'?"),
    "inspect, part of a name": ("inspect a1", "did you mean 'unitree_a1'?"),
    "inspect, nothing close": ("inspect zzz", "leastaction robots"),
    "inspect, missing file": ("inspect arm.urdf", "arm.urdf"),
    "inspect, file of another kind": ("inspect notes.txt", "unknown extension"),
    "inspect, damaged file": ("inspect broken.urdf", "broken.urdf:1"),
    "inspect, unknown parameter": ("inspect pendulum --set lnks=3", "no parameter 'lnks'; did you mean 'links'?"),
    "inspect, parameter without value": ("inspect pendulum --set links", "expected NAME=VALUE"),
    "inspect, parameter of a file": ("inspect good.urdf --set links=3", "load_urdf has no option 'links'"),
    "inspect, floating zoo robot": ("inspect pendulum --floating", "--floating is for URDF files"),
    "simulate, typo in a name": ("simulate pendulm", "did you mean 'pendulum'?"),
    "simulate, missing file": ("simulate no/such/arm.urdf", "no/such/arm.urdf"),
    "simulate, typo in an integrator": ("simulate pendulum -i galerkn", "did you mean 'galerkin'?"),
    "simulate, not an integrator": ("simulate pendulum -i mechanism", "unknown integrator"),
    "simulate, unknown option": ("simulate pendulum -o solvr=dense", "no option 'solvr'; did you mean 'solver'?"),
    "simulate, option without value": ("simulate pendulum -o dense", "expected NAME=VALUE"),
    "simulate, option not a number": ("simulate pendulum -o tolerance=small", "must be a number, got 'small'"),
    "simulate, order it has not": ("simulate pendulum --order 3", "order must be 2, 4, 6"),
    "simulate, no order at all": ("simulate pendulum -i heun --order 2", "no option 'order'"),
    "simulate, too many coordinates": ("simulate double_pendulum --q 1,2,3", "2 numbers (joint1, joint2), got 3"),
    "simulate, unknown coordinate": ("simulate double_pendulum --q jiont1=1", "did you mean 'joint1'?"),
    "simulate, not a number": ("simulate pendulum --q fast", "such as 1.5, pi/2 or 45deg, got 'fast'"),
    "simulate, infinite": ("simulate pendulum --v inf", "finite"),
    "simulate, broken quaternion": ("simulate free_body --q 0,0,0,2,0,0,0", "unit norm"),
    "simulate, negative step": ("simulate pendulum --dt -1", "dt must be a positive"),
    "simulate, negative duration": ("simulate pendulum --duration -1", "duration must be"),
    "simulate, loops with a method for trees": ("simulate four_bar -i runge-kutta", "use leastaction.Galerkin"),
    "simulate, motion that opens loops": ("simulate four_bar --v 1,2,3", "--project mends it"),
    "simulate, start that opens loops": ("simulate four_bar --q 1,2,3", "is open by 2.37; --project mends it"),
    "simulate, save to a missing folder": ("simulate pendulum --save no/run.npz", "'no' does not exist"),
    "simulate, save onto a folder": ("simulate pendulum --save folder.npz", "this is a folder"),
    "simulate, plots to a missing folder": ("simulate pendulum --plot energy --out no", "'no' does not exist"),
    "simulate, unknown plot": ("simulate pendulum --plot enrgy", "did you mean 'energy'?"),
    "simulate, unknown format": ("simulate pendulum --plot energy --format gif", "expected one of png, pdf, svg"),
    "simulate, diverges": ("simulate double_pendulum --v joint1=1e59 -i runge-kutta", "take a smaller dt"),
    "simulate, too many controls": ("simulate double_pendulum --u 1,2,3", "--u: expected 2 numbers"),
    "simulate, unknown control": ("simulate double_pendulum --u jiont1=1", "--u: unknown name 'jiont1'; did you mean"),
    "simulate, missing controls": ("simulate pendulum --u no.csv", "--u: no.csv: there is no such file"),
    "simulate, controls without names": ("simulate pendulum --u 3.csv", "its first row has to name controls"),
    "simulate, controls that are words": ("simulate pendulum --u words.csv", "row 2: no number for 'joint1'"),
    "simulate, controls for other steps": ("simulate pendulum --u short.csv", "expected shape (1,) or (1000, 1)"),
    "compare, typo in a name": ("compare pendulm", "did you mean 'pendulum'?"),
    "compare, typo in an integrator": ("compare pendulum -i galerkin:2,runge-kuta", "did you mean 'runge-kutta'?"),
    "compare, none": ("compare pendulum -i ,", "name at least one"),
    "compare, all refuse": ("compare four_bar -i heun,runge-kutta", "cannot close the loop"),
    "compare, plots to a missing folder": ("compare pendulum --plot energy --out no", "'no' does not exist"),
    "compare, coordinates": ("compare pendulum --q 1,2", "expected 1 numbers"),
    "linearize, typo in a name": ("linearize acrobt", "did you mean 'acrobot'?"),
    "linearize, method without derivatives": ("linearize pendulum -i heun", "no Jacobians of a step"),
    "linearize, unknown extension": ("linearize pendulum --save ab.txt", "expected .npz"),
    "view, missing run": ("view run.npz", "run.npz: there is no such file"),
    "view, typo in a name": ("view pendulm", "did you mean 'pendulum'?"),
    "view, not a run": ("view text.npz", "not a trajectory"),
    "view, a run that goes on": ("view good.npz --live", "--live is for robots"),
    "view, runs and robots": ("view good.npz pendulum", "one robot, or runs"),
    "export, missing run": ("export run.npz --csv", "run.npz: there is no such file"),
    "export, not a run": ("export text.npz --csv", "not a trajectory"),
    "export, a robot": ("export good.urdf --csv", "good.urdf: not a saved run"),
    "export, nothing chosen": ("export good.npz", "--html, --mp4, --csv, or a file"),
    "export, several to one file": ("export good.npz --csv --html --output x.csv", "x.csv is one file"),
    "export, two files": ("export good.npz x.csv --output y.csv", "give one file to write"),
    "export, a file of another kind": ("export good.npz --html x.csv", "expected .html"),
    "export, to a missing folder": ("export good.npz --csv --output no/x.csv", "'no' does not exist"),
    "export, wrong extension": ("export good.npz --csv --output x.txt", "expected .csv"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a good robot, a good run, and some files that are not what they seem."""
    monkeypatch.chdir(tmp_path)
    robot = la.robots.pendulum()
    la.formats.save_urdf(robot, "good.urdf")
    la.simulate(robot, q=[0.1], steps=2).save("good.npz")
    (tmp_path / "broken.urdf").write_text("<robot name='x'><link></robot>")
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "3.csv").write_text("3\n3\n")
    (tmp_path / "words.csv").write_text("joint1\nhello\n")
    (tmp_path / "short.csv").write_text("joint1\n3\n")
    (tmp_path / "folder.npz").mkdir()
    return tmp_path


def refused(folder, arguments, says):
    before = sorted(folder.rglob("*"))
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == 1, done.output
    assert isinstance(done.exception, SystemExit), done.exception
    lines = [line for line in done.stderr.splitlines() if not line.startswith("compiled ")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("leastaction: ")
    assert says in lines[0]
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("case", WRONG)
def test_refusals(case, folder):
    refused(folder, *WRONG[case])


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("matplotlib", "simulate pendulum --plot energy", "view"),
        ("matplotlib", "compare pendulum --plot energy", "view"),
        ("viser", "simulate pendulum --view", "view"),
        ("viser", "view good.npz", "view"),
        ("mujoco", "inspect scene.xml", "mjcf"),
        ("imageio_ffmpeg", "export good.npz --mp4", "video"),
    ],
)
def test_missing_extras(missing, arguments, extra, folder, monkeypatch):
    (folder / "scene.xml").write_text("<mujoco><worldbody/></mujoco>")
    monkeypatch.setitem(sys.modules, missing, None)
    refused(folder, arguments, f'pip install "leastaction[{extra}]"')


@pytest.mark.parametrize(
    "arguments", ["simulate", "simulat pendulum", "simulate pendulum --dt soon", "robots --jsn", "view"]
)
def test_mistyped_commands_exit_with_two(arguments, folder):
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == 2
    assert "Usage" in done.stderr or "Error" in done.stderr
    assert "Traceback" not in done.output


def test_a_stopped_run_leaves_no_file(folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("leastaction.cli.commands.simulate.timed_run", stop)
    done = CliRunner().invoke(app, ["simulate", "pendulum", "--save", "run.npz"])
    assert done.exit_code == 130
    assert not (folder / "run.npz").exists()


def test_a_full_disk_leaves_no_file(folder, monkeypatch):
    import numpy as np

    def full(file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    refused(folder, "simulate pendulum --duration 0.1 --save run.npz", "No space left on device")


def test_warnings_are_one_line_each(folder):
    done = CliRunner().invoke(app, ["simulate", "cube", "--duration", "0.02"])
    assert done.exit_code == 0
    lines = [line for line in done.stderr.splitlines() if "warning" in line]
    assert all(line.startswith("leastaction: warning: ") for line in lines)
