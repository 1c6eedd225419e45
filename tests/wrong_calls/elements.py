"""Constructors of what acts on mechanisms, called wrongly."""

import numpy as np

from leastaction.mechanism import (
    Activation,
    Attachment,
    BodyActuator,
    Cable,
    ContactPair,
    ContactPoint,
    Coupling,
    Drag,
    ExternalWrench,
    Frame,
    JointActuator,
    Muscle,
    PenaltyContact,
    Rolling,
    Sensor,
    Servo,
    Sphere,
    Spring,
    Tendon,
    Wrap,
)
from tests.wrong_calls.kinds import INF, NAN, ODD, WRONG, Call


def elements():
    """Constructors of what acts on mechanisms."""
    a, b = Attachment("world"), Attachment("link1")
    ends = {"start": "object", "end": "object"}
    yield Call(
        "Spring",
        Spring,
        {"name": "s", "start": a, "end": b, "stiffness": 1.0, "rest_length": 0.0, "damping": 1.0, "isotropic": True},
        ends,
    )
    via = ["a", 3, ODD, (), (a,), (a, 3), ("a", "b"), {}]
    yield Call(
        "Cable",
        Cable,
        {
            "name": "c",
            "via": (a, b),
            "stiffness": 1.0,
            "rest_length": 1.0,
            "damping": 1.0,
            "pulls_only": True,
            "clip": True,
        },
        {"via": via},
    )
    yield Call(
        "Tendon along a path",
        Tendon,
        {"name": "t", "via": (a, b), "stiffness": 1.0, "rest": (0.1, 0.2), "damping": 1.0},
        {"via": via[:-3], "rest": ["a", ODD, (1.0,), (0.2, 0.1), (NAN, 1.0), {}, (1.0, 2.0, 3.0)]},
    )
    limits = {"lower": 0.0, "upper": 1.0, "limit_stiffness": 1.0, "limit_damping": 1.0}
    yield Call(
        "Tendon of joints",
        Tendon,
        {"name": "t", "joints": (("a", 1.0), ("b", 2.0)), **limits},
        {
            "joints": ["a", 3, ODD, (("a",),), (("a", "b"),), (("a", NAN),), ((3, 1.0),), {}],
            "lower": ["a", ODD, NAN, 2.0],
            "upper": ["a", ODD, NAN, -1.0],
        },
    )
    yield Call(
        "Wrap",
        Wrap,
        {"body": "link1", "radius": 0.1, "pose": (0.0, 0.0, 0.1), "kind": "cylinder", "side": (0.0, 0.2, 0.0)},
        {"body": "name", "kind": "choice", "side": "vector3"},
    )
    curves = dict.fromkeys(("lmin", "lmax", "vmax", "fvmax"), "positive")
    curves |= dict.fromkeys(("peak", "fpmax"), "nonnegative")
    ranges = ["a", ODD, (1.0,), (0.9, 0.5), (NAN, 1.0), (0.1, 0.2, 0.3)]
    yield Call(
        "Muscle",
        Muscle,
        {"name": "m", "coordinate": "t", "length_range": (0.5, 0.9), "range": (0.7, 1.1)}
        | {"peak": 1.0, "fpmax": 1.0, "lmin": 0.5, "lmax": 1.5, "vmax": 1.0, "fvmax": 1.0},
        curves | {"coordinate": "name", "length_range": ranges, "range": ranges},
    )
    shares = ["a", ODD, NAN, -1.0]
    yield Call(
        "ContactPair",
        ContactPair,
        {
            "first": "a",
            "second": "b",
            "friction": 0.5,
            "restitution": 0.5,
            "spinning": 0.1,
            "rolling": 0.1,
            "shapes": ("", "s"),
            "always": True,
        },
        {
            "first": "name",
            "second": "name",
            "friction": shares,
            "restitution": shares,
            "spinning": shares,
            "rolling": shares,
            "shapes": ["a", 3, ODD, ("a",), (1, 2), ("a", "b", "c")],
            "always": "flag",
        },
    )
    coefficients = ["a", 3.0, ODD, [NAN], ["a"], [INF], [1j], {}, []]
    yield Call(
        "Coupling",
        Coupling,
        {"name": "c", "follower": "a", "leader": "b", "coefficients": (0.0, 1.0)},
        {"coefficients": coefficients, "follower": "name", "leader": "name"},
    )
    yield Call(
        "JointActuator",
        JointActuator,
        {"name": "m", "coordinate": "j", "gear": 1.0, "lower": -1.0, "upper": 1.0},
        {"coordinate": "name"},
    )
    yield Call(
        "Activation",
        Activation,
        {"kind": "filter", "time_constant": 0.1, "lower": -1.0, "upper": 1.0},
        {"kind": "choice", "time_constant": "positive"},
    )
    servo = {"name": "s", "coordinate": "j", "gear": 1.0, "lower": -1.0, "upper": 1.0, "kp": 1.0, "kv": 1.0}
    yield Call(
        "Servo",
        Servo,
        servo | {"gain": 1.0, "rest": 0.5, "activation": 0.1},
        {
            "coordinate": "name",
            "kp": "nonnegative",
            "kv": "nonnegative",
            "gain": [x for x in WRONG["number"] if x is not None],
            "rest": "number",
            "activation": [x for x in WRONG["positive"] if x is not None],
        },
    )
    yield Call(
        "Sensor",
        Sensor,
        {"name": "s", "kind": "touch", "target": "b", "reference": "world", "zone": Sphere(1.0), "cutoff": 1.0},
        {"kind": "choice", "target": "name", "reference": "name", "zone": ["a", 3, [], ODD], "cutoff": "nonnegative"},
    )
    yield Call("Frame", Frame, {"name": "f", "body": "b", "pose": (0, 0, 0)}, {"body": "name"})
    yield Call(
        "BodyActuator",
        BodyActuator,
        {"name": "m", "body": "b", "wrench": np.ones(6), "lower": -1.0, "upper": 1.0},
        {"body": "name"},
    )
    yield Call(
        "ExternalWrench",
        ExternalWrench,
        {"name": "w", "body": "b", "wrench": np.ones(6), "point": (0, 0, 0), "frame": "world"},
        {"body": "name"},
    )
    point = {"name": "c", "body": "b", "point": (0, 0, 0), "radius": 0.1, "friction": 0.5, "restitution": 0.5}
    yield Call(
        "ContactPoint",
        ContactPoint,
        point,
        {"body": "name", "radius": "nonnegative", "restitution": [*WRONG["nonnegative"], 2.0]},
    )
    penalty = {
        "name": "p",
        "body": "b",
        "points": [(0, 0, 0)],
        "stiffness": 1.0,
        "damping": 1.0,
        "friction": 0.5,
        "stiction": 1.0,
        "origin": (0, 0, 0),
        "normal": "z",
    }
    yield Call("PenaltyContact", PenaltyContact, penalty, {"body": "name"})
    yield Call(
        "Drag", Drag, {"name": "d", "body": "b", "point": (0, 0, 0), "linear": 1.0, "quadratic": 1.0}, {"body": "name"}
    )
    yield Call(
        "Rolling",
        Rolling,
        {"name": "r", "body": "b", "radius": 1.0, "axis": "y", "center": (0, 0, 0)},
        {"body": "name"},
    )
