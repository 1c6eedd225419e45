"""Gradients through steps in which bodies meet with other corners and edges than those of the step's start."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus import gradients


@pytest.mark.parametrize("by", ["v", "parameters"])
def test_a_box_that_falls_on_a_box(by):
    """The step of the impact finds contacts at the end of a first solution: the adjoint is that of both solutions."""
    rng = np.random.default_rng([1, *b"stacks"])
    scene = replace(gradients.stacks(rng), steps=20)
    integrator, objective = la.Minimal(), gradients.objective_of(rng, scene)

    def value(change):
        return float(objective(gradients.simulated(gradients.changed(scene, by, change), integrator))[0])

    central = gradients.differences(scene, by, value)[:, 2]
    gradient = gradients.gradient_of(scene, by, objective, integrator)
    scale = np.abs(central).max()
    assert np.abs(gradient - central).max(axis=1).min() < 1e-5 * scale
