"""Mechanisms, dynamics, integrators and runs, called wrongly."""

import inspect
from dataclasses import fields

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import EMPTY, FREE, LOOP, NAN, NO_OBJECT, ODD, ROBOT, WRONG, Call, Q, V, no_vector


def mechanisms():
    """`Mechanism` and its methods."""
    whole = {f.name: getattr(ROBOT, f.name) for f in fields(ROBOT)}
    several = ["a", 3, ODD, [3], ["a"], {}]
    kinds = {name: several for name, value in whole.items() if isinstance(value, tuple) and name != "gravity"}
    kinds["name"] = "text"
    yield Call("Mechanism", la.Mechanism, whole, kinds)
    yield Call("Mechanism.replace", ROBOT.replace, {"gravity": (0, 0, 0), "name": "r", "springs": ()}, kinds)
    for name in ("body_index", "joint", "coordinate_index", "velocity_index", "subtree"):
        known = "link1" if name in ("body_index", "subtree") else "joint1"
        yield Call(f"Mechanism.{name}", getattr(ROBOT, name), {"name": known}, {"name": "known"})
    for robot, words in ((ROBOT, ""), (FREE, " with quaternions")):
        nq, nv = no_vector(robot.nq, batches=True), no_vector(robot.nv, batches=True)
        if robot is FREE:
            nq += [np.zeros(7), np.ones(7)]
        q, v = robot.neutral(), np.zeros(robot.nv)
        yield Call(f"Mechanism.integrate{words}", robot.integrate, {"q": q, "dv": v}, {"q": nq, "dv": nv})
        yield Call(f"Mechanism.difference{words}", robot.difference, {"q0": q, "q1": q}, {"q0": nq, "q1": nq})
        yield Call(f"Mechanism.normalize{words}", robot.normalize, {"q": q}, {"q": nq[:-1] if robot is FREE else nq})
    yield Call("Mechanism.generalized_forces", ROBOT.generalized_forces, {"u": V, "q": Q}, {"q": None})
    b = ROBOT.edit()
    b.thruster("t", "link2", np.ones(6))
    yield Call(
        "Mechanism.generalized_forces of thrusters",
        b.build().generalized_forces,
        {"u": [1.0], "q": Q},
        {"u": "vector1"},
    )
    yield Call(
        "Mechanism.random_configuration",
        ROBOT.random_configuration,
        {"rng": 1, "scale": 1.0},
        {"rng": ["a", ODD, -1, 1.5, NAN, 1j], "scale": "positive"},
    )


def dynamics():
    """`leastaction.dynamics`, by introspection: all its arguments are known by name."""
    for name in la.dynamics.__all__:
        function = getattr(la.dynamics, name)
        known = {
            "mechanism": ROBOT,
            "q": Q,
            "v": V,
            "a": V,
            "u": V,
            "body": "link2",
            "point": (0, 0, 1),
            "frame": "body",
            "tolerance": 1e-10,
            "max_iterations": 50,
            "out": None,
        }
        valid = {n: known[n] for n in inspect.signature(function).parameters}
        wrong = {"out": ["a", 3, ODD, [], np.zeros(99), NAN]} if "out" in valid else {}
        yield Call(f"dynamics.{name}", function, valid, wrong)
    yield Call(
        "dynamics.close_loops of a loop",
        la.dynamics.close_loops,
        {"mechanism": LOOP, "q": LOOP.neutral()},
        {"q": "vector3"},
    )
    yield Call(
        "dynamics.loop_jacobian of a loop",
        la.dynamics.loop_jacobian,
        {"mechanism": LOOP, "q": LOOP.neutral()},
        {"q": "vector3"},
    )
    for name in ("mass_matrix", "body_poses", "potential_energy"):
        q = FREE.neutral()
        yield Call(
            f"dynamics.{name} with quaternions",
            getattr(la.dynamics, name),
            {"mechanism": FREE, "q": q},
            {"q": [*no_vector(7), np.zeros(7), np.ones(7)]},
        )


def integrators():
    """Settings of all integrators, by introspection: the default of a field tells its kind."""
    from leastaction.integration import registry

    kinds = {bool: "flag", int: "count", float: "positive", str: "choice", tuple: ["a", 3, ODD, [3], [ODD], NAN]}
    for name in registry.names():
        cls = registry.find(name)
        valid = {f.name: f.default for f in fields(cls) if f.init}
        said = {
            n: "nonnegative"
            if n in ("smoothing", "baumgarte", "stabilization") and isinstance(x, float)
            else kinds.get(type(x), ["a", 1.5, -1, 0, ODD, NAN, [], {}])
            for n, x in valid.items()
        }
        yield Call(cls.__name__, lambda cls=cls, **given: cls(**given).prepare(ROBOT, 0.01), valid, said)
    yield Call("Integrator.prepare", la.RungeKutta().prepare, {"mechanism": ROBOT, "dt": 0.01})
    yield Call("registry.find", registry.find, {"name": "galerkin"}, {"name": "known"})
    yield Call(
        "registry.make",
        registry.make,
        {"name": "galerkin", "settings": {"order": 4}},
        {"name": "known", "settings": ["a", 3, ODD, {"none": 3}, {"order": "x"}, {3: 4}]},
    )
    yield Call(
        "registry.parse",
        registry.parse,
        {"text": "galerkin:4"},
        {"text": ["", 3, ODD, "none", "galerkin:x", "galerkin:order=", ":", b"galerkin"]},
    )
    yield Call("registry.label", registry.label, {"integrator": la.Galerkin()})
    yield Call("registry.options", registry.options, {"integrator": la.Galerkin}, {"integrator": [*NO_OBJECT, None]})
    yield Call("default_integrator", la.default_integrator, {"mechanism": ROBOT})


def runs():
    """`simulate`, `Trajectory` and what takes runs."""
    rk = la.RungeKutta()
    u = np.zeros((2, 2))
    controls = [
        "a",
        ODD,
        np.zeros(3),
        np.zeros((3, 2)),
        np.full(2, NAN),
        {},
        lambda: 0,
        lambda t: "a",
        lambda t: [1.0],
        lambda t: [NAN, NAN],
        np.zeros(2, complex),
    ]
    q = [x for x in WRONG["state"] if x is not EMPTY]
    q += [{"none": 1.0}, {"joint1": "a"}, {"joint1": NAN}, {3: 1.0}, {"joint1": [1.0, 2.0]}]
    valid = {
        "mechanism": ROBOT,
        "q": Q,
        "v": V,
        "dt": 0.01,
        "steps": 2,
        "integrator": rk,
        "controls": u,
        "start": 0.0,
        "project": False,
        "progress": False,
    }
    kinds = {"q": q, "v": q, "steps": "steps", "controls": controls, "start": "number", "progress": "flag"}
    yield Call("simulate", la.simulate, valid, kinds)
    yield Call("simulate from p", la.simulate, {"mechanism": ROBOT, "p": V, "dt": 0.01, "steps": 1, "integrator": rk})
    yield Call(
        "simulate for a time",
        la.simulate,
        {"mechanism": ROBOT, "duration": 0.02, "integrator": rk},
        {"duration": "nonnegative"},
    )
    controller = ["a", 3, ODD, lambda t: [0, 0], lambda t, q, v: "a", lambda t, q, v: [NAN, NAN], lambda t, q, v: [1.0]]
    yield Call(
        "simulate with a controller",
        la.simulate,
        {"mechanism": ROBOT, "steps": 1, "integrator": rk, "controller": lambda t, q, v: [0, 0]},
        {"controller": controller, "steps": "steps"},
    )
    run = la.simulate(ROBOT, Q, dt=0.01, steps=2, integrator=rk)
    arrays = {"t": run.t, "q": run.q, "stored": run.stored, "dt": 0.01, "mechanism": ROBOT, "integrator": rk}
    wrong = ["a", ODD, np.zeros(7), np.zeros((9, 9)), np.zeros((3, 2), complex), [], {}]
    yield Call(
        "Trajectory",
        lambda **given: la.Trajectory(**given).energy,
        arrays,
        {
            "t": wrong,
            "q": wrong,
            "stored": [3, ODD, {"v": np.zeros((9, 9))}, {"v": "a"}, {}, {"p": np.zeros((1, 2))}],
            "integrator": None,
        },
    )
    yield Call(
        "Trajectory.contact_force", _touching().contact_force, {"body": "cube", "other": "world"}, {"other": "known"}
    )
    yield Call("Trajectory.load", la.Trajectory.load, {"path": "none"}, {"path": "path"}, works=False)
    yield Call(
        "Trajectory.save",
        run.save,
        {"path": "none"},
        {"path": [x for x in WRONG["path"] if x != "no/such/folder/file"] + ["no/such/folder/file"]},
        works=False,
    )
    yield Call("Trajectory.resample", run.resample, {"times": run.t}, {"times": ["a", ODD, 3, [], [0.0, 9.0], None]})
    yield Call("Trajectory.join", run.join, {"other": run[-1:]}, {"other": [3, "a", None, run, ODD]})
    yield Call(
        "Trajectory.__getitem__", run.__getitem__, {"part": slice(0, 2)}, {"part": [3, "a", None, slice(2, 2), ODD]}
    )
    yield Call("Trajectory.to_csv", run.to_csv, {"path": "none.csv"}, works=False)


def _touching():
    robot = la.robots.cube()
    log = np.array([[0, -1, 0, *np.zeros(7)]], float)
    return la.Trajectory(
        robot,
        None,
        0.01,
        np.arange(2) * 0.01,
        np.tile(robot.neutral(), (2, 1)),
        {"v": np.zeros((2, 6)), "contacts": log},
    )
