"""Files that the package writes: whole or not at all, whoever else writes there, and nothing left behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import leastaction as la
from leastaction._files import _output
from leastaction._files._output import writing


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_threads_that_write_to_one_path(tmp_path):
    """Each has a file of its own; one of them stays, whole."""
    path, failures = tmp_path / "out.txt", []

    def write(k):
        try:
            for _ in range(20):
                with writing(path) as part:
                    part.write_text(f"{k}" * 2000)
                    time.sleep(0)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    text = path.read_text()
    assert len(text) == 2000
    assert len(set(text)) == 1
    assert names(tmp_path) == ["out.txt"]


def test_threads_that_save_runs_to_one_path(tmp_path):
    robot, t = la.robots.pendulum(), 0.01 * np.arange(50)
    runs = [la.Trajectory(robot, None, 0.01, t, np.full((50, 1), float(k)), {"v": np.zeros((50, 1))}) for k in range(4)]
    threads = [threading.Thread(target=run.save, args=(tmp_path / "run",)) for run in runs for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names(tmp_path) == ["run.npz"]
    assert len(set(la.Trajectory.load(tmp_path / "run").q[:, 0])) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="the age of a file decides there")
def test_what_a_killed_process_left_is_removed(tmp_path):
    code = (
        "import sys, time; from leastaction._files._output import writing\n"
        "with writing(sys.argv[1]) as part:\n"
        "    part.write_text('half'); print('ready', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "run.npz")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with writing(tmp_path / "other.txt") as part:  # it is alive: its file stays
            part.write_text("whole")
        assert len(names(tmp_path)) == 2
        process.send_signal(signal.SIGKILL)
    assert len(names(tmp_path)) == 2
    with writing(tmp_path / "third.txt") as part:
        part.write_text("whole")
    assert names(tmp_path) == ["other.txt", "third.txt"]


def test_files_of_other_machines_stay_for_a_day(tmp_path):
    foreign = tmp_path / f".leastaction-{'0' * 8}-1-{'0' * 16}.part.npz"
    foreign.write_text("")
    with writing(tmp_path / "a.txt") as part:
        part.write_text("")
    assert foreign.exists()
    old = time.time() - 2 * _output._ABANDONED
    os.utime(foreign, (old, old))
    with writing(tmp_path / "a.txt") as part:
        part.write_text("")
    assert names(tmp_path) == ["a.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write():
        with writing(path) as part:
            part.write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "no/file", ".", b"bytes", None, 3])
def test_paths_that_cannot_be_written(path):
    with pytest.raises(la.FormatError):
        _output.check_output(path)


def test_no_writer_makes_folders(tmp_path):
    robot, missing = la.robots.pendulum(), tmp_path / "missing"
    run = la.Trajectory(robot, None, 0.01, np.zeros(1), np.zeros((1, 1)), {"v": np.zeros((1, 1))})
    writers = {
        "a.npz": run.save,
        "a.csv": run.to_csv,
        "a.urdf": lambda path: la.formats.save_urdf(robot, path),
        "a.xml": lambda path: la.formats.save_mjcf(robot, path),
        "a.html": lambda path: la.view.export_html(run, path),
        "a.png": lambda path: la.view.screenshot(run, path),
    }
    for name, write in writers.items():
        with pytest.raises(la.FormatError, match="missing' does not exist"):
            write(missing / name)
    assert not missing.exists()
