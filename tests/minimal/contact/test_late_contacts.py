"""Gradients through steps in which bodies meet with other corners and edges than those of the step's start."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus import gradients
from leastaction.mechanism.text.codec import from_json


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


def test_edges_that_are_found_without_an_end_divide_a_step():
    """A tree of capsules, boxes and cylinders that tumbles by 0.2 rad a step, folded on itself: solutions of the whole
    step always overlap at other edges, as many as there is room for; of half the step they do not."""
    scene = json.loads((Path(__file__).parents[2] / "data" / "thrown_tree.json").read_text())
    options = {"dt": scene["dt"], "controls": np.array(scene["u"]), "integrator": la.Minimal(), "steps": 1}
    run = la.simulate(from_json(scene["robot"]), scene["q"], p=scene["p"], **options)
    assert run.stored["divided"][1] > 1
    assert run.iterations[1] < 2000
    contacts = run.stored["contacts"]
    assert contacts[:, 9].min(initial=0.0) > -1e-6
