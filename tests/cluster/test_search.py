"""Searches by sampling: they find what they look for, and go on where they were stopped."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction.cluster import CrossEntropy, RandomSearch

GOAL = np.array([1.0, -2.0, 0.5])


def score(x):
    return -float(((x - GOAL) ** 2).sum())


@pytest.mark.parametrize("kind", [CrossEntropy, RandomSearch])
def test_samplers(kind):
    """Far from a peak that is ten times as narrow as the first samples are apart; some samples have no score."""
    sampler, rng = kind(np.zeros(3), np.ones(3)), np.random.default_rng(0)
    for _ in range(25):
        samples = sampler.sample(rng, 40)
        scores = np.array([score(x) for x in samples])
        scores[:4] = -np.inf
        sampler.learn(samples, scores)
    centre = sampler.mean if kind is CrossEntropy else sampler.best
    assert abs(centre - GOAL).max() < 0.1
    sampler.learn(samples, np.full(40, -np.inf))
    assert np.isfinite(sampler.sample(rng, 2)).all()


@pytest.fixture(scope="module")
def cluster():
    """The address of one for all searches here: to start it takes seconds."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()


@pytest.mark.usefixtures("cluster")
def test_search(tmp_path):
    asked = tmp_path / "asked"

    def noted(x):
        with asked.open("a") as file:
            file.write("x")
        if x[0] > 2.0:
            raise ValueError("too far")
        return score(x)

    options = {"population": 8, "seed": 3, "progress": False}
    two = la.cluster.search(noted, [0.0, 0.0, 0.0], 1.5, tmp_path / "out", generations=2, **options)
    four = la.cluster.search(noted, [0.0, 0.0, 0.0], 1.5, tmp_path / "out", generations=4, **options)
    assert len(asked.read_text()) == 32
    np.testing.assert_array_equal(four.samples[:2], two.samples)
    assert four.score == score(four.best) == four.records[-1] == four.scores.max() >= two.score
    assert set(four.failures) == {tuple(k) for k in np.argwhere(four.samples[:, :, 0] > 2.0).tolist()}
    assert set(four.failures.values()) == {"ValueError: too far"}
    with pytest.raises(la.FormatError, match="other jobs"):
        la.cluster.search(noted, [0.0, 0.0, 0.1], 1.5, tmp_path / "out", generations=1, **options)


def test_example(cluster, tmp_path):
    """`examples/walk_on_cluster.py` as typed, at the least size."""
    script = Path(__file__).parents[2] / "examples" / "walk_on_cluster.py"
    settings = os.environ | {"PYTHONPATH": str(Path(la.__file__).parents[1]), "RAY_ADDRESS": cluster}
    size = ["--generations", "1", "--population", "2", "--duration", "0.1", "--output", "out"]
    done = subprocess.run(
        [sys.executable, str(script), *size], env=settings, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "of 2 fell" in done.stdout
    assert "Gait: b = " in done.stdout
    assert (tmp_path / "out").is_dir()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"score": 3}, "callable"),
        ({"mean": [[0.0]]}, "mean"),
        ({"mean": [np.nan]}, "mean"),
        ({"spread": [1.0, 2.0]}, "spread"),
        ({"spread": 0.0}, "spread"),
        ({"method": "best"}, "'cem', 'random'"),
        ({"population": 0}, "population"),
        ({"generations": 1.5}, "generations"),
        ({"seed": "a"}, "seed"),
    ],
)
def test_wrong_arguments(tmp_path, change, match):
    pytest.importorskip("ray")
    with pytest.raises(la.LeastActionError, match=match):
        la.cluster.search(**{"score": score, "mean": [0.0], "spread": 1.0, "folder": tmp_path} | change)
