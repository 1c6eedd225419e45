"""Spoiled files of all kinds are read or refused: some of those of tools/fuzz.py."""

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "tools" / "fuzz.py"


@pytest.mark.parametrize("kind", ["urdf", "xacro", "mjcf", "sdf", "usd", "run", "solution"])
def test_spoiled_files_are_read_or_refused(kind):
    pytest.importorskip({"xacro": "xacro", "usd": "pxr"}.get(kind, "numpy"))
    command = [sys.executable, str(FUZZ), "--kinds", kind, "--count", "60", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{kind}: 60 files" in done.stdout
