"""Plots: what is drawn is the run, with units; files are written where they should be."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction.plot.style import PALETTE
from tests.oracles.random_trees import random_state, random_tree

pytest.importorskip("matplotlib")
SOURCE = Path(la.__file__).parents[1]


@pytest.fixture(scope="module")
def runs():
    robot = random_tree(1, 3, ("revolute", "free", "prismatic"), branching=0.0)
    state = random_state(robot, 1)
    integrators = (la.RungeKutta(order=4), la.SemiImplicitEuler())
    return [la.simulate(robot, *state, dt=0.01, steps=20, integrator=i) for i in integrators]


@pytest.fixture(autouse=True)
def close_figures():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    yield
    plt.close("all")


def lines(axis):
    return {line.get_label(): line.get_ydata() for line in axis.get_lines()}


def test_energy_of_one_run(runs):
    figure = la.plot.energy(runs[0])
    (axis,) = figure.axes
    assert axis.get_xlabel() == "time [s]"
    assert axis.get_ylabel() == "energy [J]"
    drawn = lines(axis)
    assert (drawn["total"] == runs[0].energy).all()
    assert (drawn["kinetic"] == runs[0].kinetic_energy).all()
    assert (drawn["potential"] == runs[0].potential_energy).all()


def test_energies_of_several_runs(runs):
    drawn = lines(la.plot.energy(runs, labels=["first", "second"]).axes[0])
    assert list(drawn) == ["first", "second"]
    assert (drawn["second"] == runs[1].energy).all()
    assert "RungeKutta(order=4)" in lines(la.plot.energy(runs).axes[0])


def test_energy_error(runs):
    (axis,) = la.plot.energy(runs, error=True).axes
    assert axis.get_yscale() == "log"
    drawn = lines(axis)["SemiImplicitEuler()"]
    change = np.abs(runs[1].energy - runs[1].energy[0])
    assert (drawn[change > 0] == change[change > 0]).all()
    assert np.isnan(drawn[0])


def test_worst_energy_error_so_far(runs):
    (axis,) = la.plot.energy(runs, error=True, worst=True).axes
    for run, name in zip(runs, ("RungeKutta(order=4)", "SemiImplicitEuler()"), strict=True):
        drawn = lines(axis)[name][1:]
        assert (np.diff(drawn) >= 0.0).all()
        assert drawn[-1] == np.abs(run.energy - run.energy[0]).max()


def test_figures_of_ones_own_in_the_same_look():
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    with la.plot.look():
        first, second = plt.plot([0, 1], [[0, 0], [1, 2]])
    assert [first.get_color(), second.get_color()] == list(PALETTE[:2])
    assert first.get_linestyle() != second.get_linestyle()
    assert dict(mpl.rcParams) == before


def test_momentum(runs):
    figure = la.plot.momentum(runs[0])
    assert [axis.get_ylabel() for axis in figure.axes] == ["angular momentum [kg m²/s]", "momentum [kg m/s]"]
    for k, letter in enumerate("xyz"):
        assert (lines(figure.axes[0])[letter] == runs[0].momentum[:, k]).all()
        assert (lines(figure.axes[1])[letter] == runs[0].momentum[:, 3 + k]).all()
    assert len(la.plot.momentum(runs).axes[0].get_lines()) == 6


def test_coordinates_are_grouped_by_unit(runs):
    robot = runs[0].mechanism
    figure = la.plot.coordinates(runs[0])
    drawn = {}
    for axis in figure.axes:
        drawn |= lines(axis)
    assert sorted(drawn) == sorted(robot.coordinate_names)
    for k, name in enumerate(robot.coordinate_names):
        assert (drawn[name] == runs[0].q[:, k]).all()
    labels = {axis.get_ylabel(): set(lines(axis)) for axis in figure.axes}
    for joint in robot.joints:
        unit = {"revolute": "angle [rad]", "prismatic": "length [m]"}.get(joint.kind)
        if unit:
            assert joint.name in labels[unit]
        else:
            assert f"{joint.name}.x" in labels["length [m]"]
            assert f"{joint.name}.qw" in labels["quaternion [1]"]
    one = la.plot.coordinates(runs, labels=["a", "b"], names=["joint0"])
    assert set(lines(one.axes[0])) == {"joint0, a", "joint0, b"}


@pytest.mark.parametrize("function", ["energy", "momentum", "coordinates"])
@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_files(runs, function, suffix, tmp_path):
    import matplotlib.pyplot as plt

    path = tmp_path / f"figure.{suffix}"
    getattr(la.plot, function)(runs, path=path)
    assert path.stat().st_size > 1000
    assert not plt.get_fignums()  # a figure for a file does not pile up in pyplot


def test_bad_input(runs):
    with pytest.raises(la.LeastActionError, match="expected 2 labels"):
        la.plot.energy(runs, labels=["one"])
    with pytest.raises(la.LeastActionError, match="expected a Trajectory"):
        la.plot.energy([])
    with pytest.raises(la.LeastActionError, match="expected a Trajectory"):
        la.plot.momentum([1.0])
    with pytest.raises(la.MechanismError, match="unknown coordinate"):
        la.plot.coordinates(runs, names=["joint9"])
    other = la.simulate(random_tree(2, 2, ("revolute",)), steps=1, integrator=la.RungeKutta())
    with pytest.raises(la.LeastActionError, match="different coordinates"):
        la.plot.coordinates([runs[0], other])


def test_a_window_that_cannot_open_is_drawn_in_memory(runs, tmp_path):
    path = runs[0].save(tmp_path / "run.npz")
    code = f"import leastaction as la; la.plot.energy(la.Trajectory.load({str(path)!r})); print('drawn')"
    settings = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    settings |= {"PYTHONPATH": str(SOURCE), "MPLBACKEND": "TkAgg"}
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
    assert done.stdout.strip() == "drawn", done.stderr


def test_without_matplotlib_the_error_says_what_to_install(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(la.MissingExtraError, match=r"leastaction\[view\]"):
        la.plot.energy(runs[0])
