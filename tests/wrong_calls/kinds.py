"""Every public function, class and method with a valid call, and what is wrong for each of its arguments.

`CALLS` has one valid call each. The kind of an argument (by its name, `KINDS`, or as the call says) tells which values
are wrong for it: other types, shapes, NaN and infinity, negative and zero sizes, names that there are not.
"""

from dataclasses import dataclass, field

import numpy as np

import leastaction as la

NAN, INF, HUGE = float("nan"), float("inf"), 10**400


class Odd:
    """Something that is nothing the package knows."""

    def __repr__(self):
        return "an odd thing"


ODD = Odd()
EMPTY = {}
NO_NUMBER = ["a", "1", b"1", [], {}, [1.0, 2.0], ODD, 1j, NAN, True, np.zeros((2, 2)), HUGE]
NO_NAME = ["", " ", 3, 1.5, [], {}, ODD, b"x", NAN, True, ["link1"]]
NO_OBJECT = ["a", 3, [], {}, ODD, NAN, b"x"]


def no_vector(n, batches=False):
    """What is no vector of n finite numbers; nor several of them, in case of batches."""
    spoiled = [
        np.full(n, NAN),
        np.full(n, INF),
        np.full(n, -INF),
        [1.0] * n + [2.0],
        [1.0] * (n - 1),
        [],
        "a",
        b"a",
        ODD,
    ]
    spoiled += [["a"] * n, [ODD] * n, np.ones(n, complex), np.ones((n, n + 1)), EMPTY, [[1.0, 2.0], [3.0]], [HUGE] * n]
    spoiled += [np.array([None] * n, object), *([] if batches else [np.ones((2, n))])]
    return [*spoiled, 1.0] if n != 1 else spoiled


WRONG = {
    "number": [*NO_NUMBER, INF, -INF],
    "limit": NO_NUMBER,
    "positive": [*NO_NUMBER, INF, -INF, 0.0, -1.0],
    "nonnegative": [*NO_NUMBER, INF, -INF, -1.0],
    "count": [*NO_NUMBER, INF, -INF, 0, -1, 1.5, 2.0],
    "steps": [*NO_NUMBER, INF, -INF, -1, 1.5],
    "name": NO_NAME,
    "known": [*NO_NAME, "there is none of this name"],
    "text": [3, 1.5, [], {}, ODD, b"x", NAN],
    "choice": [*NO_NAME, "there is no such choice"],
    "flag": ["a", "False", 3, 0.5, [], {}, ODD, NAN, np.ones(3, bool)],
    "object": NO_OBJECT,
    "class": [*NO_OBJECT, None, la.Galerkin],
    "function": [*NO_OBJECT, lambda: 0.0],
    "path": [3, 1.5, [], {}, ODD, NAN, b"x", "", "no/such/folder/file", "nul\0"],
    "pose": ["a", 3.0, [], [1.0, 2.0], np.full(3, NAN), np.full((4, 4), NAN), np.zeros((4, 4)), np.zeros(7), ODD, {}],
    "axis": [*no_vector(3), "w", (0, 0, 0), (1, 1, 0), (0, 0, 2)],
    "vector2": no_vector(2),
    "vector3": no_vector(3),
    "vector4": no_vector(4),
    "vector6": no_vector(6),
    "per_dof": [*no_vector(1), "1", NAN, INF, -1.0, [-1.0], True],
    "position_per_dof": [*no_vector(1), "1", NAN, INF],
    "limit_per_dof": ["a", [1.0, 2.0], NAN, [NAN], ODD, {}, 1j, [HUGE]],
    "attachment": [
        3,
        1.5,
        [],
        {},
        ODD,
        NAN,
        ("link1",),
        ("link1", "a"),
        ("link1", (1, 2)),
        ("link1", (NAN, 0, 0)),
        (3, (0, 0, 0)),
    ],
    "points": ["a", 3.0, [], ODD, np.zeros((2, 2)), np.full((2, 3), NAN), [["a", "b", "c"]], {}, np.zeros((0, 3))],
    "matrix": ["a", ODD, {}, np.full((2, 2), NAN), [[1.0, 2.0], [3.0]], np.zeros((2, 2), complex)],
    "names": [3, ODD, NAN, [3], [ODD], ["there is none of this name"], {"a": 1}],
    "values": [3, "a", ODD, NAN, [1], {"there is none of this name": 1.0}, {3: 1.0}],
    "settings": [3, "a", ODD, NAN, [1]],
}
WRONG["state"] = WRONG["vector2"]

KINDS = {
    "mechanism": "object",
    "robot": "object",
    "integrator": "object",
    "q": "state",
    "v": "state",
    "p": "state",
    "u": "state",
    "a": "state",
    "x": "state",
    "q0": "state",
    "q1": "state",
    "dv": "state",
    "dt": "positive",
    "name": "name",
    "body": "known",
    "parent": "name",
    "child": "name",
    "point": "vector3",
    "center": "vector3",
    "com": "vector3",
    "origin": "vector3",
    "target": "vector3",
    "gravity": "vector3",
    "size": "vector3",
    "axis": "axis",
    "normal": "axis",
    "wrench": "vector6",
    "pose": "pose",
    "child_pose": "pose",
    "color": "vector4",
    "path": "path",
    "mass": "positive",
    "radius": "positive",
    "length": "positive",
    "spacing": "positive",
    "density": "positive",
    "stiffness": "nonnegative",
    "damping": "nonnegative",
    "rest_length": "nonnegative",
    "friction": "nonnegative",
    "stiction": "nonnegative",
    "restitution": "nonnegative",
    "linear": "nonnegative",
    "quadratic": "nonnegative",
    "tolerance": "positive",
    "max_iterations": "count",
    "order": "count",
    "weight": "number",
    "pitch": "number",
    "angle": "number",
    "gear": "number",
    "ratio": "number",
    "offset": "number",
    "lower": "limit",
    "upper": "limit",
    "start": "attachment",
    "end": "attachment",
    "frame": "choice",
    "kind": "choice",
    "chart": "choice",
    "solver": "choice",
    "collision": "flag",
    "visual": "flag",
    "isotropic": "flag",
    "pulls_only": "flag",
    "clip": "flag",
    "strict": "flag",
    "loop": "flag",
    "floating": "flag",
    "ground": "flag",
    "points": "points",
    "clearance": "number",
    "project": "flag",
    "parameters": "names",
}


@dataclass
class Call:
    """A valid call of a public function.

    Attributes:
        what: its name, for messages.
        function: what is called.
        valid: arguments that it takes.
        kinds: of arguments for which their names do not tell; None: any value is as good as another.
        works: whether the valid call is made as well; not where it writes files, or needs one.
    """

    what: str
    function: object
    valid: dict
    kinds: dict = field(default_factory=dict)
    works: bool = True

    def spoiled(self):
        """(argument, wrong value, arguments) for every wrong call."""
        for name in self.valid:
            kind = self.kinds[name] if name in self.kinds else KINDS.get(name)
            if isinstance(self.valid[name], type):
                continue  # a class that is no argument of the user's
            for value in WRONG[kind] if isinstance(kind, str) else (kind or ()):
                yield name, value, self.valid | {name: value}


ROBOT = la.robots.pendulum(2)
FREE = la.robots.free_body()
LOOP = la.robots.four_bar()
Q, V = np.array([0.4, 0.1]), np.array([0.2, -0.3])
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
SHAPE = {
    "pose": (0, 0, 1),
    "name": "s",
    "color": (1, 0, 0, 1),
    "collision": True,
    "visual": True,
    "friction": 0.5,
    "restitution": 0.5,
}
SHAPE_KINDS = {"name": "text"}

WRONG["vector1"] = no_vector(1)
