"""Reduced coordinates and linear algebra, called wrongly."""

import inspect

import numpy as np

import leastaction as la
from tests.wrong_calls.kinds import HUGE, INF, NAN, ODD, ROBOT, WRONG, Call, Q, V, no_vector


def redmax():
    """`leastaction.redmax`."""
    from leastaction import redmax as m

    columns = [x for x in no_vector(2, batches=True) if getattr(x, "shape", ()) != (2, 3)]
    known = {"mechanism": ROBOT, "q": Q, "v": V, "x": V, "r": Q, "rd": V, "y": np.zeros(12), "chart": "euler"}
    for name in m.__all__:
        function = getattr(m, name)
        if inspect.isfunction(function) and set(inspect.signature(function).parameters) <= set(known):
            valid = {n: known[n] for n in inspect.signature(function).parameters}
            yield Call(
                f"redmax.{name}",
                function,
                valid,
                {
                    "y": no_vector(12),
                    **({"x": columns} if name == "inverse_inertia_product" else {}),
                },
            )
    prescribed = [3, "a", ODD, [1], {"none": 1.0}, {3: 1.0}, {"joint1": "a"}, {"joint1": NAN}]
    yield Call(
        "redmax.hybrid_dynamics",
        m.hybrid_dynamics,
        {"mechanism": ROBOT, "q": Q, "v": V, "u": V, "prescribed": {"joint1": 1.0}, "close_loops": True},
        {"prescribed": prescribed, "close_loops": "flag"},
    )

    def inverse(x, **given):
        return m.InverseInertia(**given) @ x

    blocks = [
        "a",
        3.0,
        ODD,
        {"none": np.eye(6)},
        {"link1": np.eye(3)},
        {"link1": np.full((6, 6), NAN)},
        np.zeros((1, 6, 6)),
        [1],
    ]
    yield Call(
        "redmax.InverseInertia",
        inverse,
        {"mechanism": ROBOT, "q": Q, "diagonal": np.ones(2), "x": V},
        {"diagonal": no_vector(2), "x": columns},
    )
    yield Call(
        "redmax.InverseInertia with blocks",
        inverse,
        {"mechanism": ROBOT, "q": Q, "blocks": np.zeros((2, 6, 6)), "x": V},
        {"blocks": blocks, "x": None},
    )
    yield Call(
        "redmax.Bearing",
        m.Bearing,
        {"joint": "joint1", "friction": 0.1, "radius": 0.1, "length": 0.1},
        {"joint": "name"},
    )

    def constrained(kind):
        def run(**given):
            return la.simulate(ROBOT, Q, dt=0.01, steps=1, integrator=la.ConstrainedEuler(constraints=(kind(**given),)))

        return run

    motion = {"name": "joint1", "velocity": lambda t: 0.0, "position": lambda t: 0.4}
    function = ["a", 3, ODD, lambda: 0.0, lambda t: "a", lambda t: NAN, lambda t: [1.0, 2.0]]
    yield Call(
        "redmax.PrescribedMotion",
        constrained(m.PrescribedMotion),
        motion,
        {"name": "known", "velocity": function, "position": function},
    )
    twist = {
        "body": "link1",
        "twist": lambda t: np.zeros(6),
        "components": (1,),
        "point": (0, 0, 0),
        "frame": "body",
    }
    yield Call(
        "redmax.PrescribedTwist",
        constrained(m.PrescribedTwist),
        twist,
        {"twist": [*function, lambda t: np.zeros(3)], "components": ["a", 3, ODD, (9,), (-1,), ("a",), (0.5,)]},
    )
    g = lambda t, q: ([0.0], [[1.0, 0.0]])  # noqa: E731
    wrong = [
        "a",
        3,
        ODD,
        lambda t: 0,
        lambda t, q: 3,
        lambda t, q: ([0.0], [[1.0]]),
        lambda t, q: ([NAN], [[1.0, 0.0]]),
        lambda t, q: (["a"], [["b", "c"]]),
    ]
    yield Call(
        "redmax.ReducedConstraint",
        constrained(m.ReducedConstraint),
        {"function": g, "inequality": False},
        {"function": wrong, "inequality": "flag"},
    )
    g = lambda t, X: ([0.0], [[1.0] + [0.0] * 5])  # noqa: E731
    yield Call(
        "redmax.MaximalConstraint",
        constrained(m.MaximalConstraint),
        {"bodies": ["link1"], "function": g, "inequality": False},
        {"bodies": ["a", 3, ODD, [3], ["none"], [ODD]], "function": wrong, "inequality": "flag"},
    )
    yield Call("redmax.taken_apart", m.taken_apart, {"mechanism": ROBOT})
    yield Call("redmax.HyperReduction", m.HyperReduction, {"mechanism": ROBOT})
    hyper = m.HyperReduction(ROBOT)
    yield Call("redmax.HyperReduction.complete", hyper.complete, {"q": Q})
    yield Call("redmax.HyperReduction.jacobian", hyper.jacobian, {"q": Q, "v": V})
    yield Call(
        "redmax.MaximalMap", m.MaximalMap, {"mechanism": ROBOT, "apart": m.taken_apart(ROBOT)}, {"apart": "object"}
    )
    between = m.MaximalMap(ROBOT, m.taken_apart(ROBOT))
    yield Call("redmax.MaximalMap.poses", between.poses, {"q": Q})
    yield Call("redmax.MaximalMap.twists", between.twists, {"q": Q, "v": V})
    yield Call("redmax.MaximalMap.wrenches", between.wrenches, {"q": Q, "tau": V}, {"tau": "state"})
    yield Call(
        "redmax.MaximalMap.reduced",
        between.reduced,
        {"poses": between.poses(Q), "twists": between.twists(Q, V), "guess": Q},
        {"poses": [*no_vector(14), np.zeros(14)], "twists": no_vector(12), "guess": "state"},
    )
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])

    def built_by(function, **given):
        b = ROBOT.edit()
        function(b, **given)
        return b.build()

    def call(which, kinds=None, **valid):
        function = getattr(m, which)
        return Call(f"redmax.{which}", lambda **given: built_by(function, **given), valid, kinds or {})

    mass = ["a", ODD, NAN, -1.0, 0.0, [1.0, 2.0], np.full(4, NAN), 1j, {}]
    stiffness = ["a", ODD, NAN, -1.0, INF, 1j, {}, [1.0, 2.0, 3.0, 4.0, 5.0]]
    attached = ["a", 3, ODD, {9: "link1"}, {0: "none"}, {0: 3}, {"a": "link1"}]
    edges = ["a", ODD, [[0, 9]], [[0, -1]], [[0.5, 1]], [[0, 1, 2]], 3.0, [["a", "b"]], [[0, 0]], {}]
    wrong = {
        "mass": mass,
        "stiffness": stiffness,
        "damping": stiffness,
        "attached": attached,
        "edges": edges,
        "name": [3, ODD, [], {}],
    }
    yield call(
        "add_network",
        name="n",
        points=points,
        edges=[[0, 1]],
        mass=1.0,
        stiffness=1.0,
        damping=0.1,
        attached={0: "link1"},
        rest_lengths=[1.0],
        kinds=wrong | {"rest_lengths": ["a", ODD, [NAN], [1.0, 2.0], [-1.0], {}]},
    )
    yield call(
        "add_chain",
        name="n",
        points=points,
        mass=1.0,
        stiffness=1.0,
        damping=0.1,
        start="link1",
        end=("link2", (0, 0, 0)),
        kinds=wrong,
    )
    yield call(
        "add_cloth",
        name="n",
        points=np.array([[[0, 0, 0], [1, 0, 0]], [[0, 1, 0], [1, 1, 0.0]]]),
        mass=1.0,
        stiffness=1.0,
        shear=1.0,
        bending=0.0,
        damping=0.1,
        attached={(0, 0): "link1"},
        kinds=wrong
        | {
            "shear": [*stiffness[:-1]],
            "bending": stiffness[:-1],
            "stiffness": stiffness[:-1],
            "attached": ["a", 3, ODD, {9: "link1"}, {(0, 9): "link1"}, {(0, 0): 3}],
        },
    )
    yield call(
        "add_tetrahedra",
        name="n",
        points=points,
        tetrahedra=[[0, 1, 2, 3]],
        density=1.0,
        stiffness=1.0,
        damping=0.1,
        attached={0: "link1"},
        kinds=wrong
        | {
            "tetrahedra": [
                "a",
                ODD,
                [[0, 1, 2]],
                [[0, 1, 2, 9]],
                [[0, 1, 2, 2]],
                [[0, 1, 2, -1]],
                [[0.5, 1, 2, 3]],
                3.0,
            ],
            "points": [*WRONG["points"]],
        },
    )
    for name in ("add_network", "add_chain"):
        function = getattr(m, name)
        more = {"edges": [[0, 1]]} if name == "add_network" else {}
        yield Call(
            f"redmax.{name} of no builder",
            lambda builder, function=function, more=more: function(
                builder, "n", points, mass=1.0, stiffness=1.0, **more
            ),
            {"builder": ROBOT.edit()},
            {"builder": "object"},
        )


def linear_algebra():
    """`leastaction.maximal.GraphLDU`."""
    from leastaction.maximal import GraphLDU

    kinds = {
        "sizes": ["a", ODD, [-1, 2], [1.5, 2.0], [NAN, 1.0], 3.0, [[1, 2], [3]], {}, [HUGE, 1]],
        "edges": ["a", ODD, [(0, 9)], [(0, -1)], [(0.5, 1)], [(0, 1, 2)], 3, [(0, 0)], [("a", "b")]],
        "constraint": ["a", ODD, [True], 3, [True] * 5],
        "order": ["a", ODD, [0], [0, 0], [0, 9], 3, [0.5, 1], [NAN, 1]],
        "roots": ["a", ODD, [9], [-1], 3, [0.5], [NAN]],
        "tolerance": [x for x in WRONG["positive"] if x is not HUGE],
    }
    yield Call(
        "GraphLDU",
        GraphLDU,
        {
            "sizes": [2, 1],
            "edges": [(0, 1)],
            "constraint": [False, True],
            "order": [0, 1],
            "roots": [1],
            "tolerance": 1e-11,
        },
        kinds,
    )
    ldu = GraphLDU([2, 1], [(0, 1)])
    A = np.eye(3) + 0.1
    matrix = [
        "a",
        ODD,
        np.eye(2),
        np.full((3, 3), NAN),
        np.zeros(3),
        3.0,
        {(0, 9): np.eye(2)},
        {(0, 0): np.eye(9)},
        {3: np.eye(2)},
        {(0, 0): "a"},
        np.eye(3) * 1j,
        [[1.0], [2.0, 3.0]],
    ]
    yield Call("GraphLDU.factor", ldu.factor, {"blocks": A}, {"blocks": matrix})
    yield Call("GraphLDU.assemble", ldu.assemble, {"blocks": A}, {"blocks": matrix})
    rhs = ["a", ODD, np.zeros(2), np.full(3, NAN), np.zeros((2, 2)), 3.0, np.zeros(3, complex), {}, [[1.0], [2.0, 3.0]]]

    def solve(b, steps, transposed=False):
        other = GraphLDU([2, 1], [(0, 1)])
        other.factor(A)
        return (other.solve_transposed if transposed else other.solve)(b, **steps)

    yield Call("GraphLDU.solve", solve, {"b": np.ones(3), "steps": {}}, {"b": rhs, "steps": None})
    yield Call(
        "GraphLDU.solve_transposed",
        solve,
        {"b": np.ones(3), "steps": {}, "transposed": True},
        {"b": rhs, "steps": None, "transposed": None},
    )
