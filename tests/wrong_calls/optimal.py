"""Trajectory optimisation, called wrongly; nothing is solved but the smallest problem, once."""

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import EMPTY, FREE, HUGE, INF, NAN, NO_OBJECT, ODD, ROBOT, WRONG, Call, Q, V

STEPS = 3
AT = ["a", 1.5, ODD, NAN, {}, [1.5], ["a"], 99, -99, [99], True, np.zeros((2, 2), int), HUGE]
WEIGHT = ["a", ODD, {}, [], NAN, INF, 1j, [1.0] * 50, np.ones((2, 2)), [[1.0], [1.0, 2.0]], HUGE, True]
SQUARES = [*WEIGHT, -1.0]
BOUND = ["a", ODD, {}, [], NAN, 1j, [1.0] * 50, np.ones((2, 2)), HUGE]


def _is_free(x):
    """Whether a value is an array of NaN: what may be anywhere."""
    return isinstance(x, np.ndarray) and x.dtype == float and bool(np.isnan(x).any())


TARGET = [x for x in WRONG["vector3"] if x is not EMPTY]


def _problem(robot=ROBOT):
    return la.optimize.Problem(robot, steps=STEPS, duration=1.0)


def _in_a_problem(make, costs):
    """Make a cost or constraint, and give it to a problem: one of both must refuse."""

    def call(**given):
        made, problem = make(**given), _problem().finish(Q)
        (problem.minimize if costs else problem.subject_to)(made).transcribe()

    return call


def optimal():
    """`leastaction.optimize`."""
    o = la.optimize
    numbers = ["a", ODD, {}, [], NAN, INF, 0.0, -1.0, 1j, (1.0, 0.5), (1.0, 2.0, 3.0), (NAN, 1.0), HUGE, True]
    yield Call(
        "optimize.Problem",
        lambda **given: o.Problem(**given).finish(Q).transcribe(),
        {"mechanism": ROBOT, "steps": STEPS, "duration": 1.0, "integrator": la.Midpoint(), "controls": "held"}
        | {"momenta": False, "limits": True},
        {
            "mechanism": [*NO_OBJECT, None],
            "steps": "count",
            "duration": numbers,
            "integrator": [*NO_OBJECT, la.Midpoint, la.RungeKutta()],
            "controls": "choice",
            "momenta": "flag",
            "limits": "flag",
        },
    )
    yield Call(
        "optimize.Problem with dt", o.Problem, {"mechanism": ROBOT, "steps": STEPS, "dt": 0.1}, {"steps": "count"}
    )
    free = [x for x in WRONG["state"] if x is not EMPTY and not _is_free(x)]
    free += [{"none": 1.0}, {"joint1": "a"}, {3: 1.0}, {"joint1": [1.0, 2.0]}]
    speed = [x for x in WRONG["state"] if x is not EMPTY]
    quaternions = [np.zeros(7), np.array([0, 0, 0, 1, 0, 0, NAN]), np.ones(6), "a", ODD, np.ones((2, 7))]
    for name in ("start", "finish"):
        yield Call(f"optimize.Problem.{name}", getattr(_problem(), name), {"q": Q, "v": V}, {"q": free, "v": speed})
        yield Call(
            f"optimize.Problem.{name} with quaternions",
            getattr(_problem(FREE), name),
            {"q": FREE.neutral()},
            {"q": quaternions},
        )
    pairs = ["a", 3, ODD, [1], (1.0, -1.0), (NAN, 1.0), ("a", "b"), (1.0, 2.0, 3.0), ([1.0] * 5, 2.0), {"none": (0, 1)}]
    pairs += [{"joint1": 1.0}, {"joint1": ("a", 1.0)}, {"joint1": (1.0, 0.0)}, {3: (0, 1)}, (1j, 2.0), (-HUGE, HUGE)]
    for what in ("q", "v", "u"):
        yield Call(
            f"optimize.Problem.bounds of {what}",
            lambda _w=what, **x: _problem().bounds(**x),
            {what: (-1, 1)},
            {what: pairs},
        )
    yield Call(
        "optimize.Problem.minimize",
        lambda cost: _problem().minimize(cost),
        {"cost": o.effort()},
        {"cost": [*NO_OBJECT, None, o.effort]},
    )
    yield Call(
        "optimize.Problem.subject_to",
        lambda constraint: _problem().subject_to(constraint),
        {"constraint": o.position("link2", (0, 0, 1))},
        {"constraint": [*NO_OBJECT, None, o.effort()]},
    )
    yield Call(
        "optimize.Problem.guess",
        _problem().guess,
        {"q": np.zeros((STEPS + 1, 2)), "u": np.zeros((STEPS, 2)), "duration": 1.0},
        {
            "q": ["a", ODD, {}, [], np.zeros(2), np.zeros((2, 2)), np.full((STEPS + 1, 2), NAN), 1j],
            "u": ["a", ODD, {}, [], np.zeros(3), np.zeros((2, 2)), np.full(2, NAN), 1j],
            "duration": "positive",
        },
    )
    yield from _costs(o)
    yield from _constraints(o)
    yield from _solving(o)


def _costs(o):
    for name in ("effort", "velocity", "differences", "momentum"):
        yield Call(f"optimize.{name}", _in_a_problem(getattr(o, name), True), {"weight": 1.0}, {"weight": SQUARES})
    yield Call("optimize.time", _in_a_problem(o.time, True), {"weight": 1.0}, {"weight": WEIGHT})
    wrong = [x for x in WRONG["state"] if x is not EMPTY]
    for name in ("tracking", "terminal"):
        valid = {"reference": Q, "weight": 1.0}
        yield Call(
            f"optimize.{name}", _in_a_problem(getattr(o, name), True), valid, {"reference": wrong, "weight": SQUARES}
        )
    yield Call(
        "optimize.reach",
        _in_a_problem(o.reach, True),
        {"body": "link2", "target": (0, 0, 1), "weight": 1.0, "point": (0, 0, 0), "at": -1},
        {"target": TARGET, "weight": SQUARES, "at": AT},
    )
    own = {"where": "knots", "kind": "numpy", "at": None, "name": "mine"}
    wrong = {"where": "choice", "kind": "choice", "at": AT, "name": "text"}
    # What a function of the user's raises comes through; where it is not finite, the solver says so.
    functions = ["a", 3, ODD, None, lambda q: "a", lambda q: (1.0,), lambda q: (1.0, np.ones(5))]
    functions += [lambda q: None, lambda q: (1j, np.zeros(2))]
    valid = {"f": lambda q: (q[0], np.array([1.0, 0.0])), "weight": 1.0, "squares": False, "integral": True, **own}
    kinds = {"f": functions, "weight": WEIGHT, "squares": "flag", "integral": "flag", **wrong}
    yield Call("optimize.cost", _in_a_problem(o.cost, True), valid, kinds)
    valid = {"f": valid["f"], "lower": 0.0, "upper": 1.0, **own}
    yield Call(
        "optimize.constraint",
        _in_a_problem(o.constraint, False),
        valid,
        {"f": functions, "lower": BOUND, "upper": BOUND, **wrong},
    )
    valid = {"function": o.effort().function, "weight": 1.0, "squares": True, "integral": False}
    kinds = {"function": [*NO_OBJECT, None], "weight": SQUARES, "squares": "flag", "integral": "flag"}
    yield Call("optimize.Cost", _in_a_problem(o.Cost, True), valid, kinds)
    valid = {"function": o.effort().function, "lower": 0.0, "upper": 1.0}
    yield Call(
        "optimize.Constraint",
        _in_a_problem(o.Constraint, False),
        valid,
        {"function": [*NO_OBJECT, None], "lower": BOUND, "upper": BOUND},
    )


def _constraints(o):
    target = [x for x in TARGET if not _is_free(x)]
    yield Call(
        "optimize.position",
        _in_a_problem(o.position, False),
        {"body": "link2", "target": (0, 0, 1), "point": (0, 0, 0), "at": None},
        {"target": target, "at": AT},
    )
    valid = {"body": "link2", "lower": -1.0, "upper": 1.0}
    yield Call("optimize.position between", _in_a_problem(o.position, False), valid, {"lower": BOUND, "upper": BOUND})
    poses = ["a", 3.0, [], ODD, {}, None, np.zeros((4, 4)), np.full((4, 4), NAN), np.eye(2), -np.eye(3), 1j * np.eye(3)]
    yield Call(
        "optimize.pose",
        _in_a_problem(o.pose, False),
        {"body": "link2", "target": np.eye(4), "at": None, "tolerance": 0.1},
        {"target": poses, "at": AT, "tolerance": [*BOUND, -1.0]},
    )
    yield Call(
        "optimize.clearance",
        _in_a_problem(o.clearance, False),
        {
            "body": "link2",
            "center": (0, 0, 5),
            "radius": 0.1,
            "point": (0, 0, 0),
            "body_radius": 0.1,
            "margin": 0.0,
            "at": None,
        },
        {"radius": "nonnegative", "body_radius": "nonnegative", "margin": "number", "at": AT},
    )
    yield Call(
        "optimize.separation",
        lambda first, second, margin, at: o.separation(first, second, margin=margin, at=at),
        {"first": "link1", "second": "link2", "margin": 0.0, "at": None},
        {"first": "name", "second": "name", "margin": "number"},
    )
    for name in ("center_of_mass", "centroidal_momentum"):
        valid = {"lower": -1.0, "upper": 1.0, "at": None}
        wrong = {"lower": BOUND, "upper": BOUND, "at": AT}
        yield Call(f"optimize.{name}", _in_a_problem(getattr(o, name), False), valid, wrong)


def _solving(o):
    problem = _problem().start(Q, V).minimize(o.effort())
    solution = problem.solve(solver="horizon")
    settings = {"solver": "choice", "hessian": "choice", "tolerance": "positive", "max_iterations": "count"}
    settings |= {
        "time_limit": "positive",
        "log": ["a", 3, ODD, [], {}],
        "warm_start": [*NO_OBJECT],
        "options": ["a", 3, ODD, [1], {3: 1}],
    }
    valid = {"solver": "horizon", "hessian": "gauss-newton", "tolerance": 1e-6, "max_iterations": 5, "time_limit": 1.0}
    valid |= {"log": False, "warm_start": None, "options": None}
    yield Call("optimize.solve", o.solve, {"problem": problem, **valid}, {"problem": [*NO_OBJECT, None], **settings})
    yield Call("optimize.Problem.solve", problem.solve, {"tolerance": 1e-6, "solver": "horizon"})
    yield Call(
        "optimize.multi_start",
        o.multi_start,
        {"problem": problem, "starts": 1, "spread": 1.0, "modes": 1, "seed": 0, "solver": "horizon"},
        {
            "problem": [*NO_OBJECT, None],
            "starts": "count",
            "spread": "nonnegative",
            "modes": "count",
            "seed": ["a", 1.5, -1, ODD, {}, NAN, 1j],
        },
    )
    ahead = _problem().start(q=Q, v=V).minimize(o.tracking(Q))
    yield Call(
        "optimize.MPC",
        o.MPC,
        {"problem": ahead, "iterations": 1, "barrier": 1e-3, "hessian": "gauss-newton"},
        {"problem": [*NO_OBJECT, None, _problem()], "iterations": "count", "barrier": "positive", "hessian": "choice"},
    )
    mpc, state = o.MPC(ahead), [x for x in WRONG["state"] if x is not EMPTY]
    yield Call("optimize.MPC.step", mpc.step, {"q": Q, "v": V}, {"q": state, "v": state})
    yield Call("optimize.MPC.target", mpc.target, {"reference": Q}, {"reference": state})
    wrong = [x for x in WRONG["path"] if x != "no/such/folder/file"]
    yield Call(
        "optimize.load",
        o.load,
        {"file": "none", "mechanism": ROBOT},
        {"file": wrong, "mechanism": [*NO_OBJECT, None]},
        works=False,
    )
    yield Call("optimize.Solution.save", solution.save, {"file": "none"}, {"file": wrong}, works=False)
    yield Call("optimize.Solution.control", solution.control, {"t": 0.1}, {"t": ["a", ODD, {}, 1j, NAN, HUGE]})
