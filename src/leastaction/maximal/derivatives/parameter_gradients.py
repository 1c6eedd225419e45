"""Derivatives of steps by parameters of the mechanism: the change of their residuals at fixed unknowns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from leastaction.contact.contact_shapes import collect
from leastaction.contact.records import BOX, CAPSULE, PLANE, SPHERE
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.arrays import MaximalData, plain
from leastaction.maximal.compilation.compiler import compile_model
from leastaction.maximal.contact.feature_tracking import rotations
from leastaction.maximal.coordinates.placement import place
from leastaction.maximal.kernel_variants import has_elements, lean_model
from leastaction.maximal.maximal_records import BALL, HINGE, ROPE
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import COUPLING
from leastaction.parameters.parameter_differences import CENTRAL

READ = ("n", "n2", "w2", "pa", "pb", "Ra", "Rb", "pitch")
"""Fields of `COORDINATE` records that determine coordinates and their momenta from poses."""


TABLES = ("bodies", "rows", "sizes", "coordinates", "coefficients", "augment", "goals")
"""Fields of a `Model` whose lengths must be equal in all variants."""

FORCES = ("paths", "points", "penalties", "tendons", "items")
"""The same of a `ForceModel`; wrenches have no scratch."""

LIMITS = ("lower", "upper")

COEFFICIENTS = {"friction": "friction", "restitution": "restitution", "spin": "spinning", "roll": "rolling"}
"""Fields of `PAIR` records by name of parameter. Contacts where one is zero lack its equation, or have another one."""

_MODELS: WeakKeyDictionary[Mechanism, dict[float, Model]] = WeakKeyDictionary()
"""Models of variants, cached by step length, since every gradient of a robot needs the same ones."""

PLACES, CORNERED = ("p", "half", "radius"), (BOX, SPHERE, CAPSULE)
"""Fields of shapes that place their corners and spheres, and kinds of shapes without other features."""

INERTIAL = ("mass", "J", "behind")
"""Fields of bodies that masses and inertias change; the last only scales residuals of contacts and limits."""


class Variant:
    """A mechanism with another value of a parameter, as kernel arrays.

    Attributes:
        moved: whether joint frames in the bodies change, so that the same poses have other coordinates.
    """

    def __init__(self, stepper: Any, mechanism: Any) -> None:
        self.stepper = stepper
        known = _MODELS.setdefault(mechanism, {})
        if stepper.dt not in known:
            known[stepper.dt] = compile_model(mechanism)
        own = with_same_graph(known[stepper.dt], stepper.model)
        self.model = own if stepper.whole or has_elements(own) else lean_model(own)
        own, other = stepper.model.coordinates, self.model.coordinates
        self.moved = any(not np.array_equal(own[name], other[name]) for name in READ)
        self.table = collect(mechanism, self.model.frames, bodies=stepper.integrator.self_collision)
        self._touches = not same_shapes(self.table, stepper.table)
        self._plain: tuple[Any, Any] = (None, None)

    @property
    def rubs(self) -> bool:
        """Whether contact coefficients differ."""
        return self._touches

    @cached_property
    def quick(self) -> bool:
        """Whether contacts have the same equations, and forces are of the same kinds."""
        own, other, same = self.stepper.model, self.model, True
        for name in ("paths", "sprung", "resisting"):
            both = getattr(own, name), getattr(other, name)
            a, b = (0 if x is None else len(getattr(x, "touched", x)) for x in both)
            same = same and (a == b or (name == "resisting" and a > 0 and b > 0))
        return same and not self.fresh

    @cached_property
    def same_places(self) -> bool:
        """Whether shapes are unchanged; otherwise contacts must be detected again."""
        given = np.asarray(self.table.shapes).copy()
        given["given"] = self.stepper.table.shapes.given
        same = given.tobytes() == self.stepper.table.shapes.tobytes()
        return same and np.array_equal(self.table.data, self.stepper.table.data)

    @cached_property
    def inertial(self) -> bool:
        """Whether only masses, inertias and gravity change."""
        return not self.rubs and self._same_elsewhere(INERTIAL, ())

    @cached_property
    def of_points(self) -> bool:
        """Whether only inertias and points of hinges and balls change, which `joint_point_vjp.weigh_points` handles."""
        own, other = self.stepper.model, self.model
        if self.rubs or self.stepper.loops or own.augment.any() or not self.linear:
            return False
        a, b = own.coordinates, other.coordinates
        moved = ((a.pa != b.pa) | (a.pb != b.pb)).any(axis=1)
        return bool(np.isin(a.kind[moved], (HINGE, BALL)).all())

    @cached_property
    def linear(self) -> bool:
        """Whether all step equations at fixed unknowns are linear in the change.

        They are in masses, inertias and gravity, in coefficients of friction and restitution, and in points of joints,
        which are arms in joint equations and wrenches on bodies; but not in the points of joints with couplings.
        """
        curved = (self.model.rows.kind == COUPLING).any() or (self.model.coordinates.kind == ROPE).any()
        return self.quick and self._straight and self._same_elsewhere(INERTIAL, () if curved else ("pa", "pb"))

    @cached_property
    def _straight(self) -> bool:
        """Whether gaps and contact points are linear in the change of shapes: only corners and spheres on planes."""
        if self.same_places:
            return True
        own, other = self.stepper.table.shapes, self.table.shapes
        if len(own) != len(other) or not np.array_equal(self.table.data, self.stepper.table.data):
            return False
        turned = other.copy()
        for name in (*PLACES, "centre", "bound", "thickness", "given"):
            turned[name] = own[name]
        moved = np.any([(own[name] != other[name]).reshape(len(own), -1).any(axis=1) for name in PLACES], axis=0)
        touching = self.pairs[moved[self.pairs.a] | moved[self.pairs.b]]
        on_planes = (own.kind[touching.a] == PLANE).all() and np.isin(own.kind[touching.b], CORNERED).all()
        return turned.tobytes() == own.tobytes() and bool(on_planes)

    def _same_elsewhere(self, of_bodies: tuple[str, ...], of_joints: tuple[str, ...]) -> bool:
        """Whether all record fields except these are those of the original robot."""
        own, other = self.stepper.model, self.model
        names = ("coefficients", "augment", "paths", "springs", "sprung")
        pairs = [(getattr(own, name), getattr(other, name)) for name in names]
        for name, free in (("bodies", of_bodies), ("rows", of_joints), ("coordinates", of_joints)):
            changed = getattr(other, name).copy()
            for field in free:
                changed[field] = getattr(own, name)[field]
            pairs.append((getattr(own, name), changed))
        forces = [tuple(model.forces._replace(nodes=None)) for model in (own, other)]  # `nodes` contain inertias
        return all(map(_same, pairs)) and _same((forces[0], forces[1]))

    @property
    def points(self) -> tuple[FloatArray, FloatArray]:
        """Points of joints in their two bodies: of rows (rows, 2, 3) and of coordinates (coordinates, 2, 3)."""
        rows, coordinates = self.model.rows, self.model.coordinates
        return np.stack([rows.pa, rows.pb], axis=1), np.stack([coordinates.pa, coordinates.pb], axis=1)

    @property
    def inertias(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Masses (bodies,), inertias (bodies, 3, 3) and gravity (3,)."""
        bodies = self.model.bodies
        return bodies.mass, bodies.J.reshape(-1, 3, 3), self.model.mechanism.tree.gravity

    @cached_property
    def pairs(self) -> Any:
        """`PAIR` records of all shapes that may touch."""
        return pairs_of(self.table)

    @cached_property
    def fresh(self) -> dict[str, Any]:
        """For each coefficient, the indices of pairs of shapes for which it is nonzero only by the change."""
        if not self._touches:
            return {}
        own, other = pairs_of(self.stepper.table), self.pairs
        _, a, b = np.intersect1d(own.key, other.key, assume_unique=True, return_indices=True)
        own, other = own[a], other[b]
        found = {name: own.key[(own[name] == 0.0) & (other[name] > 0.0)] >> 32 for name in COEFFICIENTS}
        return {name: keys for name, keys in found.items() if len(keys)}

    def arrays(self, graph: Any) -> Any:
        """Plain tuple of the `MaximalModel` on a given graph."""
        if self._plain[0] is not graph:
            self._plain = graph, plain(self.model.arrays(graph))
        return self._plain[1]

    def scratch(self, data: MaximalData) -> Any:
        """Plain tuple of the robot's data with this variant's tendon items, which forces read from there."""
        items = self.model.forces.items.copy()
        data = data._replace(strings=self.model.strings.copy())
        return plain(data._replace(modes=data.modes._replace(items=items)) if len(items) else data)

    def refuse_fresh(self, contacts: Any, hits: Any) -> None:
        """Raise an error for a coefficient that contacts lack; hits: whether each closes fast enough to bounce."""
        for name, keys in self.fresh.items():
            touching = np.isin(contacts.key >> 32, keys)
            if (touching & hits if name == "restitution" else touching).any():
                raise IntegratorError(
                    f"Maximal: a contact of this run has no {COEFFICIENTS[name]}, so no derivative by it; give it a "
                    "slight one"
                )

    def rubbing(self, contacts: Any) -> Any:
        """The contacts with this variant's coefficients."""
        pairs, out = self.pairs, contacts.copy()
        order = np.argsort(pairs.key)
        at = np.searchsorted(pairs.key[order] >> 32, contacts.key >> 32)
        own = pairs[order[np.minimum(at, len(pairs) - 1)]]
        for name in COEFFICIENTS:
            out[name] = own[name]
        out.friction[out.sticks == 1] = own.static[out.sticks == 1]
        return out

    def placed(self, q: FloatArray, Z: FloatArray) -> FloatArray:
        """Displacement (bodies, 6) from Z to the poses of the joint positions q."""
        return pose_difference(Z, place(self.model, q, np.zeros(self.stepper.mechanism.nv))[0])


def pairs_of(table: Any) -> Any:
    """`PAIR` records of all shapes of a table that may touch."""
    if len(table.movers) < 2:
        return table.ground
    return np.concatenate([table.ground, table.body_pairs()]).view(np.recarray)


def _same(pair: tuple[Any, Any]) -> bool:
    """Whether two arrays, or tuples of arrays, have the same content."""
    a, b = pair
    if isinstance(a, tuple):
        return isinstance(b, tuple) and all(map(_same, zip(a, b, strict=True)))
    return a is b or (a is not None and b is not None and a.tobytes() == b.tobytes())


class Derivative:
    """Derivative by one entry of a parameter: weights and variants, whose weighted sum it is.

    Args:
        stepper: a `MaximalStepper`.
        stencil: weights and mechanisms, see `leastaction.parameters.parameter_differences`.
    """

    def __init__(self, stepper: Any, stencil: list[tuple[float, Any]]) -> None:
        self.stepper, self.stencil = stepper, stencil
        if len(stencil) == len(CENTRAL):
            weight, mechanism = stencil[2]  # one step from the central value
            beside, weight = Variant(stepper, mechanism), weight / CENTRAL[2][1]
            if beside.linear:
                self.variants = [(weight, beside), (-weight, Variant(stepper, stepper.mechanism))]
                return
        self.variants = [(weight, Variant(stepper, mechanism)) for weight, mechanism in stencil]

    def __iter__(self) -> Iterator[tuple[float, Variant]]:
        return iter(self.variants)

    @cached_property
    def central(self) -> list[tuple[float, Variant]]:
        """All weights and variants, for quantities that are solved again and not linear in the change."""
        if len(self.variants) == len(self.stencil):
            return self.variants
        return [(weight, Variant(self.stepper, mechanism)) for weight, mechanism in self.stencil]

    @property
    def inertial(self) -> bool:
        """Whether only masses, inertias and gravity change."""
        return len(self.variants) == 2 and all(variant.inertial for _, variant in self)

    @cached_property
    def of_points(self) -> bool:
        """Whether only inertias and points of joints change, see `Variant.of_points`."""
        return len(self.variants) == 2 and all(variant.of_points for _, variant in self)

    @property
    def moved(self) -> bool:
        """Whether the coordinates of given poses change with the parameter."""
        return any(variant.moved for _, variant in self)

    def placed(self, q: FloatArray, Z: FloatArray) -> FloatArray:
        """Derivative of the poses (bodies, 6) at fixed joint positions q, where they are Z."""
        return sum_of(weight * variant.placed(q, Z) for weight, variant in self)


def sum_of(parts: Iterator[FloatArray]) -> FloatArray:
    """Sum of arrays."""
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def with_same_graph(model: Model, other: Model) -> Model:
    """Give a model the graph edges of another one; raises an error where bodies, joints or forces differ.

    Scratch arrays have the sizes of the original robot, so no variant may need more.
    """
    if [len(getattr(model, name)) for name in TABLES] != [len(getattr(other, name)) for name in TABLES]:
        raise IntegratorError("Maximal: a change of this parameter makes another mechanism, with other joints")
    if [len(getattr(model.forces, name)) for name in FORCES] != [len(getattr(other.forces, name)) for name in FORCES]:
        raise IntegratorError(
            "Maximal: a tendon with neither spring nor damper has no derivative by these; give it a slight one"
        )
    fresh = (other.coordinates.friction == 0.0) & (model.coordinates.friction > 0.0)
    if fresh.any():
        names = sorted({other.mechanism.velocity_names[iv] for iv in other.coordinates.iv[fresh] if iv >= 0})
        raise IntegratorError(
            f"Maximal: there is no dry friction ({', '.join(names)}), so no derivative by it; give it a slight one"
        )
    if any((np.isfinite(model.coordinates[name]) != np.isfinite(other.coordinates[name])).any() for name in LIMITS):
        raise IntegratorError("Maximal: a rigid limit has no derivative by its stiffness; give it one above zero")
    model.coordinates.edge = other.coordinates.edge
    for name in ("ea", "eb", "ea2", "eb2", "eab"):
        model.rows[name] = other.rows[name]
    model.augment[:] = other.augment
    model.bodies.radius, model.bodies.least = other.bodies.radius, other.bodies.least  # only scales
    return model


def same_shapes(table: Any, other: Any) -> bool:
    """Whether two tables have the same shapes and coefficients."""
    return (
        table.shapes.tobytes() == other.shapes.tobytes()
        and table.ground.tobytes() == other.ground.tobytes()
        and np.array_equal(table.data, other.data)
        and np.array_equal(table.surfaces.values, other.surfaces.values, equal_nan=True)
        and np.array_equal(table.surfaces.overrides, other.surfaces.overrides, equal_nan=True)
    )


def pose_difference(Z: FloatArray, other: FloatArray) -> FloatArray:
    """Small displacement (n, 6) from poses Z to others: rotations in the body frame, translations in the world's."""
    D = rotations(Z).transpose(0, 2, 1) @ rotations(other)
    turn = 0.5 * np.stack([D[:, 2, 1] - D[:, 1, 2], D[:, 0, 2] - D[:, 2, 0], D[:, 1, 0] - D[:, 0, 1]], axis=1)
    return np.hstack([np.arcsin(np.clip(turn, -1.0, 1.0)), other[:, :3] - Z[:, :3]])
