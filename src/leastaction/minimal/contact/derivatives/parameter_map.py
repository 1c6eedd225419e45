"""Derivatives of substeps by parameters of the mechanism: changes of their equations at fixed unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.narrow_phase.feature_kinds import are_moving
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.minimal.contact.arrays import RobotShapes, robot_model
from leastaction.minimal.contact.derivatives.redetection import detected_at
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth
from leastaction.minimal.contact.derivatives.substep_map import PartMap
from leastaction.minimal.contact.detection.constraints import cones_and_shapes
from leastaction.minimal.contact.robot_variants import whole_model
from leastaction.parameters.parameter_differences import Stencil
from leastaction.typing import FloatArray


class Variant:
    """A mechanism with another value of a parameter."""

    def __init__(self, stepper: Any, mechanism: Mechanism) -> None:
        self.stepper, self.mechanism = stepper, mechanism
        self.cones, self.shapes, _ = cones_and_shapes(mechanism, stepper.integrator.self_collision)
        model = robot_model(mechanism, np.float64, self.cones, self.shapes)
        self.smooth = Smooth(mechanism, whole_model(mechanism, model))
        alike = len(self.cones) == len(stepper.cones) and (self.shapes is None) == (stepper.model.shapes is None)
        if not alike or not same_pairs(self.shapes, stepper.model.shapes):
            raise IntegratorError("Minimal: a change of this parameter makes another mechanism, with other contacts")
        self.changed = not same_shapes(self.shapes, stepper.model.shapes)

    def equations(self, part: PartMap) -> FloatArray:
        """See `PartMap.equations`."""
        placed, s = self._placed(part), part.solved
        ends = [placed.poses(end) for end in range(2)]
        ends += [self._placed(solution).poses(1) for solution in part.earlier]
        cones, contacts = self._cones(s.cones, s.contacts, ends)
        stops = self.cones[self._index(s.stops)]
        closing = part.closing
        if len(closing[0]):
            closing = self._closing(*closing, ends)
        return part.equations(self.smooth, cones, stops, contacts, placed, closing)

    def _closing(self, cones: Any, contacts: Any, ends: list[FloatArray]) -> tuple[Any, Any]:
        """`_cones` of the contact whose impact ends a substep, which was detected at its start or only there."""
        try:
            return self._cones(cones, contacts, ends)
        except IntegratorError:
            return self._cones(cones, contacts, ends[1:])

    def _placed(self, part: PartMap) -> Placed:
        """The bodies of a substep."""
        s = part.solved
        return self.smooth.at(s.q0, s.q1, s.u, s.h, False)

    def _cones(self, known: Any, found: Any, ends: list[FloatArray]) -> tuple[Any, Any]:
        """Constraints and contacts of a substep with the coefficients and shapes of this mechanism.

        Args:
            ends: poses of the bodies at both ends, then at the ends of earlier solutions.
        """
        contacts = self._renewed(found, ends)
        cones = known.copy()
        own = cones.found < 0
        cones[own] = self.cones[self._index(known[own])]
        cones["restitution"][~own] = contacts.restitution
        if self.shapes is not None:
            pairs = self.shapes.pairs[contacts.pair]
            cones["friction"][~own] = np.where(found.sticks == 1, pairs.static, pairs.friction)
            cones["spin"][~own], cones["roll"][~own] = pairs.spin, pairs.roll
            cones["mass"][~own] = self.shapes.masses[contacts.pair]
            cones["compliance"][~own], cones["relaxation"][~own] = self.shapes.softness[contacts.pair].T
        return cones, contacts

    def _index(self, cones: Any) -> NDArray[np.int64]:
        """Indices of these among the permanent constraints, by their first impulse."""
        return np.searchsorted(self.stepper.cones.row, cones.row)

    def _renewed(self, contacts: Any, ends: list[FloatArray]) -> Any:
        """The detected contacts of a substep with these shapes, each at the poses where it was detected."""
        shapes = self.shapes
        if not len(contacts) or shapes is None:
            return contacts
        kinds = shapes.shapes.kind[np.stack([shapes.pairs.a[contacts.pair], shapes.pairs.b[contacts.pair]])]
        if not self.changed and not are_moving(kinds).any():
            return contacts
        out = contacts.copy()
        for place in np.unique(contacts.late):
            own = np.flatnonzero(contacts.late == place)
            out[own] = found_again(contacts[own], shapes, ends[1 + place if place > 0 else 0])
        return out


def found_again(contacts: Any, shapes: RobotShapes, poses: FloatArray) -> Any:
    """The same contacts with other shapes at the poses at which they were detected."""
    found, there = detected_at(contacts, shapes, poses)
    if not there.all():
        raise IntegratorError(
            "Minimal: a contact of this step vanishes when the parameter changes; it has no derivative"
        )
    return found


def same_pairs(one: RobotShapes | None, two: RobotShapes | None) -> bool:
    """Whether both have the same pairs of shapes for contact detection."""
    return one is two or (one is not None and two is not None and np.array_equal(one.pairs.key, two.pairs.key))


def same_shapes(one: RobotShapes | None, two: RobotShapes | None) -> bool:
    """Whether shapes and coefficients are equal, too."""
    if one is None or two is None:
        return one is two
    same = one.shapes.tobytes() == two.shapes.tobytes() and one.pairs.tobytes() == two.pairs.tobytes()
    return same and np.array_equal(one.table, two.table)


class Derivative:
    """Derivative by one entry of a parameter.

    Args:
        stepper: a `GroundStepper`.
        stencil: weights and mechanisms, see `leastaction.parameters.parameter_differences`.
    """

    def __init__(self, stepper: Any, stencil: Stencil) -> None:
        self.variants = [(weight, Variant(stepper, mechanism)) for weight, mechanism in stencil]

    def of(self, part: PartMap) -> FloatArray:
        """Derivative of the equations and outputs of a substep, at fixed unknowns; see `PartMap.equations`."""
        out = sum_of([weight * variant.equations(part) for weight, variant in self.variants])
        for by_found, solution in zip(part.by_found, part.earlier, strict=True):
            moved = by_found @ solution.end_by(self.of(solution))
            last = len(out) - part.outputs
            out[: len(moved) - 2 * part.n] += moved[: len(moved) - 2 * part.n]
            out[last : last + 2 * part.n] += moved[-2 * part.n :]
        return out

    def split(self, part: PartMap) -> tuple[FloatArray, FloatArray]:
        """`of` in the form that `PartMap.forward` takes."""
        found = self.of(part)[:, None]
        return found[: len(found) - part.outputs], found[len(found) - part.outputs :]


def sum_of(parts: list[FloatArray]) -> FloatArray:
    """Sum of arrays."""
    return np.sum(parts, axis=0)
