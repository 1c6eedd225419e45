"""`Trajectory`: what a simulation gives back."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction._files._archive import FORMAT, UNREADABLE, check_format, read_archive
from leastaction._files._output import writing
from leastaction.dynamics.legendre import momentum_of_velocity, quantities
from leastaction.dynamics.run_velocities import velocities_of_run
from leastaction.errors import FormatError, LeastActionError, MechanismError
from leastaction.integration.record import Record
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import positive
from leastaction.trajectory.run_checks import check_shapes, check_values, check_widths, numbers, stored_numbers
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    import pandas
    import xarray

    from leastaction.integration.integrators import Integrator


SAME_LENGTH = 1e-6
"""Difference of the times between states, relative to the time step, that is round-off of the times."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A run: what the integrator solved for is stored, the rest is derived on demand.

    Attributes:
        mechanism: the robot.
        integrator: what made it (None if it came from a file that does not name it).
        dt: time step [s]; of runs whose steps differ in length the mean, see `uniform`.
        t: times [s], shape (steps + 1,).
        q: joint positions [rad or m], shape (steps + 1, nq), in the order of `mechanism.coordinate_names`.
        stored: what else the integrator solved for: "p" or "v", "iterations", "multipliers", ...; and "u", the
            controls at the integrator's nodes, shape (steps, nodes, nu), where there were any. Where limits or
            activations stand between the controls given and those that act, the former are "commands", and
            "activation" is that at all times, shape (steps + 1, nu). In parts of runs, "cuts" are the rows at which
            they go on from a state alone, without the steps before it. Runs with an accuracy have it as "accuracy";
            the steps between their states are no steps of `dt` from one to the next.
    """

    mechanism: Mechanism
    integrator: Integrator | None
    dt: float
    t: FloatArray
    q: FloatArray
    stored: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism):
            raise MechanismError(f"a run needs its Mechanism, got {self.mechanism!r}")
        for name in ("t", "q"):
            object.__setattr__(self, name, np.asarray(numbers(getattr(self, name), name), np.float64))
        if not isinstance(self.stored, dict):
            raise MechanismError(f"stored: expected arrays by name, got {self.stored!r}")
        object.__setattr__(self, "stored", {name: stored_numbers(x, name) for name, x in self.stored.items()})
        object.__setattr__(self, "dt", positive(self.dt, "dt"))
        check_shapes(self.mechanism, self.t, self.q, self.stored)

    @classmethod
    def of_record(
        cls,
        mechanism: Mechanism,
        integrator: Integrator | None,
        dt: float,
        t: FloatArray,
        record: Record,
        done: int,
    ) -> Trajectory:
        """From a stepper's record of which `done` steps hold."""
        rows = record.held(done)
        return cls(mechanism, integrator, dt, t, rows.pop("q"), rows)

    @classmethod
    def from_states(
        cls,
        mechanism: Mechanism,
        q: ArrayLike,
        v: ArrayLike,
        *,
        dt: float | None = None,
        t: ArrayLike | None = None,
        u: ArrayLike | None = None,
    ) -> Trajectory:
        """A run from positions and velocities that were measured or computed elsewhere, to plot, view and save.

        Args:
            mechanism: the robot.
            q: joint positions [rad or m], shape (steps + 1, nq).
            v: joint velocities [rad/s or m/s], shape (steps + 1, nv).
            dt: time between states [s]; or
            t: their times [s], growing, shape (steps + 1,).
            u: controls held over each step, shape (steps, nu), if any.

        Raises:
            MechanismError: arrays that do not fit the robot or one another, or hold numbers that are not finite.
        """
        from leastaction.mechanism.arguments import robot

        stored = {"v": numbers(v, "v")}
        if u is not None:
            held = numbers(u, "u")
            stored["u"] = held[:, None] if held.ndim == 2 else held
        if (dt is None) == (t is None):
            raise MechanismError("give either dt [s], the time between states, or t, the times of all states")
        q = numbers(q, "q")
        given = positive(dt, "dt") * np.arange(len(q) if q.ndim else 0) if t is None else numbers(t, "t")
        times = np.asarray(given, np.float64)
        step = float(np.abs(np.diff(times)).mean()) if times.ndim == 1 and len(times) > 1 else 1.0
        step = step if dt is None else dt
        run = cls(robot(mechanism), None, step, times, q, stored)
        check_values(run.mechanism, run.dt, run.t, run.q, run.stored)
        return run

    def __len__(self) -> int:
        """Number of states, steps + 1."""
        return len(self.t)

    def __getitem__(self, part: slice) -> Trajectory:
        """The states of a slice and all that is stored of them: `run[100:201]` are states 100 to 200.

        Its times go on as they were. It can be saved, shown and joined again. Gradients of a part that does not begin
        with its run are those of methods whose steps need nothing but a state, such as `Galerkin`.
        """
        from leastaction.trajectory.trajectory_pieces import cut

        return cut(self, part)

    # Without it, rows would be asked for one by one where a sequence is expected.
    __iter__ = None

    def join(self, other: Trajectory) -> Trajectory:
        """This run and one that goes on where it ends, as one.

        Args:
            other: of the same robot, integrator and time step, whose first state is the last of this run; its times
                are shifted to go on from this run's.
        """
        from leastaction.trajectory.trajectory_pieces import join

        return join(self, other)

    def resample(self, times: ArrayLike) -> Trajectory:
        """Positions and velocities at other times, by cubic interpolation on the configuration manifold.

        Between two states of the run the error shrinks with dt^4 where the motion is smooth; at those states it is
        zero. Controls, contacts and what else belongs to the steps is omitted, and so is the integrator.

        Args:
            times: growing [s], shape (n,), none before the first or after the last of the run.
        """
        from leastaction.trajectory.trajectory_pieces import resample

        return resample(self, times)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.t) - 1

    @cached_property
    def uniform(self) -> bool:
        """Whether all states are `dt` apart."""
        return bool((np.abs(np.diff(self.t) - self.dt) <= SAME_LENGTH * self.dt).all())

    @property
    def step_text(self) -> str:
        """The length of the steps in words."""
        if self.uniform:
            return f"{self.dt:g} s"
        lengths = np.diff(self.t)
        return f"{lengths.min():.3g} to {lengths.max():.3g} s"

    @cached_property
    def v(self) -> FloatArray:
        """Joint velocities [rad/s or m/s], shape (steps + 1, nv); from p where that is stored."""
        if "v" in self.stored:
            return self.stored["v"]
        return velocities_of_run(self.mechanism, self.t, self.q, self._stored("p"))

    @cached_property
    def p(self) -> FloatArray:
        """Discrete momenta, shape (steps + 1, nv), dual to v."""
        if "p" in self.stored:
            return self.stored["p"]
        return momentum_of_velocity(self.mechanism, self.q, self._stored("v"))

    def _stored(self, name: str) -> FloatArray:
        if name not in self.stored:
            raise MechanismError("this run has neither velocities nor momenta")
        return self.stored[name]

    @cached_property
    def _quantities(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return quantities(self.mechanism, self.q, self.v)

    @property
    def kinetic_energy(self) -> FloatArray:
        """[J], shape (steps + 1,)."""
        return self._quantities[0]

    @property
    def potential_energy(self) -> FloatArray:
        """Gravity, springs and contacts that give way [J], shape (steps + 1,)."""
        return self._quantities[1] + self.stored.get("elastic", 0.0)

    @property
    def energy(self) -> FloatArray:
        """Total energy [J], shape (steps + 1,)."""
        return self.kinetic_energy + self.potential_energy

    @property
    def momentum(self) -> FloatArray:
        """Momentum about the world's origin, angular [kg m^2/s] and linear [kg m/s], shape (steps + 1, 6)."""
        return self._quantities[2]

    @cached_property
    def body_poses(self) -> FloatArray:
        """Poses of all bodies: world from body, shape (steps + 1, bodies, 4, 4), as `leastaction.dynamics.body_poses`.

        In the order of `mechanism.body_names`. Runs in maximal coordinates solved for them, otherwise they are derived
        from q.
        """
        from leastaction.trajectory.trajectory_bodies import body_frames

        return body_frames(self.mechanism, self.com_poses)

    @cached_property
    def body_twists(self) -> FloatArray:
        """Twists of all bodies in their own frames, shape (steps + 1, bodies, 6): angular [rad/s], linear [m/s]."""
        from leastaction.dynamics import body_twists

        rows = [body_twists(self.mechanism, q, v) for q, v in zip(self.q, self.v, strict=True)]
        return np.array(rows).reshape(len(self), len(self.mechanism.bodies), 6)

    @cached_property
    def com_poses(self) -> FloatArray:
        """Poses of the COM frames of all bodies, shape (steps + 1, bodies, 7): position [m] and quaternion.

        A COM frame has its origin in the centre of mass, and the directions of the body's frame.
        """
        from leastaction.trajectory.trajectory_bodies import poses_of_q

        if "poses" in self.stored:
            return self.stored["poses"]
        return poses_of_q(self.mechanism, self.q)

    @cached_property
    def com_twists(self) -> FloatArray:
        """Twists of the COM frames in their own directions, shape (steps + 1, bodies, 6): [rad/s] and [m/s]."""
        from leastaction.trajectory.trajectory_bodies import twists_of_velocity

        return twists_of_velocity(self.mechanism, self.q, self.v)

    @property
    def poses(self) -> FloatArray:
        """Earlier name of `com_poses`."""
        warnings.warn("poses of a run is com_poses; body_poses has body frames", DeprecationWarning, stacklevel=2)
        return self.com_poses

    @property
    def twists(self) -> FloatArray:
        """Earlier name of `com_twists`."""
        warnings.warn("twists of a run is com_twists; body_twists has body frames", DeprecationWarning, stacklevel=2)
        return self.com_twists

    @cached_property
    def sensors(self) -> dict[str, FloatArray]:
        """Readings of the mechanism's sensors by their names, each of shape (steps + 1, numbers); see `Sensor`.

        Accelerations and forces are those of the state itself, with the contact forces of the step before it. Where a
        rigid limit or dry friction holds a joint, they are the means over that step.
        """
        from leastaction.sensing import read_run

        rigid = "contacts" in self.stored  # integrators that record contacts have limits and dry friction
        u, touching = self.stored.get("u"), self.stored.get("contacts")
        lengths = np.full(self.steps, self.dt) if self.uniform else np.diff(self.t)
        return read_run(self.mechanism, lengths, self.q, self.v, u, touching, rigid)

    @property
    def contacts(self) -> np.recarray:
        """Contacts of all steps by names: a record array with `step`, `first`, `second`, `point`, `force` and `gap`.

        The step counts from 0, and bodies are names ("world" among them). Forces [N] on the second body are means over
        the step, in the world; the point [m] is where they act, the gap [m] that at the end of the step.
        """
        from leastaction.trajectory.contact_log import contact_table, missing_log

        if "contacts" not in self.stored:
            raise missing_log(self.integrator)
        return contact_table(self.mechanism, self.stored["contacts"])

    def contact_force(self, body: str, other: str | None = None) -> FloatArray:
        """Force that contacts exert on a body [N], in the world, shape (steps, 3): the mean over each step.

        At an impact it grows as 1 / dt; times dt, it is the impulse. With integrators of order 2 impulses act at the
        states, so the first step of a run has that of half a step: half the weight of what rests.

        Args:
            body: its name; forces on whatever is welded to it count, too.
            other: name of the body, or "world", whose contacts alone count; default all.
        """
        from leastaction.trajectory.contact_log import missing_log
        from leastaction.trajectory.trajectory_bodies import force_on_body

        if "contacts" not in self.stored:
            raise missing_log(self.integrator)
        return force_on_body(self.mechanism, self.stored["contacts"], self.steps, body, other)

    @property
    def iterations(self) -> NDArray[np.int64]:
        """Newton iterations of each step, shape (steps + 1,); zero at the start and for explicit methods."""
        return self.stored.get("iterations", np.zeros(len(self.t), np.int64))

    @cached_property
    def constraint_violation(self) -> FloatArray:
        """Largest violation of a loop or coupling, with `Maximal` of any joint [m or rad], shape (steps + 1,)."""
        if "violation" in self.stored:
            return self.stored["violation"]
        if self.mechanism.is_tree:
            return np.zeros(len(self.t))
        from leastaction.dynamics.loops import violation

        return violation(self.mechanism, self.q)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write everything, the mechanism and the integrator too, to a NumPy archive; `load` reads it back.

        Args:
            path: of the file; `.npz` is added where it is missing.

        Returns:
            The path that was written.
        """
        from leastaction.integration import registry
        from leastaction.mechanism.text.codec import to_json

        path = archive_path(path)
        same = _same_arrays(self.stored)
        about = {"format": FORMAT, "mechanism": to_json(self.mechanism)}
        about |= {"integrator": registry.to_json(self.integrator), "same": same}
        arrays: dict[str, Any] = {"t": self.t, "q": self.q, "dt": self.dt, "about": np.array(json.dumps(about))}
        arrays |= {f"stored_{name}": values for name, values in self.stored.items() if name not in same}
        with writing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, **arrays)
        return path

    @classmethod
    def load(cls, path: str | PathLike[str], *, max_bytes: int | None = None) -> Trajectory:
        """Read a run that `save` wrote, by the same path, with `.npz` or without. Runs no code from the file.

        Args:
            path: of the file.
            max_bytes: what its arrays may take in memory; default 1 GiB, or 20 times the size of the file.

        Raises:
            FormatError: for a file that is damaged, of another kind, or whose arrays do not fit together.
        """
        from leastaction.integration import registry
        from leastaction.mechanism.text.codec import from_json

        given, path = path, archive_path(path)
        if not isfile(path):  # which is False for names too long to be any
            if path != Path(given) and isfile(given):
                raise FormatError("not a saved run; these end in .npz", file=given)
            raise FormatError("there is no such file", file=path)
        try:
            data = read_archive(path, max_bytes)
            about = json.loads(str(data.pop("about")))
            check_format(about)
            mechanism = from_json(about["mechanism"])
            t, q, dt = (numbers(data.pop(name), name) for name in ("t", "q", "dt"))
            if dt.ndim:
                raise MechanismError(f"dt: expected one number, got shape {dt.shape}")
            kind = "run_" if "lam_g" in data else "stored_"  # solutions of `leastaction.optimize` are runs, too
            stored = {k.removeprefix(kind): values for k, values in data.items() if k.startswith(kind)}
            stored |= {name: stored[other] for name, other in about.get("same", {}).items()}
            run = cls(mechanism, registry.from_json(about.get("integrator")), float(dt), t, q, stored)
            check_values(run.mechanism, run.dt, run.t, run.q, run.stored)
            check_widths(run)
            return run
        except (*UNREADABLE, LeastActionError) as error:
            words = f"{type(error).__name__} {error}" if isinstance(error, KeyError) else error
            raise FormatError(f"not a trajectory that leastaction wrote: {words}", file=path) from None

    def to_pandas(self) -> pandas.DataFrame:
        """The run as a pandas DataFrame: one row per time, indexed by t [s]. Needs the extra `data`.

        Columns `q.NAME`, `v.NAME`, `u.NAME` (control at the start of each step), energies [J], `constraint_violation`,
        `iterations`, and the numbers of sensors (`Sensor.columns`): NAME, or NAME.x, NAME.y, NAME.z.
        """
        from leastaction._files._export import to_pandas

        return to_pandas(self)

    def to_xarray(self) -> xarray.Dataset:
        """The run as an xarray Dataset with named coordinates and units. Needs the extra `data`."""
        from leastaction._files._export import to_xarray

        return to_xarray(self)

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write the columns of `to_pandas`, after t, to a CSV file with full precision. Needs no extra."""
        from leastaction._files._export import to_csv

        return to_csv(self, path)

    def __repr__(self) -> str:
        end = f"{self.t[-1]:g} s" if len(self.t) else "empty"
        return f"<Trajectory of {self.mechanism.name!r}: {self.steps} steps of {self.step_text} to {end}>"

    def __str__(self) -> str:
        from leastaction._display.trajectory_summary import describe
        from leastaction._files._page import text

        return text(describe(self))

    def _repr_html_(self) -> str:
        from leastaction._display.trajectory_summary import html

        return html(self)

    def __rich__(self) -> Any:
        from leastaction._display.trajectory_summary import panel

        return panel(self)


def _same_arrays(stored: dict[str, NDArray[Any]]) -> dict[str, str]:
    """Names of arrays that are one with another, which is written for both; that one's name."""
    first: dict[Any, str] = {}
    same = {}
    for name, values in stored.items():
        key = (values.__array_interface__["data"][0], values.shape, values.strides, values.dtype.str)
        if values.size and first.setdefault(key, name) != name:
            same[name] = first[key]
    return same


def archive_path(path: Any) -> Path:
    """The path of a run's file: with `.npz` added where it is missing."""
    try:
        path = Path(path)
    except TypeError:
        raise FormatError(f"expected the path of a .npz file, got {path!r}") from None
    if not path.name or "\0" in path.name:
        raise FormatError(f"expected the path of a .npz file, got {str(path)!r}")
    return path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
