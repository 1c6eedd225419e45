"""Gradients through steps in which bodies meet with other corners and edges than those of the step's start."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus import gradients
from leastaction.mechanism.text.codec import from_json
from leastaction.parameters.parameters import parameter, with_parameters


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


def slopes_by(scene, integrator, names):
    """Gradients of a random objective by parameters along random directions: by the adjoint, and by differences."""
    rng = np.random.default_rng(4)
    objective, options = gradients.objective_of(rng, scene), {"dt": scene.dt, "steps": scene.steps}
    found = la.adjoint(scene.robot, integrator, objective, names, q=scene.q, v=scene.v, **options)[1]
    pairs = []
    for name in names:
        d, middle = rng.normal(size=np.shape(found[name])), parameter(scene.robot, name)

        def value(change, name=name, d=d, middle=middle):
            robot = with_parameters(scene.robot, {name: middle + change * d})
            return float(objective(gradients.simulated(replace(scene, robot=robot), integrator))[0])

        pairs.append((float((found[name] * d).sum()), (value(1e-6) - value(-1e-6)) / 2e-6))
    return np.array(pairs).T


def test_shapes_of_contacts_that_an_earlier_solution_has_found():
    """Points where faces cross are those at the poses at which they were found, for other shapes too."""
    scene = replace(gradients.stacks(np.random.default_rng([1, *b"stacks"])), steps=20)
    names = [f"{kind}:{body}/0" for kind in ("rotation", "size", "position") for body in ("b0", "b1")]
    found, central = slopes_by(scene, la.Minimal(), names)
    assert np.abs(found - central).max() < 1e-5 * np.abs(central).max()
    assert np.abs(found / central - 1.0).max() < 1e-4


@pytest.mark.parametrize("seed", [3, 5])
def test_turns_of_boxes_that_lie_flat_on_each_other(seed):
    """Either face may be the reference, and which it is must not hang on changes that are taken for differences."""
    scene = replace(gradients.stacks(np.random.default_rng([seed, *b"stacks"])), steps=20)
    found, central = slopes_by(scene, la.Minimal(), ["rotation:b0/0", "rotation:b1/0"])
    assert np.abs(found - central).max() < 1e-5 * np.abs(central).max()


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
