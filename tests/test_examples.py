"""The examples run, and write what they promise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import leastaction as la

ROOT = Path(__file__).parents[1]
pytest.importorskip("matplotlib")


def python(arguments, folder):
    settings = os.environ | {"PYTHONPATH": str(Path(la.__file__).parents[1])}
    done = subprocess.run([sys.executable, *arguments], env=settings, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", ["reach_target", "throw_ball", "tune_spring", "find_link_length"])
def test_optimisation(tmp_path, name):
    out = python([str(ROOT / "examples" / f"{name}.py"), "--iterations", "3", "--output", "out"], tmp_path)
    assert "objective" in out
    for kind in ("png", "html"):
        path = tmp_path / "out" / f"{name}.{kind}"
        assert str(path.resolve()) in out
        assert path.stat().st_size > 5000
    assert len(la.Trajectory.load(tmp_path / "out" / f"{name}.npz")) > 1


def test_demo(tmp_path):
    """All chapters, shortened, with the files that it promises; what Euler's method gains there is no warning."""
    out = python(["-m", "leastaction", "demo", "--duration", "7", "--output", "out"], tmp_path)
    assert "Galerkin, order 4" in out
    assert "warning" not in out
    for name in ("energy.png", "pendulum.html", "arm.html", "cube.html", "swing_up.png", "swing_up.html"):
        path = tmp_path / "out" / name
        assert str(path.resolve()) in out
        assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("script", "says", "files"),
    [
        ("quadruped.py", "Walks", {"learning.png", "walk.html", "gait.json"}),
        ("exoskeleton.py", "spastic", {"torques.png", "exercise.html", "torques.json"}),
        ("leg_chain.py", "segments", {"chains.png", "chain.html", "chains.json"}),
        ("mpc.py", "cart-pole", {"mpc.png", "mpc.json"}),
        ("pushed_hopper.py", '"fell": []', {"hopper.png", "hopper.json"}),
        ("cube_toss.py", "identified", {"cube_toss.png", "cube_toss.html", "cube_toss.json"}),
    ],
)
def test_applications(tmp_path, script, says, files):
    out = python([str(ROOT / "examples" / script), "--quick", "--output", "results"], tmp_path)
    assert says in out
    assert {path.name for path in (tmp_path / "results").iterdir()} == files
