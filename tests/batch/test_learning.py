"""The example that learns policies inside a batch learns."""

import runpy
from pathlib import Path

import numpy as np


def test_policies_get_better():
    path = Path(__file__).parents[2] / "examples" / "learn_many_policies.py"
    example = runpy.run_path(str(path))
    policy, history = example["learn"](24, generations=3)
    assert history[-1] > 1.8 * history[0]
    held = example["times"](np.tile(policy, (8, 1)), np.random.default_rng(1), "cpu")
    assert held.min() > 4.0
