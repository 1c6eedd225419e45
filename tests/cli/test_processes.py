"""The command line as a program of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import leastaction as la

SOURCE = Path(la.__file__).parents[1]


def start(*arguments, code=0, **environment):
    settings = os.environ | {"PYTHONPATH": str(SOURCE)} | environment
    done = subprocess.run(
        [sys.executable, "-m", "leastaction", *arguments], env=settings, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_simulate(tmp_path):
    path = tmp_path / "run.npz"
    done = start("simulate", "double_pendulum", "--duration", "0.1", "--save", str(path), "--json")
    assert json.loads(done.stdout)["steps"] == 10
    assert la.Trajectory.load(path).steps == 10


def test_refusal(tmp_path):
    done = start("simulate", "doubel_pendulum", code=1)
    assert done.stdout == ""
    assert done.stderr.splitlines() == ["leastaction: unknown robot 'doubel_pendulum'; did you mean 'double_pendulum'?"]


def test_help_is_quick_and_loads_no_numba():
    done = start("simulate", "--help", PYTHONPROFILEIMPORTTIME="1")
    assert "Examples:" in done.stdout
    assert "numba.core" not in done.stderr


def test_a_closed_pipe_is_no_error():
    command = f'"{sys.executable}" -m leastaction robots | head -n 1'
    settings = os.environ | {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run(["bash", "-c", command], env=settings, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_terminal_sees_what_is_being_compiled(tmp_path):
    """One line, which goes when all is compiled; a fresh cache makes it compile."""
    import pty

    code = "from leastaction._jit import entry\n@entry\ndef twice(x):\n    return 2.0 * x\nprint(twice(3.0))\n"
    (tmp_path / "kernel.py").write_text(code)
    master, slave = pty.openpty()
    settings = os.environ | {"PYTHONPATH": str(SOURCE), "LEASTACTION_CACHE_DIR": str(tmp_path / "cache")}
    settings.pop("LEASTACTION_QUIET", None)
    done = subprocess.run([sys.executable, tmp_path / "kernel.py"], env=settings, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    said = os.read(master, 10_000).decode()
    os.close(master)
    assert done.stdout.split() == [b"6.0"]
    assert "leastaction: compiling twice, 0 s" in said
    assert "\n" not in said
    assert said.endswith("\r\033[K")
