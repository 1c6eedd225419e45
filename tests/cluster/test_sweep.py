"""Sweeps on Ray: no result is lost or made twice."""

import os
import signal
import time

import pytest

import leastaction as la
from leastaction.cluster.result_store import Store
from leastaction.cluster.sweep import connected
from leastaction.errors import FormatError


def test_results_of_other_jobs_are_refused(tmp_path):
    store = Store(tmp_path, [1, 2, 3])
    store.write(1, ("two", None))
    assert Store(tmp_path, [1, 2, 3]).finished() == {1: ("two", None)}
    assert store.write(2, (lambda: 1, None))[1].startswith("the result is a function")
    assert Store(tmp_path, [1, 2, 3]).finished()[2][0] is None
    store.path(1).write_bytes(b"damaged")
    assert 1 not in store.finished()
    with pytest.raises(FormatError, match="other jobs"):
        Store(tmp_path, [1, 2])
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(FormatError, match="description"):
        Store(tmp_path, [1, 2, 3])
    with pytest.raises(FormatError, match="no folder of results can be made: File exists"):
        Store(tmp_path / "sweep.json", [1, 2, 3])


def test_a_killed_worker_loses_nothing(tmp_path):
    """200 jobs, one of which kills its worker, one each worker; one raises; a second call computes nothing again."""
    ray = pytest.importorskip("ray")
    marks = tmp_path / "marks"
    marks.mkdir()

    def job(number):
        first = not (marks / f"{number}").exists()
        with (marks / f"{number}").open("a") as file:
            file.write("x")
        if (number == 60 and first) or number == 61:
            os.kill(os.getpid(), signal.SIGKILL)
        if number == 7:
            raise ValueError("seven")
        time.sleep(0.002)
        return number**2

    with connected(ray, {"num_cpus": 2}):  # once for both calls: to start it takes seconds
        out = la.cluster.sweep(job, range(200), tmp_path / "out", progress=False)
        kept = len(list((tmp_path / "out").rglob("*.npz")))
        (tmp_path / "out" / "000" / "000003.npz").unlink()  # as if the sweep had been stopped before it
        again = la.cluster.sweep(job, range(200), tmp_path / "out", progress=False)
    assert not ray.is_initialized()
    assert kept == 200
    bad = {7, 61}
    assert [r for k, r in enumerate(out.results) if k not in bad] == [k**2 for k in range(200) if k not in bad]
    assert out.failures[7] == "ValueError: seven"
    assert out.failures.keys() == bad
    assert "WorkerCrashedError" in out.failures[61]
    assert (marks / "60").read_text() == "xx"
    assert again.results == out.results
    assert (marks / "3").read_text() == "xx"
    assert sum(len(path.read_text()) for path in marks.iterdir()) >= 202
    assert (marks / "9").read_text() == "x"


def test_wrong_input_is_named(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(la.LeastActionError, match="callable"):
        la.cluster.sweep(3, [1], tmp_path)
    with pytest.raises(la.LeastActionError, match="no jobs"):
        la.cluster.sweep(len, [], tmp_path)
    with pytest.raises(la.LeastActionError, match="timeout"):
        la.cluster.sweep(len, [[1]], tmp_path, timeout=0.0)
