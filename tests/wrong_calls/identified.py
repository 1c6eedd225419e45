"""Identification, called wrongly."""

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import EMPTY, NAN, ODD, Call

ROBOT = la.robots.pendulum(links=1)
NAMES = ["mass:link1"]
NO_MECHANISM = ["a", 3, [], {}, ODD, NAN, None]
NO_NAMES = [3, ODD, NAN, [3], [ODD], ["there is none of this name"], [], ["q"], ["mass:there is none of this name"]]
NO_LOGS = ["a", 3, [], {}, ODD, NAN, None, [3], [None]]


def _log():
    run = la.simulate(ROBOT, [0.5], dt=0.01, steps=8, integrator=la.Galerkin(order=2), progress=False)
    return la.Trajectory.from_states(ROBOT, run.q, run.v, dt=0.01, u=np.zeros((8, 1)))


def identification():
    """The tools of `leastaction.identification`."""
    i, log = la.identification, _log()
    names = ["damping:joint1"]
    valid = {"mechanism": ROBOT, "logs": log, "parameters": names, "integrator": la.Galerkin(order=2), "segment": 8}
    valid |= {"substeps": 1, "starts": "estimated", "noise": {"q": 1e-3, "v": 1e-2}, "first_fit": True}
    valid |= {"longest_delay": 0.02, "loss": "linear", "evaluations": 2}
    no_noise = [
        "a",
        3,
        [],
        ODD,
        NAN,
        EMPTY,
        {"q": 1.0},
        {"q": NAN, "v": 1.0},
        {"q": 0.0, "v": 1.0},
        {"q": "a", "v": 1.0},
    ]
    wrong = {
        "mechanism": NO_MECHANISM,
        "logs": NO_LOGS,
        "parameters": NO_NAMES,
        "integrator": ["a", 3, [], {}, ODD, NAN],
        "segment": "count",
        "substeps": "count",
        "starts": "choice",
        "noise": no_noise,
        "first_fit": "flag",
        "loss": "choice",
        "evaluations": "count",
    }
    yield Call("identify", i.identify, valid, wrong)
    delayed = valid | {"parameters": ["delay"]}
    yield Call("identify", i.identify, delayed, {"longest_delay": "positive"})
    found = i.identify(**valid)
    no_level = [*NO_MECHANISM[:-1], 0.0, 1.0, 2.0]
    yield Call("identification.Identification.interval", found.interval, {"level": 0.9}, {"level": no_level})
    yield Call(
        "identification.Identification.directions",
        found.directions,
        {"count": 1},
        {"count": ["a", 1.5, -1, ODD, {}, NAN]},
    )
    yield Call(
        "identification.Identification.validate",
        found.validate,
        {"logs": log, "segment": 8},
        {"logs": NO_LOGS, "segment": "count"},
    )
    yield Call(
        "identification.Identification.report",
        found.report,
        {"path": "none.html", "title": "none"},
        {"path": "path", "title": "text"},
        works=False,
    )
    yield Call(
        "identification.base_parameters",
        i.base_parameters,
        {"mechanism": ROBOT, "samples": 3, "seed": 0},
        {"mechanism": NO_MECHANISM, "samples": "count", "seed": ["a", 1.5, -1, ODD, {}, NAN, 1j]},
    )
    designed = {"mechanism": ROBOT, "parameters": names, "duration": 1.0, "dt": 0.05, "harmonics": 2, "q": [0.0]}
    designed |= {"criterion": "information", "evaluations": 1, "seed": 0}
    yield Call(
        "identification.design_excitation",
        i.design_excitation,
        designed,
        {
            "mechanism": NO_MECHANISM,
            "parameters": NO_NAMES,
            "duration": "positive",
            "dt": "positive",
            "harmonics": "count",
            "q": [["a"], [NAN], [1.0, 2.0], ODD, "a", [99.0]],
            "criterion": "choice",
            "evaluations": "count",
            "seed": ["a", 1.5, -1, ODD, {}, NAN, 1j],
        },
    )
