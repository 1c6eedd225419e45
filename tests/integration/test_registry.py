"""Integrators by name: all are found, with their options, and survive text and JSON."""

from dataclasses import dataclass

import pytest

import leastaction as la
from leastaction.integration import registry
from leastaction.integration.integrators import Integrator

ALL = [registry.find(name) for name in registry.names()]


def test_every_public_integrator_is_there():
    public = {getattr(la, name) for name in la.__all__ if isinstance(getattr(la, name), type)}
    assert set(ALL) == {cls for cls in public if issubclass(cls, Integrator)}
    assert {"galerkin", "midpoint", "hermite-simpson", "implicit-trapezoidal", "runge-kutta"} <= set(registry.names())
    assert {"heun", "explicit-euler", "semi-implicit-euler", "dop853"} <= set(registry.names())


def test_a_new_one_appears_by_itself(monkeypatch):
    @dataclass(frozen=True)
    class LeapFrog(Integrator):
        order: int = 2
        careful: bool = False

    monkeypatch.setitem(vars(la), "LeapFrog", LeapFrog)
    monkeypatch.setattr(la, "__all__", [*la.__all__, "LeapFrog"])
    assert "leap-frog" in registry.names()
    assert registry.parse("leap-frog:4:careful=yes") == LeapFrog(4, True)
    assert registry.label(LeapFrog(2, True)) == "leap-frog:2:careful=True"


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_names_text_and_json_lead_back(cls):
    integrator = cls()
    assert registry.find(cls.__name__) is cls
    assert registry.parse(registry.label(integrator)) == integrator
    assert registry.from_json(registry.to_json(integrator)) == integrator
    assert registry.title(integrator).startswith(f"{cls.__name__}(")


def test_options_are_read_as_what_they_are():
    assert registry.parse("galerkin:4") == la.Galerkin(order=4)
    assert registry.parse("galerkin:4:interpolation=joints") == la.Galerkin(order=4, interpolation="joints")
    assert registry.parse("Galerkin:order=6:solver=dense:tolerance=1e-9") == la.Galerkin(6, 1e-9, solver="dense")
    assert registry.make("HERMITE_SIMPSON", {"max-iterations": "7"}) == la.HermiteSimpson(max_iterations=7)
    assert registry.title(la.Galerkin(order=4, solver="dense")) == "Galerkin(order=4, solver='dense')"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("galerkn", "did you mean 'galerkin'"),
        ("trajectory", "unknown integrator 'trajectory'"),
        ("galerkin:four", "order must be a whole number, got 'four'"),
        ("galerkin:slver=dense", "did you mean 'solver'"),
        ("heun:2", "heun has no option 'order'; it has none"),
        ("galerkin:3", "order must be 2, 4, 6"),
    ],
)
def test_wrong_text(text, says):
    with pytest.raises(la.IntegratorError, match=says):
        registry.parse(text)


def test_runs_in_files_older_than_an_option_keep_their_method(tmp_path, monkeypatch):
    """Before `Galerkin` had a choice it interpolated joints: such runs go on as they were made."""
    robot, made = la.robots.pendulum(2), la.Galerkin(order=4, interpolation="joints")
    run = la.simulate(robot, [1.0, 0.5], dt=0.05, steps=6, integrator=made)
    old = {"name": "Galerkin", "options": {"order": 4, "tolerance": 1e-12, "max_iterations": 200, "solver": "auto"}}
    monkeypatch.setattr(registry, "to_json", lambda integrator: old)
    loaded = la.Trajectory.load(run.save(tmp_path / "old"))
    assert loaded.integrator == made
    rest = la.simulate(robot, loaded.q[2], p=loaded.p[2], dt=0.05, steps=4, integrator=loaded.integrator)
    assert (rest.q == run.q[2:]).all()
    new = la.simulate(robot, [1.0, 0.5], dt=0.05, steps=6, integrator=la.Galerkin(order=4))
    assert 1e-9 < abs(new.q[-1] - run.q[-1]).max() < 1e-2
    monkeypatch.undo()
    assert la.Trajectory.load(new.save(tmp_path / "new")).integrator == la.Galerkin(order=4)


@pytest.mark.parametrize("value", [None, "Galerkin()", {"name": "Newer", "options": {}}, {"name": "Galerkin"}, 3])
def test_files_may_name_integrators_that_are_unknown(value):
    assert registry.from_json(value) is None


def test_earlier_names_are_found_but_not_listed():
    assert registry.find("grounded") is registry.find("minimal") is la.Minimal is la.Grounded
    assert "minimal" in registry.names()
    assert "grounded" not in registry.names()
    assert registry.label(la.Grounded()) == "minimal"
    old = {"name": "Grounded", "options": {"tolerance": 1e-10, "max_iterations": 12, "self_collision": True}}
    assert registry.from_json(old) == la.Minimal()
