"""Charts of parameters: every vector is one real body, and every real body is a vector."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastaction as la
from leastaction.errors import IdentificationError
from leastaction.identification.parameter_charts import Chart
from leastaction.mechanism import Inertia
from leastaction.mechanism.inertia import rod
from tests.identification.arms import arm
from tests.oracles.differences import assert_close, by_vector
from tests.oracles.random_trees import few

vectors = st.lists(st.floats(-3.0, 3.0), min_size=10, max_size=10).map(np.array)


@given(vectors)
@few
def test_every_vector_is_a_real_body(x):
    """The mass is positive, the inertia positive definite, and its principal moments obey the triangle inequality."""
    values = Chart(arm(), ["body:fore"]).values(x)
    inertia = Inertia(float(values["mass:fore"]), tuple(values["com:fore"]), values["inertia:fore"])
    assert inertia.mass > 0.0
    assert inertia.complaint() == ""


@given(vectors)
@few
def test_a_body_and_its_vector_belong_together(x):
    """But for bodies as flat as 1 to 100, which are made thicker."""
    x = 0.2 * x
    robot = Chart(arm(), ["body:fore"]).robot_at(x, strict=False)
    assert_close(Chart(robot, ["body:fore"]).start, x, 1e-9)


@given(vectors)
@few
def test_slopes_are_those_of_the_entries(x):
    chart = Chart(arm(), ["body:fore"])
    assert_close(chart.slopes(x), by_vector(chart.entries, x), 1e-8)


def test_a_thin_rod_begins_inside_of_what_real_bodies_have():
    b = la.MechanismBuilder("rod")
    b.body("rod", inertia=rod(1.0, 1.0))
    b.joint("pivot", "revolute", "world", "rod", axis="y")
    chart = Chart(b.build(), ["inertia:rod"])
    assert np.isfinite(chart.start).all()
    assert_close(chart.entries(chart.start), rod(1.0, 1.0).moments, 1e-4)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["mass:fore", "body:fore"], "twice"),
        (["q"], "start of each segment"),
        (["rotation:elbow"], "cannot be identified"),
        (["gear:m3"], "unknown actuator"),
        (["delay", "delay:m1"], "either"),
        ([], "one name or more"),
    ],
)
def test_names_that_cannot_be_identified(names, words):
    with pytest.raises(IdentificationError, match=words):
        Chart(arm(), names)
