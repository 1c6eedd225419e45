"""Runs as tables for other programs: pandas, xarray and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction._extras import require
from leastaction._files._output import writing

if TYPE_CHECKING:
    from leastaction.trajectory.trajectory import Trajectory


def columns(run: Trajectory) -> dict[str, Any]:
    """All columns by name, each of shape (steps + 1,).

    `t` [s]; `q.NAME` [rad or m]; `v.NAME` [rad/s or m/s]; `u.NAME`, the control at the start of each step, NaN in the
    last row; energies [J]; `constraint_violation` [m or rad]; `iterations`; the sensors as `Sensor.columns` has them.
    """
    m = run.mechanism
    table: dict[str, Any] = {"t": run.t}
    table |= {f"q.{name}": run.q[:, k] for k, name in enumerate(m.coordinate_names)}
    table |= {f"v.{name}": run.v[:, k] for k, name in enumerate(m.velocity_names)}
    if "u" in run.stored:
        first = np.vstack([run.stored["u"][:, 0], np.full((1, m.nu), np.nan)])
        table |= {f"u.{name}": first[:, k] for k, name in enumerate(run.mechanism.control_names)}
    table |= {name: getattr(run, name) for name in ("kinetic_energy", "potential_energy", "energy")}
    table["constraint_violation"] = run.constraint_violation
    table["iterations"] = run.iterations
    return table | sensor_columns(run, table)


def sensor_columns(run: Trajectory, others: Container[str] = ()) -> dict[str, Any]:
    """Sensor readings, a column of shape (steps + 1,) per number; a name that others have gets the prefix `sensor.`."""
    table: dict[str, Any] = {}
    for sensor in run.mechanism.sensors:
        values = run.sensors[sensor.name]
        for k, name in enumerate(sensor.columns):
            table[f"sensor.{name}" if name in others or name in table else name] = values[:, k]
    return table


def to_pandas(run: Trajectory) -> Any:
    """See `Trajectory.to_pandas`."""
    pandas = require("pandas", "data")
    table = columns(run)
    index = pandas.Index(table.pop("t"), name="t")
    frame = pandas.DataFrame(table, index=index)
    frame.attrs |= _about(run)
    return frame


def to_xarray(run: Trajectory) -> Any:
    """See `Trajectory.to_xarray`."""
    xarray = require("xarray", "data")
    m = run.mechanism
    variables: dict[str, Any] = {
        "q": (("t", "coordinate"), run.q, {"long_name": "joint positions", "units": "rad or m"}),
        "v": (("t", "dof"), run.v, {"long_name": "joint velocities", "units": "rad/s or m/s"}),
        "p": (("t", "dof"), run.p, {"long_name": "discrete momenta"}),
        "momentum": (("t", "axis"), run.momentum, {"long_name": "momentum about the world's origin"}),
        "iterations": (("t",), run.iterations, {"long_name": "Newton iterations"}),
        "constraint_violation": (("t",), run.constraint_violation, {"units": "m or rad"}),
    }
    for name in ("kinetic_energy", "potential_energy", "energy"):
        variables[name] = (("t",), getattr(run, name), {"units": "J"})
    coordinates: dict[str, Any] = {
        "t": ("t", run.t, {"units": "s"}),
        "coordinate": list(m.coordinate_names),
        "dof": list(m.velocity_names),
        "axis": ["Lx", "Ly", "Lz", "px", "py", "pz"],
    }
    for sensor in m.sensors:
        name = f"sensor.{sensor.name}" if sensor.name in (*variables, *coordinates) else sensor.name
        about = {"long_name": sensor.kind.replace("_", " "), "units": sensor.unit}
        values, sizes = run.sensors[sensor.name], {1: "", 3: "xyz", 4: "wxyz"}[sensor.size]
        if sizes:
            coordinates[f"part{sensor.size}"] = list(sizes)
            variables[name] = (("t", f"part{sensor.size}"), values, about)
        else:
            variables[name] = (("t",), values[:, 0], about)
    if "u" in run.stored:
        variables["u"] = (("step", "node", "control"), run.stored["u"], {"long_name": "controls at the nodes"})
        coordinates["control"] = list(run.mechanism.control_names)
    return xarray.Dataset(variables, coordinates, _about(run))


def to_csv(run: Trajectory, path: Any) -> Path:
    """See `Trajectory.to_csv`."""
    table = columns(run)
    rows = zip(*(values.tolist() for values in table.values()), strict=True)
    with writing(path, (".csv",)) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(rows)
    return Path(path)


def _about(run: Trajectory) -> dict[str, Any]:
    return {"robot": run.mechanism.name, "integrator": repr(run.integrator), "dt": run.dt}
