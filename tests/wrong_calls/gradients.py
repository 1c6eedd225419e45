"""Derivatives, called wrongly."""

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import EMPTY, NAN, ODD, ROBOT, WRONG, Call, Q, V, no_vector


def derivatives():
    """`leastaction.derivatives`."""
    d, rk = la.derivatives, la.BDF(order=1)
    galerkin = la.Galerkin(order=2)
    step = {"mechanism": ROBOT, "integrator": galerkin, "q": Q, "p": V, "u": V, "dt": 0.01}
    yield Call("linearize", la.linearize, step)
    yield Call("derivatives.action_blocks", d.action_blocks, step)
    yield Call(
        "derivatives.parameter_jacobian",
        d.parameter_jacobian,
        step | {"parameters": ["gravity"]},
        {"parameters": ["gravity", *WRONG["names"]]},
    )
    parameter = [
        "",
        "none",
        "mass:none",
        "mass:world",
        3,
        ODD,
        [],
        {},
        "damping:none",
        "friction:none",
        "radius:link1/9",
    ]
    yield Call("derivatives.parameter", d.parameter, {"mechanism": ROBOT, "name": "mass:link1"}, {"name": parameter})
    values = [
        3,
        "a",
        ODD,
        [1],
        {"none": 1.0},
        {3: 1.0},
        {"mass:link1": "a"},
        {"mass:link1": NAN},
        {"mass:link1": [1.0, 2.0]},
        {"mass:link1": -1.0},
    ]
    values += [
        {"com:link1": [1.0]},
        {"gravity": [1.0]},
        {"damping:joint1": [1.0, 2.0]},
        {"position:joint1": [1.0]},
        {"rotation:joint1": [NAN] * 3},
    ]
    yield Call(
        "derivatives.with_parameters",
        d.with_parameters,
        {"mechanism": ROBOT, "values": {"mass:link1": 2.0}},
        {"values": values},
    )
    run = la.simulate(ROBOT, Q, dt=0.01, steps=2, integrator=rk)
    bars = ["a", ODD, np.zeros((2, 2)), np.full((3, 2), NAN), np.zeros((3, 2), complex), {}, [[1.0], [1.0, 2.0]]]
    names = ["none", ["none"], [3], 3, ODD, ["mass:none"], NAN]
    yield Call(
        "derivatives.gradient",
        d.gradient,
        {"run": run, "dq": None, "dv": None, "parameters": ["v"]},
        {"run": "object", "dq": bars, "dv": bars, "parameters": names},
    )
    long = la.simulate(ROBOT, Q, dt=0.01, steps=2, integrator=galerkin)
    yield Call(
        "derivatives.backpropagate",
        d.backpropagate,
        {"run": long, "dq": np.zeros((3, 2)), "dp": np.zeros((3, 2)), "integrator": galerkin},
        {"run": "object", "dq": bars, "dp": bars},
    )
    objective = d.reach("link2", (0, 0, 0), (0, 0, 1))
    wrong = [
        "a",
        3,
        ODD,
        lambda run: 3,
        lambda run: "a",
        lambda run: (1.0, "a", None),
        lambda run: (NAN, None, None),
        lambda run: (1.0, np.zeros(3), None),
        lambda: 0,
    ]
    valid = {
        "mechanism": ROBOT,
        "integrator": rk,
        "objective": objective,
        "parameters": ["v"],
        "q": Q,
        "dt": 0.01,
        "steps": 2,
    }
    state = {"q": [x for x in WRONG["state"] if x is not EMPTY]}
    yield Call("adjoint", la.adjoint, valid, state | {"objective": wrong, "parameters": names, "steps": "steps"})
    points = [0, -1, 1.5, "a", ODD, [], NAN]
    yield Call(
        "adjoint with checkpoints",
        la.adjoint,
        valid | {"checkpoints": 1},
        {"objective": wrong, "parameters": names, "steps": "steps", "checkpoints": points, "q": None},
    )

    def simulation_objective(x=None, **given):
        f = d.SimulationObjective(**given)
        return f(f.start if x is None else x)

    more = {"scale": {"v": 2.0}, "x": V}
    kinds = {
        "objective": wrong,
        "parameters": names,
        "steps": "steps",
        "scale": ["a", 3, ODD, {"v": "a"}, {"v": 0.0}, {"v": NAN}, {"none": 1.0}],
        "x": no_vector(2),
        **state,
    }
    yield Call("SimulationObjective", simulation_objective, valid | more, kinds)
    f = d.SimulationObjective(**valid)
    yield Call("SimulationObjective.unpack", f.unpack, {"x": V})
    yield Call("SimulationObjective.run", f.run, {"x": V})
    yield Call(
        "SimulationObjective.pack",
        f.pack,
        {"values": {"v": V}},
        {"values": [3, "a", ODD, {}, {"v": "a"}, {"v": [1.0]}, {"v": [NAN, NAN]}]},
    )
    yield Call(
        "derivatives.reach",
        lambda **given: d.reach(**given)(run),
        {"body": "link2", "point": (0, 0, 0), "target": (0, 0, 1), "step": -1, "weight": 1.0},
        {"step": [1.5, "a", ODD, NAN, None, 99, -99]},
    )
    yield Call(
        "derivatives.piecewise",
        lambda function: d.piecewise(function)(run),
        {"function": lambda run, first, steps: (1.0, None, None)},
        {"function": ["a", 3, ODD, None]},
    )
    yield Call(
        "ObjectiveValue",
        d.ObjectiveValue,
        {"value": 1.0, "dq": None, "dv": None, "direct": None},
        {"value": [x for x in WRONG["number"] if x is not True], "dv": None, "dq": ["a", ODD], "direct": ["a", 3, ODD]},
    )
