"""Runs as tables: the numbers of the run, with names; files whole or not at all."""

import csv
import sys

import numpy as np
import pytest

import leastaction as la
from leastaction._output import check_output, writing


@pytest.fixture(scope="module")
def run():
    robot = la.robots.acrobot()
    return la.simulate(robot, q=[0.3, -0.2], steps=4, controls=[0.5], integrator=la.Galerkin(order=4))


def test_pandas(run):
    pytest.importorskip("pandas")
    frame = run.to_pandas()
    assert frame.index.name == "t"
    assert (frame.index.to_numpy() == run.t).all()
    assert (frame["q.elbow"].to_numpy() == run.q[:, 1]).all()
    assert (frame["v.shoulder"].to_numpy() == run.v[:, 0]).all()
    assert (frame["energy"].to_numpy() == run.energy).all()
    assert frame["u.motor"].to_numpy()[:-1].tolist() == [0.5] * 4
    assert np.isnan(frame["u.motor"].iloc[-1])
    assert frame.attrs["robot"] == "acrobot"


def test_xarray(run):
    pytest.importorskip("xarray")
    data = run.to_xarray()
    assert (data["q"].sel(coordinate="elbow").to_numpy() == run.q[:, 1]).all()
    assert (data["p"].to_numpy() == run.p).all()
    assert (data["momentum"].sel(axis="Ly").to_numpy() == run.momentum[:, 1]).all()
    assert data["u"].dims == ("step", "node", "control")
    assert data["u"].shape == (4, 3, 1)
    assert data["energy"].attrs["units"] == "J"
    assert data["t"].attrs["units"] == "s"


def test_csv(run, tmp_path):
    path = run.to_csv(tmp_path / "run.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["t"]) for row in rows] == run.t.tolist()
    assert [float(row["q.elbow"]) for row in rows] == run.q[:, 1].tolist()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("method", "module"), [("to_pandas", "pandas"), ("to_xarray", "xarray")])
def test_missing_extras_are_named(run, method, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(la.MissingExtraError, match=r"leastaction\[data\]"):
        getattr(run, method)()


def test_a_file_that_fails_half_way_is_not_there(tmp_path):
    path = tmp_path / "figure.png"
    path.write_text("old")

    def fail():
        with writing(path) as part:
            part.write_text("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with writing(path) as part:
        assert part.suffix == ".png"
        part.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_paths_that_cannot_be_written(tmp_path):
    for path, says in (
        (tmp_path, "this is a folder"),
        (tmp_path / "no" / "x.csv", "does not exist"),
        (tmp_path / "x.txt", "unknown extension; expected .csv, got '.txt'"),
        (tmp_path / "x", "it has none"),
        (None, "expected the path of a file"),
    ):
        with pytest.raises(la.FormatError, match=says):
            check_output(path, () if path == tmp_path else (".csv",))


def test_no_permission(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(la.FormatError, match="no permission"):
        check_output(tmp_path / "x.csv")
