"""`Simulator` and batches, called wrongly."""

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import EMPTY, FREE, INF, NAN, NO_OBJECT, ODD, ROBOT, WRONG, Call, Q, V, no_vector


def stepwise():
    """`leastaction.Simulator`."""
    rk = la.RungeKutta()
    yield Call("Simulator", la.Simulator, {"mechanism": ROBOT, "integrator": rk, "dt": 0.01})
    sim, free = la.Simulator(ROBOT, rk, 0.01), la.Simulator(FREE, rk, 0.01)
    q = [x for x in WRONG["state"] if x is not EMPTY]
    q += [{"none": 1.0}, {"joint1": "a"}, {"joint1": NAN}, {3: 1.0}, {"joint1": [1.0, 2.0]}]
    yield Call(
        "Simulator.reset",
        sim.reset,
        {"q": Q, "v": V, "t": 0.0, "project": False},
        {"q": q, "v": q, "t": "number", "project": "flag"},
    )
    yield Call("Simulator.reset to p", sim.reset, {"q": Q, "p": V}, {"q": q})
    quaternions = [*(x for x in no_vector(7) if x is not EMPTY), np.zeros(7), np.ones(7)]
    yield Call("Simulator.reset with quaternions", free.reset, {"q": FREE.neutral()}, {"q": quaternions})
    yield Call("Simulator.step", sim.step, {"u": V})
    yield Call("Simulator.step with quaternions", free.step, {"u": np.zeros(6)}, {"u": "vector6"})
    pushable = la.Simulator(ROBOT, rk, 0.01, pushable=True)
    three = {"force": np.ones(3), "torque": np.ones(3), "point": np.zeros(3)}
    yield Call(
        "Simulator.push",
        pushable.push,
        {"body": ROBOT.bodies[0].name, **three},
        {"body": "name", "force": "vector3", "torque": "vector3", "point": "vector3"},
    )
    yield Call("Simulator with once", la.Simulator, {"mechanism": ROBOT, "once": None}, {"once": [*NO_OBJECT, True]})
    state, other = sim.state(), free.state()
    spoiled = [*NO_OBJECT, None, other, *(_spoiled(state, **change) for change in _changes(state))]
    yield Call("Simulator.set_state", sim.set_state, {"state": state}, {"state": spoiled})


def _changes(state):
    """What a pickled state may have become."""
    rows = state.rows
    yield from ({"rows": value} for value in ("a", None, {}, [], {"q": "a"}))
    yield {"rows": {name: x[:0] for name, x in rows.items()}}
    yield {"rows": {name: np.repeat(x, 300, axis=0) for name, x in rows.items()}}
    yield {"rows": rows | {"q": np.full_like(rows["q"], NAN)}}
    yield {"rows": rows | {"q": rows["q"].astype(complex)}}
    yield {"rows": rows | {"q": rows["q"].astype(object)}}
    yield from ({"steps": value} for value in ("a", None, -1, 1.5, NAN, ODD))
    yield from ({"dt": value} for value in (0.02, "a", NAN, ODD, np.ones(2)))
    yield from ({"start": value} for value in ("a", None, NAN, INF, ODD))


def _spoiled(state, **change):
    from dataclasses import replace

    return replace(state, **change)


def batches():
    """`leastaction.batch`."""
    states = [x for x in no_vector(2, batches=True) if not isinstance(x, dict)]
    states += [np.zeros((0, 2)), np.ones((3, 2)), np.zeros((2, 2, 2))]
    parameters = [
        "a",
        3,
        ODD,
        [1],
        {"none": np.ones(2)},
        {3: np.ones(2)},
        {"mass:none": np.ones(2)},
        {"mass:link1": np.ones(3)},
        {"mass:link1": np.array([1.0, NAN])},
        {"mass:link1": np.array([1.0, -1.0])},
        {"mass:link1": "ab"},
        {"mass:link1": [ODD, ODD]},
        {"com:link1": np.ones(2)},
        {"com:link1": [[1.0], [1.0, 2.0]]},
    ]
    controls = ["a", ODD, 1.0, {}, [], np.zeros(3), np.zeros((4, 2)), np.zeros((2, 2, 3)), np.full(2, NAN)]
    controls += [np.zeros(2, complex), [[1.0], [1.0, 2.0]]]
    valid = {
        "mechanism": ROBOT,
        "q": np.stack([Q, Q]),
        "v": np.stack([V, V]),
        "dt": 0.01,
        "steps": 3,
        "integrator": la.RungeKutta(),
        "controls": np.zeros((2, 3, 2)),
        "parameters": {"mass:link1": np.ones(2)},
        "every": 1,
        "device": "cpu",
        "dtype": np.float64,
        "workers": 1,
    }
    kinds = {
        "q": states,
        "v": states,
        "steps": "steps",
        "controls": controls,
        "parameters": parameters,
        "every": "count",
        "device": "choice",
        "dtype": ["a", ODD, [], {}, int, np.float32, complex, "no dtype", 3.5, NAN],
        "workers": "count",
    }
    yield Call("batch.simulate", la.batch.simulate, valid, kinds)
    quaternions = [*no_vector(7, batches=True), np.zeros((1, 7)), np.ones((1, 7))]
    yield Call(
        "batch.simulate with quaternions",
        la.batch.simulate,
        {"mechanism": FREE, "q": FREE.neutral()[None], "steps": 1, "integrator": la.RungeKutta()},
        {"q": quaternions, "steps": "steps"},
    )
    yield Call(
        "batch.simulate for a time",
        la.batch.simulate,
        {"mechanism": ROBOT, "duration": 0.02, "integrator": la.RungeKutta()},
        {"duration": "nonnegative"},
    )
    run = la.batch.simulate(ROBOT, np.stack([Q, Q]), steps=1, integrator=la.RungeKutta())
    smooth = la.batch.simulate(ROBOT, np.stack([Q, Q]), steps=1, integrator=la.Galerkin(order=2))
    by = np.ones((2, 2, 2))
    shapes = ["a", None, ODD, 1.0, [], [[1.0], [1.0, 2.0]], np.ones((2, 2)), np.ones((2, 3, 2)), by.astype(complex)]
    shapes += [np.full((2, 2, 2), "a"), np.full((2, 2, 2), None)]
    yield Call(
        "batch_gradient",
        la.derivatives.batch_gradient,
        {"run": smooth, "dq": by, "dv": by, "controls": np.zeros((2, 1, 2))},
        {"run": [*NO_OBJECT, None], "dq": shapes, "dv": shapes, "controls": controls},
    )
    many = la.batch.Simulator(ROBOT, 2, integrator=la.RungeKutta())
    yield Call(
        "batch.Simulator.step",
        many.step,
        {"u": np.zeros((2, 2)), "steps": 1, "motions": None},
        {"u": ["a", ODD, 1.0, [], np.zeros(3)], "steps": "count", "motions": ["a", 3, ODD, {"joint1": 0.0}]},
    )
    wrong = ["a", 1.5, None, ODD, NAN, [0], slice(0, 1), True]
    yield Call("BatchRun.__getitem__", run.__getitem__, {"robot": 1}, {"robot": wrong})
