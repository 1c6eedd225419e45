"""The start of a run is the same for simulations and for gradients with checkpoints."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import adjoint

RUN = {"dt": 0.01, "steps": 4}


def energy_of_speed(run):
    return 0.5 * float((run.v**2).sum()), None, run.v


@pytest.mark.parametrize("integrator", [la.BDF(order=1), la.Galerkin(order=2)], ids=lambda x: type(x).__name__)
def test_states_by_name(integrator):
    """`q={"joint1": 1.0}` is read alike with checkpoints and without."""
    robot = la.robots.pendulum(2)
    start = {"q": {"joint1": 1.0}, "v": {"joint2": -0.5}, **RUN}
    plain = adjoint(robot, integrator, energy_of_speed, ["q", "v"], **start)
    cut = adjoint(robot, integrator, energy_of_speed, ["q", "v"], checkpoints=2, **start)
    assert cut[0] == pytest.approx(plain[0], rel=1e-13)
    for name in ("q", "v"):
        assert np.array_equal(plain[1][name], cut[1][name])
    other = adjoint(robot, integrator, energy_of_speed, ["q"], **{**start, "q": [1.0, 0.0], "v": [0.0, -0.5]})
    assert np.array_equal(plain[1]["q"], other[1]["q"])


@pytest.mark.parametrize("checkpoints", [None, 2])
@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"start": float("nan")}, "start must be a finite time"),
        ({"q": {"jiont1": 1.0}}, "there is no 'jiont1'"),
        ({"q": [0.0, float("nan")]}, "q: entry 1"),
        ({"v": np.zeros(3)}, "v: expected shape"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"duration": 1.0}, "give either duration"),
        ({"v": np.zeros(2), "p": np.zeros(2)}, "give either v or p"),
        ({"controls": np.zeros(7)}, "controls: expected shape"),
        ({"dt": -0.01}, "dt must be a positive"),
    ],
)
def test_mistakes_are_refused_before_the_run(mistake, message, checkpoints):
    with pytest.raises(la.LeastActionError, match=message):
        adjoint(
            la.robots.pendulum(2), la.BDF(order=1), energy_of_speed, ["q"], checkpoints=checkpoints, **(RUN | mistake)
        )


@pytest.mark.parametrize("checkpoints", [None, 2])
def test_the_clock_of_functions_of_time(checkpoints):
    """Controls that are a function see the time that the run starts at."""
    robot, asked = la.robots.pendulum(1), []

    def control(t):
        asked.append(t)
        return [0.0]

    adjoint(robot, la.BDF(order=1), energy_of_speed, ["q"], checkpoints=checkpoints, controls=control, start=3.0, **RUN)
    np.testing.assert_allclose(asked, 3.01 + 0.01 * np.arange(4), rtol=1e-14)


def test_warnings_point_to_the_users_line():
    """Not to one of the package, whichever door was taken."""
    builder = la.MechanismBuilder("rough")
    builder.body("link", mass=1.0, com=(0, 0, -1))
    builder.revolute("joint", "world", "link", axis="y", friction=0.1)
    robot = builder.build()
    with pytest.warns(la.LeastActionWarning, match="dry friction") as simulated:
        la.simulate(robot, integrator=la.BDF(order=1), **RUN)
    with pytest.warns(la.LeastActionWarning, match="dry friction") as differentiated:
        adjoint(robot, la.BDF(order=1), energy_of_speed, ["q"], checkpoints=2, **RUN)
    assert {w.filename for w in (*simulated, *differentiated)} == {__file__}
