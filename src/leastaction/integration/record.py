"""`Record`: what a stepper writes down while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from leastaction.typing import FloatArray

OPTIONAL = ("p", "v", "poses", "u", "contacts")
"""Fields that a record may have or not; it has either p or v."""


@dataclass(eq=False)
class Record:
    """States of a run, one row per time, and what belongs to its steps.

    Fields and extras alike are found by their names, `record["q"]`, as in `Trajectory.stored`.

    Attributes:
        q: joint positions [rad or m], shape (steps + 1, nq).
        p: momenta, shape (steps + 1, nv), of integrators that solve for them; else
        v: velocities [rad/s or m/s], shape (steps + 1, nv).
        poses: of the COM frames of all bodies in the order of `Mechanism.body_names`, shape (steps + 1, bodies, 7):
            position [m] and quaternion; from `Stepper.finish` on, of integrators that solve for them.
        u: controls at the control nodes of each step, shape (steps, nodes, nu), where there are any.
        contacts: rows (step, two bodies, point, force on the second, gap), shape (n, 10), from `Stepper.finish` on,
            of integrators that record it.
        extras: what else the method records, by name, one row per state.
    """

    q: FloatArray
    p: FloatArray | None = None
    v: FloatArray | None = None
    poses: FloatArray | None = None
    u: FloatArray | None = None
    contacts: FloatArray | None = None
    extras: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[Any]:
        value = getattr(self, name) if name == "q" or name in OPTIONAL else self.extras.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, values: NDArray[Any]) -> None:
        if name == "q" or name in OPTIONAL:
            setattr(self, name, values)
        else:
            self.extras[name] = values

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)

    def __iter__(self) -> Iterator[str]:
        yield "q"
        yield from (name for name in OPTIONAL if getattr(self, name) is not None)
        yield from self.extras

    def __or__(self, more: Mapping[str, NDArray[Any]]) -> Record:
        """With more fields or extras."""
        out = Record(self.q, self.p, self.v, self.poses, self.u, self.contacts, dict(self.extras))
        for name, values in more.items():
            out[name] = values
        return out

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dictionary."""
        try:
            return self[name]
        except KeyError:
            return default

    @property
    def second(self) -> FloatArray:
        """The momenta or velocities that the integrator solves for, shape (steps + 1, nv)."""
        return self["v"] if self.p is None else self.p

    def states(self) -> dict[str, NDArray[Any]]:
        """All that has a row per state, by name."""
        return {name: self[name] for name in self if name not in ("u", "contacts")}

    def held(self, done: int) -> dict[str, NDArray[Any]]:
        """By name, the rows that belong to the first `done` steps and the states at their ends."""
        rows = {name: values[: done + 1] for name, values in self.states().items()}
        if self.u is not None:
            rows["u"] = self.u[:done]
        if self.contacts is not None:
            rows["contacts"] = self.contacts[self.contacts[:, 0] < done]
        return rows
