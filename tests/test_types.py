"""Types of the public functions: what a type checker sees of them."""

import inspect
import re
from importlib import import_module

import pytest

import leastaction as la

PUBLIC = (
    "batch",
    "cluster",
    "derivatives",
    "dynamics",
    "formats",
    "identification",
    "kinematics",
    "mechanism",
    "optimize",
    "plot",
    "redmax",
    "robots",
    "simulation",
    "trajectory",
    "view",
)

UNTYPED = {"options", "kwargs", "changes", "parameters", "weights", "properties", "elements"}
"""What is passed on by name to another function that says what it takes, or may be of many kinds."""

FIELDS = {"integrator", "moments", "device_q", "device_second"}
"""Of records: what they hold has a type of its own, which is not that of what they are made of."""


def public_functions():
    """Public functions and methods of the package, by name, once each."""
    seen = set()
    for module in [la, *(import_module(f"leastaction.{name}") for name in PUBLIC)]:
        for name in module.__all__ if hasattr(module, "__all__") else ():
            thing = getattr(module, name)
            if not getattr(thing, "__module__", "").startswith("leastaction"):
                continue
            methods = (
                [(f"{name}.{k}", x) for k, x in vars(thing).items()] if inspect.isclass(thing) else [(name, thing)]
            )
            for where, function in methods:
                function = getattr(function, "__func__", getattr(function, "fget", function))
                name_of = where.rpartition(".")[2]
                private = name_of == "stepper_class" or (name_of.startswith("_") and name_of != "__init__")
                if inspect.isfunction(function) and not private and id(function) not in seen:
                    seen.add(id(function))
                    yield f"{module.__name__}.{where}", inspect.unwrap(function)


def test_arguments_of_public_functions_have_types():
    """No argument is of any type at all, and each has one."""
    names = 0
    for where, function in public_functions():
        for argument in inspect.signature(function).parameters.values():
            names += 1
            if argument.name in {"self", "cls"} | UNTYPED or (where.endswith("__init__") and argument.name in FIELDS):
                continue
            assert argument.annotation is not argument.empty, f"{where}: {argument.name} has no type"
            assert str(argument.annotation) != "Any" or "stepper_class" in where, (
                f"{where}: {argument.name} may be anything"
            )
    assert names > 1000


ANY = {
    # Results and jobs of functions of the user's own.
    "cluster.Sweep.__init__: results",
    "cluster.sweep: function",
    # Arrays of NumPy, or of the GPU: which one depends on where the robots are.
    "batch.BatchRun.__init__: device_q",
    "batch.BatchRun.__init__: device_second",
    "batch.Simulator.device_failed",
    "batch.Simulator.p",
    "batch.Simulator.q",
    "batch.Simulator.v",
    "derivatives.batch_gradient",
    # Made six numbers of what has four forms.
    "mechanism.Inertia.__init__: moments",
    # Arrays of several kinds of numbers.
    "Trajectory.__init__: stored",
}
"""The only arguments (after a colon) and results of public functions whose types say `Any`; keywords that are handed on
to another function aside."""


def test_any_stands_in_few_public_signatures():
    """In those of `ANY`, each of them with a reason, and in no others."""
    found = set()
    for where, function in public_functions():
        signature = inspect.signature(function)
        arguments = {a.name: a.annotation for a in signature.parameters.values() if a.kind is not a.VAR_KEYWORD}
        found |= {f"{where}: {name}" for name, said in arguments.items() if re.search(r"\bAny\b", str(said))}
        if re.search(r"\bAny\b", str(signature.return_annotation)):
            found.add(where)
    assert {name.removeprefix("leastaction.") for name in found} == ANY


def test_options_in_typed_dictionaries_are_those_that_exist():
    """Of joints and tendons their fields, of scenes the arguments of `build_scene`."""
    from leastaction.mechanism import Joint, Tendon
    from leastaction.typing import JointOptions, SceneOptions, TendonOptions

    known = {*inspect.signature(Joint).parameters, *inspect.signature(la.MechanismBuilder.joint).parameters}
    assert set(JointOptions.__annotations__) <= known
    assert {*inspect.signature(Joint).parameters} - {"name", "kind", "parent", "child", "primitives"} <= set(
        JointOptions.__annotations__
    )
    assert set(SceneOptions.__annotations__) == {*inspect.signature(la.view.build_scene).parameters} - {"what"}
    assert set(TendonOptions.__annotations__) < {*inspect.signature(Tendon).parameters}


@pytest.mark.parametrize(
    ("wrong", "right"), [("limit", "limits"), ("amature", "armature"), ("positon", "position"), ("loops", "loop")]
)
def test_an_unknown_property_of_a_joint_is_named_with_the_nearest(wrong, right):
    b = la.MechanismBuilder("x")
    b.body("a", mass=1.0, inertia=0.1)
    with pytest.raises(la.MechanismError, match=f"no property {wrong!r}; did you mean {right!r}"):
        b.revolute("j", "world", "a", **{wrong: 1.0})
