"""`Mechanism`: what a robot is. Immutable, validated, shared by every formulation."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.body import Body
from leastaction.mechanism.building.graph import WORLD, spanning_tree
from leastaction.mechanism.contact_pairs import ContactPair
from leastaction.mechanism.drives.actuators import Actuator
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.drives.tendons import Tendon
from leastaction.mechanism.elements import (
    Cable,
    ContactPoint,
    Coupling,
    ExternalWrench,
    PenaltyContact,
    PointElement,
    Rolling,
    Spring,
)
from leastaction.mechanism.frames import Frame
from leastaction.mechanism.joints import Joint, Motion
from leastaction.mechanism.sensors import Sensor
from leastaction.mechanism.shapes import Shape
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.mechanism.building.builder import MechanismBuilder
    from leastaction.mechanism.tree import Tree


class CoordinateGroup(NamedTuple):
    """Coordinates that belong together: one of a single axis, or all of a ball or free motion.

    Attributes:
        kind: `Motion` code.
        iq, iv: first of them in q and v.
        nv: number of degrees of freedom.
    """

    kind: int
    iq: int
    iv: int
    nv: int


_PARTS: dict[str, Any] = {
    "bodies": Body,
    "joints": Joint,
    "loops": Joint,
    "couplings": Coupling,
    "springs": Spring,
    "cables": Cable,
    "actuators": get_args(Actuator),
    "wrenches": ExternalWrench,
    "contacts": ContactPoint,
    "rollings": Rolling,
    "ground": Shape,
    "penalties": PenaltyContact,
    "excluded_contacts": tuple,
    "forces": PointElement,
    "frames": Frame,
    "sensors": Sensor,
    "prescribed": str,
    "contact_pairs": ContactPair,
    "tendons": Tendon,
}
"""What the attributes of a mechanism hold."""


@dataclass(frozen=True)
class Mechanism:
    """Bodies, joints, loops and all that acts on them; built by `MechanismBuilder` or read from a file.

    Bodies are in depth-first order, parents before children; `joints[i]` carries `bodies[i]`. The world is body -1.

    Attributes:
        name: of the robot.
        bodies: in depth-first order.
        joints: the tree joint of each body, in the same order.
        loops: joints that close loops.
        couplings, springs, cables, actuators, wrenches, contacts, rollings, penalties: see their classes.
        forces: other forces, each on a point of a body, see `elements.PointElement`.
        ground: shapes fixed to the world.
        excluded_contacts: pairs of names of bodies that pass through each other; one may be "world".
        gravity: acceleration of gravity [m/s^2], 3 numbers.
        strict: whether implausible inertias were refused (True) or only warned about.
        frames: named frames on bodies.
        sensors: what is measured, see `Trajectory.sensors`.
        prescribed: names of coordinates whose positions are given from outside, and of bodies on free joints whose
            poses are; see `MechanismBuilder.prescribe`.
        contact_pairs: what holds between two shapes alone, see `ContactPair`.
        tendons: see `Tendon`.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    loops: tuple[Joint, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    springs: tuple[Spring, ...] = ()
    cables: tuple[Cable, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    wrenches: tuple[ExternalWrench, ...] = ()
    contacts: tuple[ContactPoint, ...] = ()
    rollings: tuple[Rolling, ...] = ()
    ground: tuple[Shape, ...] = ()
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    strict: bool = field(default=True, compare=False)
    penalties: tuple[PenaltyContact, ...] = ()
    excluded_contacts: tuple[tuple[str, str], ...] = ()
    forces: tuple[PointElement, ...] = ()
    frames: tuple[Frame, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    prescribed: tuple[str, ...] = ()
    contact_pairs: tuple[ContactPair, ...] = ()
    tendons: tuple[Tendon, ...] = ()

    def __post_init__(self) -> None:
        from leastaction.mechanism.building.validate import validate

        _check.text(self.name, "name of a mechanism")
        object.__setattr__(self, "gravity", _check.vector(self.gravity, 3, "gravity"))
        object.__setattr__(self, "strict", _check.flag(self.strict, "strict"))
        for part, kind in _PARTS.items():
            object.__setattr__(self, part, _check.instances(getattr(self, part), kind, part))
        names = [body.name for body in self.bodies]
        _check.unique(names, "body")
        _check.unique([joint.name for joint in (*self.joints, *self.loops)], "joint")
        order, carriers, loops = spanning_tree(names, (*self.joints, *self.loops))
        body = {body.name: body for body in self.bodies}
        object.__setattr__(self, "bodies", tuple(body[name] for name in order))
        object.__setattr__(self, "joints", tuple(carriers))
        object.__setattr__(self, "loops", tuple(loops))
        validate(self)

    # ------------------------------------------------------------------ names and sizes

    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, in depth-first order."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the tree joints, one per body."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the entries of q, nq of them."""
        return tuple(name for joint in self.joints for name in joint.coordinate_names())

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the entries of v and p, nv of them."""
        return tuple(name for joint in self.joints for name in joint.velocity_names())

    @cached_property
    def control_names(self) -> tuple[str, ...]:
        """Names of the entries of u: the actuators, or the degrees of freedom where there are none, nu of them."""
        return tuple(actuator.name for actuator in self.actuators) or self.velocity_names

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates of the tree."""
        return sum(joint.nq for joint in self.joints)

    @cached_property
    def nv(self) -> int:
        """Number of degrees of freedom of the tree (loops and couplings not subtracted)."""
        return sum(joint.nv for joint in self.joints)

    @property
    def is_tree(self) -> bool:
        """Whether nothing ties the coordinates of the tree together: no loops, couplings or rolling contacts."""
        return not (self.loops or self.couplings or self.rollings)

    @cached_property
    def special_parts(self) -> dict[str, str]:
        """Parts that only some integrators can run: what they are, and the name of the first of each."""
        from leastaction.mechanism.special_parts import special_parts

        return special_parts(self)

    @cached_property
    def driven_joints(self) -> tuple[Joint, ...]:
        """The tree joints with the feedback of servos among their springs and dampers, see `Servo`."""
        from leastaction.mechanism.drives.servos import driven_joints

        return driven_joints(self)

    @property
    def muscles(self) -> tuple[Muscle, ...]:
        """The muscles among the actuators."""
        return tuple(a for a in self.actuators if isinstance(a, Muscle))

    @property
    def nu(self) -> int:
        """Number of controls: the actuators, or one generalised force per degree of freedom if there are none."""
        return len(self.actuators) or self.nv

    @cached_property
    def total_mass(self) -> float:
        """Mass of all bodies [kg]."""
        return sum(body.inertia.mass for body in self.bodies)

    def body_index(self, name: str) -> int:
        """Index of a body, -1 for the world; `MechanismError` if there is none of that name."""
        if isinstance(name, str) and name == WORLD:
            return -1
        try:
            return self._body_index[name]
        except (KeyError, TypeError):
            raise MechanismError(f"unknown body {name!r} in {self.name!r}{suggestion(name, self.body_names)}") from None

    def frame(self, name: str) -> Frame:
        """The frame of that name, or that of a body, or of the "world"."""
        for frame in self.frames:
            if isinstance(name, str) and frame.name == name:
                return frame
        if isinstance(name, str) and (name == WORLD or name in self._body_index):
            return Frame(name, name)
        known = (*(frame.name for frame in self.frames), *self.body_names)
        raise MechanismError(f"unknown frame or body {name!r} in {self.name!r}{suggestion(name, known)}")

    def joint(self, name: str) -> Joint:
        """The tree or loop joint of that name."""
        for joint in (*self.joints, *self.loops):
            if isinstance(name, str) and joint.name == name:
                return joint
        known = [joint.name for joint in (*self.joints, *self.loops)]
        raise MechanismError(f"unknown joint {name!r} in {self.name!r}{suggestion(name, known)}")

    @cached_property
    def coordinate_groups(self) -> tuple[CoordinateGroup, ...]:
        """How q and v are put together."""
        groups, iq, iv = [], 0, 0
        for p in (p for joint in self.joints for p in joint.primitives):
            whole = p.motion in (Motion.SPHERICAL, Motion.FREE)
            for _ in range(1 if whole else p.nv):
                nq, nv = (p.nq, p.nv) if whole else (1, 1)
                groups.append(CoordinateGroup(int(p.motion), iq, iv, nv))
                iq, iv = iq + nq, iv + nv
        return tuple(groups)

    def coordinate_index(self, name: str) -> int:
        """Index into q of a coordinate's name."""
        if not isinstance(name, str) or name not in self.coordinate_names:
            raise MechanismError(f"unknown coordinate {name!r}{suggestion(name, self.coordinate_names)}")
        return self.coordinate_names.index(name)

    def velocity_index(self, name: str) -> int:
        """Index into v of a degree of freedom's name."""
        if not isinstance(name, str) or name not in self.velocity_names:
            raise MechanismError(f"unknown degree of freedom {name!r}{suggestion(name, self.velocity_names)}")
        return self.velocity_names.index(name)

    # ------------------------------------------------------------------ tables of the tree

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each body's parent; -1 is the world."""
        return tuple(-1 if j.parent == WORLD else self._body_index[j.parent] for j in self.joints)

    @cached_property
    def ancestors(self) -> tuple[tuple[int, ...], ...]:
        """For each body its ancestors, from the root down to its parent."""
        table: list[tuple[int, ...]] = []
        for parent in self.parents:
            table.append(() if parent < 0 else (*table[parent], parent))
        return tuple(table)

    @cached_property
    def subtree_sizes(self) -> tuple[int, ...]:
        """For each body the number of bodies of its subtree: they are bodies[i : i + size]."""
        sizes = [1] * len(self.bodies)
        for i in range(len(self.bodies) - 1, -1, -1):
            if self.parents[i] >= 0:
                sizes[self.parents[i]] += sizes[i]
        return tuple(sizes)

    def subtree(self, name: str) -> tuple[str, ...]:
        """Names of a body and all that hangs on it."""
        i = self.body_index(name)
        return self.body_names if i < 0 else self.body_names[i : i + self.subtree_sizes[i]]

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {body.name: i for i, body in enumerate(self.bodies)}

    @cached_property
    def tree(self) -> Tree:
        """The flat arrays that kernels read; compiled once."""
        from leastaction.mechanism.tree import Tree

        return Tree.compile(self)

    @cached_property
    def split_tree(self) -> Tree:
        """The flat arrays with free joints split into translations and a ball; compiled once."""
        from leastaction.mechanism.tree import Tree

        return Tree.compile(self, split_free=True)

    # ------------------------------------------------------------------ configurations

    def neutral(self) -> FloatArray:
        """The configuration in which every joint is at its zero, shape (nq,)."""
        return np.array([x for joint in self.joints for x in joint.neutral()], dtype=float)

    def home(self) -> FloatArray:
        """The configuration in which a run starts unless stated otherwise, shape (nq,).

        That of the file which the robot came from, or what `MechanismBuilder.home` said; else the neutral one.
        """
        return np.array([x for joint in self.joints for x in joint.home], dtype=float)

    def random_configuration(self, rng: np.random.Generator | int | None = None, *, scale: float = 1.0) -> FloatArray:
        """A random configuration, shape (nq,): uniform rotations; other coordinates uniform within their limits
        and within +-pi*scale [rad] or +-scale [m].

        Args:
            rng: a NumPy random generator or a seed.
            scale: size of the range.
        """
        from leastaction.mechanism.configuration import random_configuration

        try:
            generator = np.random.default_rng(rng)
        except (TypeError, ValueError):
            raise MechanismError(f"rng: expected a random generator or a seed, got {_check.shown(rng)}") from None
        return random_configuration(self, generator, _check.positive(scale, "scale"))

    def integrate(self, q: ArrayLike, dv: ArrayLike) -> FloatArray:
        """q moved by the tangent vector dv: q + dv, on the configuration manifold.

        Args:
            q: joint positions [rad or m], shape (nq,) or (..., nq).
            dv: displacement [rad or m], shape (nv,) or (..., nv); for spherical and free joints a twist in the
                child's frame, applied by the exponential map.
        """
        from leastaction.mechanism.configuration import integrate

        return integrate(self, q, dv)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> FloatArray:
        """The tangent vector dv with integrate(q0, dv) == q1, shape (nv,) or (..., nv)."""
        from leastaction.mechanism.configuration import difference

        return difference(self, q0, q1)

    def normalize(self, q: ArrayLike) -> FloatArray:
        """q with its quaternions scaled to unit norm, shape (nq,)."""
        from leastaction.mechanism.configuration import normalize

        return normalize(self, q)

    def generalized_forces(self, u: ArrayLike, q: ArrayLike | None = None) -> FloatArray:
        """Generalised forces of controls, shape (nv,); `q` is needed only where a body actuator is driven.

        Args:
            u: controls, shape (nu,): one per actuator, or one per degree of freedom if there are no actuators.
            q: joint positions, shape (nq,).
        """
        from leastaction.mechanism.drives.control_forces import generalized_forces

        return generalized_forces(self, u, q)

    # ------------------------------------------------------------------ editing, printing, pickling

    def edit(self) -> MechanismBuilder:
        """A builder that starts from this mechanism; its `build()` gives a new one, this one never changes."""
        from leastaction.mechanism.building.builder import MechanismBuilder

        return MechanismBuilder.from_mechanism(self)

    def replace(self, **changes: Any) -> Mechanism:
        """A new mechanism with attributes replaced: `robot.replace(gravity=(0, 0, 0))`. MJCF's `gravcomp` follows."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in sorted(set(changes) - set(values)):
            raise MechanismError(f"a mechanism has no attribute {name!r}{suggestion(name, values)}")
        if self.wrenches:
            from leastaction.mechanism.drives.gravity_compensation import followed

            changes = followed(self, changes)
        return Mechanism(**{**values, **changes})

    def summary(self) -> str:
        """A readable page: sizes, the tree with its joints, loops and elements."""
        from leastaction.mechanism.text.summary import summary

        return summary(self)

    def __repr__(self) -> str:
        extra = f", {len(self.loops)} loops" if self.loops else ""
        return f"<Mechanism {self.name!r}: {len(self.bodies)} bodies, nq {self.nq}, nv {self.nv}{extra}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from leastaction.mechanism.text.page import html

        return html(self)

    def __rich__(self) -> Any:
        from leastaction.mechanism.text.page import panel

        return panel(self)

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, f.name) for f in fields(self) if f.compare))

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # Caches are rebuilt on demand; string hashes differ between processes, so `_hash` must not travel.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)


def _refuse_change(self: Mechanism, name: str, value: Any) -> None:
    known = name in {field.name for field in fields(self)}
    how = f"robot.replace({name}=...)" if known else "robot.replace(...)"
    raise FrozenInstanceError(
        f"a mechanism never changes: {how} gives a new one with other attributes, robot.edit() a builder that starts "
        "from it"
    )


Mechanism.__setattr__ = _refuse_change  # type: ignore[method-assign]  # the one that the dataclass made says "cannot assign to field"
