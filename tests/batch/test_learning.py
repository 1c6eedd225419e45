"""The example that learns policies inside a batch learns."""

import runpy
from pathlib import Path

import numpy as np
import pytest


def test_policies_get_better():
    path = Path(__file__).parents[2] / "examples" / "learn_many_policies.py"
    example = runpy.run_path(str(path))
    policy, history = example["learn"](24, generations=3)
    assert history[-1] > 1.8 * history[0]
    held = example["times"](np.tile(policy, (8, 1)), np.random.default_rng(1), "cpu")
    assert held.min() > 4.0


def test_parameters_are_found_from_many_runs():
    pytest.importorskip("torch")
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "identify_from_many_runs.py"))
    found, left = example["identify"](most=4)
    for name in ("mass:link1", "mass:link2"):
        assert abs(found[name] - example["TRUTH"][name]) < 0.3 * abs(example["GUESS"][name] - example["TRUTH"][name])
    assert left < 0.03
