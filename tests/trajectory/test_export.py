"""Runs as tables: the numbers of the run, with names; files whole or not at all."""

import csv
import sys

import numpy as np
import pytest

import leastaction as la
from leastaction._files._output import check_output, writing


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


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A run with sensors of one, three and four numbers, one of them named as another column is."""
    xml = """<mujoco><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/><site name="tip" pos="0.3 0 0"/></body></worldbody>
      <sensor><jointpos name="energy" joint="hinge"/><gyro name="imu" site="tip"/>
      <framequat name="turn" objtype="site" objname="tip"/></sensor></mujoco>"""
    path = tmp_path_factory.mktemp("robot") / "arm.xml"
    path.write_text(xml)
    return la.simulate(la.load(path), q=[0.3], steps=4, integrator=la.Galerkin(order=2))


def test_sensors_are_columns(measured, tmp_path):
    path = measured.to_csv(tmp_path / "run.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    told = measured.sensors
    assert [float(row["imu.y"]) for row in rows] == told["imu"][:, 1].tolist()
    assert [float(row["turn.w"]) for row in rows] == told["turn"][:, 0].tolist()
    assert [float(row["sensor.energy"]) for row in rows] == told["energy"][:, 0].tolist()
    assert [float(row["energy"]) for row in rows] == measured.energy.tolist()


def test_sensors_in_pandas_and_xarray(measured):
    pytest.importorskip("pandas")
    assert (measured.to_pandas()["imu.z"].to_numpy() == measured.sensors["imu"][:, 2]).all()
    pytest.importorskip("xarray")
    data = measured.to_xarray()
    assert (data["turn"].sel(part4="x").to_numpy() == measured.sensors["turn"][:, 1]).all()
    assert (data["sensor.energy"].to_numpy() == measured.sensors["energy"][:, 0]).all()
    assert data["imu"].attrs["units"] == "rad/s"


def test_sensors_on_the_pages_of_a_run(measured, tmp_path):
    page = measured._repr_html_()
    assert "imu.y" in page
    assert "rad/s" in page
    path = la.view.export_html(measured, tmp_path / "run.html", plots=("sensors",))
    text = path.read_text(encoding="utf-8")
    assert all(label in text for label in ("imu [rad/s]", "imu.y", "turn.w"))
