"""`Trajectory`: what a simulation gives back."""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import momentum_of_velocity, quantities, velocity_of_momentum
from leastaction.errors import FormatError, LeastActionError
from leastaction.mechanism import Mechanism

FloatArray = NDArray[np.float64]

_UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, zipfile.BadZipFile, zlib.error)
"""What NumPy, zip and JSON raise for files that are damaged, or of another kind."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A run: what the integrator solved for is stored, the rest is derived on demand.

    Attributes:
        mechanism: the robot.
        integrator: what made it (None for one that was loaded from a file).
        dt: time step [s].
        t: times [s], shape (steps + 1,).
        q: joint positions [rad or m], shape (steps + 1, nq), in the order of `mechanism.coordinate_names`.
        stored: what else the integrator solved for: "p" or "v", "iterations", "multipliers", ...; and "u", the
            controls at the integrator's nodes, shape (steps, nodes, nu), where there were any.
    """

    mechanism: Mechanism
    integrator: Any
    dt: float
    t: FloatArray
    q: FloatArray
    stored: dict[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of_record(
        cls,
        mechanism: Mechanism,
        integrator: Any,
        dt: float,
        t: FloatArray,
        record: dict[str, Any],
        done: int,
    ) -> Trajectory:
        """From a stepper's record of which `done` steps hold."""
        # Controls belong to steps, contacts are a list, everything else belongs to states.
        rows = {
            name: values[: done if name == "u" else done + 1] for name, values in record.items() if name != "contacts"
        }
        if "contacts" in record:
            rows["contacts"] = record["contacts"][record["contacts"][:, 0] < done]
        return cls(mechanism, integrator, dt, t, rows.pop("q"), rows)

    def __len__(self) -> int:
        """Number of states, steps + 1."""
        return len(self.t)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.t) - 1

    @cached_property
    def v(self) -> FloatArray:
        """Joint velocities [rad/s or m/s], shape (steps + 1, nv); from p where that is stored."""
        if "v" in self.stored:
            return self.stored["v"]
        return velocity_of_momentum(self.mechanism, self.q, self.stored["p"])

    @cached_property
    def p(self) -> FloatArray:
        """Discrete momenta, shape (steps + 1, nv), dual to v."""
        if "p" in self.stored:
            return self.stored["p"]
        return momentum_of_velocity(self.mechanism, self.q, self.stored["v"])

    @cached_property
    def _quantities(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return quantities(self.mechanism, self.q, self.v)

    @property
    def kinetic_energy(self) -> FloatArray:
        """[J], shape (steps + 1,)."""
        return self._quantities[0]

    @property
    def potential_energy(self) -> FloatArray:
        """Gravity and springs [J], shape (steps + 1,)."""
        return self._quantities[1]

    @property
    def energy(self) -> FloatArray:
        """Total energy [J], shape (steps + 1,)."""
        return self._quantities[0] + self._quantities[1]

    @property
    def momentum(self) -> FloatArray:
        """Momentum about the world's origin, angular [kg m^2/s] and linear [kg m/s], shape (steps + 1, 6)."""
        return self._quantities[2]

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
        """Write everything, the mechanism too, to a NumPy archive (.npz); `Trajectory.load` reads it back."""
        from leastaction.mechanism.codec import to_json

        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        text = json.dumps({"mechanism": to_json(self.mechanism), "integrator": repr(self.integrator)})
        if not path.parent.is_dir():
            raise FormatError(f"the folder {str(path.parent)!r} does not exist", file=path)
        part = path.with_name(path.name + ".part")
        arrays: dict[str, Any] = {"t": self.t, "q": self.q, "dt": self.dt, "about": np.array(text)}
        arrays |= {f"stored_{name}": values for name, values in self.stored.items()}
        with part.open("wb") as file:
            np.savez_compressed(file, **arrays)
        part.replace(path)
        return path

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Trajectory:
        """Read a run that `save` wrote. Runs no code from the file."""
        from leastaction.mechanism.codec import from_json

        try:
            with np.load(path, allow_pickle=False) as data:
                about = json.loads(str(data["about"]))
                mechanism, t, q = from_json(about["mechanism"]), data["t"], data["q"]
                stored = {k.removeprefix("stored_"): data[k] for k in data.files if k.startswith("stored_")}
                if not isinstance(mechanism, Mechanism) or q.shape != (len(t), mechanism.nq):
                    raise ValueError("its parts do not fit together")
                return cls(mechanism, None, float(data["dt"]), t, q, stored)
        except (*_UNREADABLE, LeastActionError) as error:
            raise FormatError(f"not a trajectory that leastaction wrote: {error}", file=path) from None

    def __repr__(self) -> str:
        end = f"{self.t[-1]:g} s" if len(self.t) else "empty"
        return f"<Trajectory of {self.mechanism.name!r}: {self.steps} steps of {self.dt:g} s to {end}>"
