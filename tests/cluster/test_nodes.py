"""Sweeps on a cluster of several nodes, each with processes of its own: a node dies, a job hangs, nothing is lost."""

import time

import numpy as np
import pytest

import leastaction as la
from leastaction.cluster.result_store import Store

ray = pytest.importorskip("ray")


@pytest.fixture
def cluster():
    """Two nodes beside that of the driver, which has no processors."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes.workers = [nodes.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_a_killed_node_and_a_hanging_job_lose_nothing(cluster, tmp_path, monkeypatch):
    """A node is killed when ten results are there: the other one does its jobs. A job that hangs is ended."""
    marks, write, hanging = tmp_path / "marks", Store.write, 30
    marks.mkdir()

    def write_and_kill(self, job, result):
        if len(cluster.workers) == 2 and len(list((tmp_path / "out").rglob("*.npz"))) == 10:
            own = ray.get_runtime_context().get_node_id()  # the driver may have joined either
            killed = next(node for node in cluster.workers if node.node_id != own)
            cluster.workers.remove(killed)
            cluster.remove_node(killed, allow_graceful=False)
        return write(self, job, result)

    def job(number):
        with (marks / f"{number}").open("a") as file:
            file.write("x")
        time.sleep(60.0 if number == hanging else 0.05)
        return {"square": np.array([number**2]), "node": ray.get_runtime_context().get_node_id()}

    monkeypatch.setattr(Store, "write", write_and_kill)
    out = la.cluster.sweep(job, range(40), tmp_path / "out", progress=False, timeout=3.0)
    assert len(cluster.workers) == 1
    assert out.failures == {hanging: "TimeoutError: longer than 3 s"}
    done = [k for k in range(40) if k != hanging]
    assert [out.results[k]["square"].tolist() for k in done] == [[k**2] for k in done]
    assert len({out.results[k]["node"] for k in done}) == 2
    assert (marks / f"{hanging}").read_text() == "xx"  # it is tried twice

    again = la.cluster.sweep(job, range(40), tmp_path / "out", progress=False)  # nothing is left to do
    assert again.failures == out.failures
    assert sum(len(path.read_text()) for path in marks.iterdir()) <= 40 + 4  # what waited on the node began anew
