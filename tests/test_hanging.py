"""A test that never ends does not keep the others, or the machine, for ever."""

import os
import subprocess
import sys
from pathlib import Path


def run_endless_test(folder, hooks, seconds, *options):
    (folder / "conftest.py").write_text(f"from tests.hanging import {hooks}\n")
    (folder / "test_one.py").write_text("import time\n\ndef test_sleep():\n    time.sleep(60)\n")
    env = os.environ | {"LEASTACTION_TEST_SECONDS": seconds, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "--rootdir", ".", "."]
    return subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, timeout=50)


def test_a_test_without_end_is_ended(tmp_path):
    done = run_endless_test(tmp_path, "pytest_runtest_protocol", "0.5", "-n", "0")
    assert done.returncode != 0
    assert "in test_sleep" in done.stderr  # where it was


def test_a_run_of_which_nothing_is_heard_is_given_up(tmp_path):
    """A process that says no more, and does not end: whoever waits for it goes."""
    done = run_endless_test(tmp_path, "pytest_runtest_logreport, pytest_sessionstart", "1", "-n", "1")
    assert done.returncode == 3
    assert "given up" in done.stderr
