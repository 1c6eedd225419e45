"""Plots and views, called wrongly."""

import inspect

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import NAN, ODD, ROBOT, WRONG, Call, Q
from tests.wrong_calls.simulation import _touching


def pictures():
    """`leastaction.plot` and `leastaction.view`."""
    import matplotlib

    matplotlib.use("Agg")
    run = la.Trajectory(ROBOT, la.RungeKutta(), 0.01, np.arange(3) * 0.01, np.tile(Q, (3, 1)), {"v": np.zeros((3, 2))})
    runs = ["a", 3, ODD, [], [3], [run, 3], {}, NAN]
    labels = [3, ODD, [], ["a", "b"], [3], [ODD]]
    known = {"runs": run, "labels": ["a"], "path": None, "names": ["joint1"], "error": True, "worst": False}
    kinds = {
        "runs": runs,
        "labels": labels,
        "names": ["a", 3, ODD, [], ["none"], [3]],
        "error": "flag",
        "worst": "flag",
        "path": [x for x in WRONG["path"] if x is not None] + ["a.unknown"],
    }
    for name in ("energy", "momentum", "coordinates", "phase"):
        function = getattr(la.plot, name)
        yield Call(
            f"plot.{name}", closing(function), {n: known[n] for n in inspect.signature(function).parameters}, kinds
        )
    touching = _touching()
    points = len(touching.mechanism.contacts)
    forces = [
        np.full((2, points), NAN),
        "a",
        3,
        ODD,
        np.zeros(3),
        {"a": "b"},
        {"a": np.zeros(9)},
        {"a": [NAN]},
        {3: [1.0]},
    ]
    yield Call(
        "plot.contacts",
        closing(la.plot.contacts),
        {"run": touching, "path": None, "tolerance": 1e-3, "forces": np.ones((2, points))},
        {"run": runs, "tolerance": "positive", "forces": forces, "path": kinds["path"]},
    )
    yield Call(
        "plot.contacts by gaps",
        closing(la.plot.contacts),
        {"run": touching, "gaps": np.ones((2, points))},
        {"run": None, "gaps": forces},
    )
    yield Call(
        "plot.sparsity",
        closing(la.plot.sparsity),
        {"what": ROBOT, "title": "a"},
        {"what": ["a", 3.0, ODD, [], np.zeros(3), [[1.0], [2.0, 3.0]]], "title": "text"},
    )
    dt, errors = [0.1, 0.05, 0.02], [1e-2, 1e-3, 1e-4]
    steps = ["a", 3.0, ODD, [], [0.1], [NAN] * 3, [-1.0] * 3, [[1.0], [2.0, 3.0]], {}, [0.0, 0.1, 0.2]]
    many = ["a", 3, ODD, {}, {"a": [1.0]}, {"a": "b"}, {"a": ODD}, {"a": ["x"] * 3}]
    yield Call(
        "plot.slope",
        la.plot.slope,
        {"dt": dt, "errors": errors},
        {"dt": steps, "errors": ["a", 3.0, ODD, [], [0.1], ["x"] * 3]},
    )
    yield Call(
        "plot.convergence",
        closing(la.plot.convergence),
        {"dt": dt, "errors": {"a": errors}, "ylabel": "y"},
        {"dt": steps, "errors": many, "ylabel": "text"},
    )
    results = [
        "a",
        3,
        ODD,
        {},
        {"a": [1.0]},
        {"a": "b"},
        {"a": ODD},
        {"a": ([1.0], [1.0, 2.0])},
        {"a": (["x"], ["y"])},
        {"a": ([NAN], [NAN])},
    ]
    yield Call(
        "plot.work_precision",
        closing(la.plot.work_precision),
        {"results": {"a": (errors, dt)}, "xlabel": "x", "ylabel": "y"},
        {"results": results, "xlabel": "text", "ylabel": "text"},
    )
    view = la.view
    scene = {
        "what": run,
        "labels": ["a"],
        "layout": "ghost",
        "traces": ["link1"],
        "plots": ["energy"],
        "follow": True,
        "camera": (0.1, 0.2),
        "fps": 60.0,
        "max_frames": 100,
    }
    camera = ["a", 3.0, ODD, (1.0,), (NAN, 1.0), ("a", "b"), {}]
    traces = ["a", 3, ODD, ["none"], [3], [("link1", "a")], [("link1", (NAN, 0, 0))], [("link1",)]]
    kinds = {
        "what": runs,
        "labels": labels,
        "layout": "choice",
        "traces": traces,
        "plots": [3, ODD, ["none"], [3]],
        "follow": "flag",
        "camera": camera,
        "fps": "positive",
        "max_frames": "count",
    }
    yield Call("view.build_scene", view.build_scene, scene, kinds)
    yield Call("view.build_scene of a robot", view.build_scene, {"what": ROBOT, "q": Q}, {"what": None})
    size = [*WRONG["positive"], 1, 10**6, 100.5]
    shot = {"what": run, "path": None, "time": 0.01, "width": 64, "height": 48, "show": ("traces",)}
    show = ["a", 3, ODD, ["none"], [3]]
    yield Call(
        "view.screenshot",
        view.screenshot,
        shot,
        {
            "what": runs,
            "path": [*WRONG["path"], "a.jpg"],
            "time": "number",
            "width": size,
            "height": size,
            "show": show,
        },
    )
    yield Call(
        "view.export_html",
        view.export_html,
        {"what": run, "path": "no.html", "title": "a"},
        {"what": runs, "path": "path", "title": "text"},
        works=False,
    )
    film = {
        "what": run,
        "path": "no.gif",
        "width": 64,
        "height": 48,
        "fps": 30,
        "speed": 1.0,
        "show": ("traces",),
        "progress": lambda done, count: None,
    }
    yield Call(
        "view.export_mp4",
        view.export_mp4,
        film,
        {
            "what": runs,
            "path": [*WRONG["path"], "a.jpg"],
            "width": size,
            "height": size,
            "fps": "positive",
            "speed": "positive",
            "show": show,
            "progress": ["a", 3, ODD],
        },
        works=False,
    )
    yield Call(
        "view.Camera",
        view.Camera,
        {"target": (0, 0, 0), "azimuth": 0.1, "elevation": 0.1, "distance": 1.0, "field_of_view": 0.6},
        {
            "azimuth": "number",
            "elevation": "number",
            "distance": "positive",
            "field_of_view": [*WRONG["positive"], 4.0],
        },
    )
    yield Call("view.Camera.moved", view.Camera().moved, {"shift": (0, 0, 0)}, {"shift": "vector3"})


def closing(function):
    """The function, with its figure closed after the call."""

    def call(**given):
        from matplotlib import pyplot

        try:
            return function(**given)
        finally:
            pyplot.close("all")

    return call
