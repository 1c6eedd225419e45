"""Record types of these kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism.tree import DOF

ROBOT_DOF = np.dtype([*((name, DOF[name]) for name in DOF.names or ()), ("holds", "f8")], align=True)
"""`tree.DOF` plus the apparent inertia of a joint at home, for its own impulses: see `joint_momenta.end_damping_of`."""

NEVER = 1e30
"""Such inertias of joints whose dampers are never implicit at the end of a step."""

ROBOT_CONE = np.dtype(
    [
        ("kind", "i8"),  # `CONTACT`, `LIMIT`, `DRY`, `TIE` or `LOOP`
        ("row", "i8"),  # index of its first impulse
        ("width", "i8"),  # number of impulses: a contact `PLAIN` or `TURNING`, others one
        ("node", "i8"),
        ("other", "i8"),  # node of the body that the normal points away from, -1 for the world
        ("found", "i8"),  # index of the detected contact; -1 for a sphere over a plane
        ("dof", "i8"),  # of a limit or dry friction
        ("iq", "i8"),
        ("lower", "f8"),  # limits [rad or m]
        ("upper", "f8"),
        ("arm", "f8", 3),  # of the sphere's centre from the node's centre of mass, in the node's frame [m]; of a
        # detected contact: its point in the world at the start of the step
        ("fixed", "f8", 3),  # of such a contact: points fixed to node and other, in the world at the start of the
        ("fixed_other", "f8", 3),  # step, see `contact.gap.material_points`
        ("radius", "f8"),
        ("friction", "f8"),  # coefficient, or force of dry friction [N m or N]
        ("restitution", "f8"),
        ("compliance", "f8"),  # of a soft contact [m/N], see `laws.soft_contact`; 0: rigid
        ("relaxation", "f8"),  # its relaxation time [s]
        ("mass", "f8"),  # for its compliance [kg], see `contact_response`; 0 for none
        ("spin", "f8"),  # torsional and rolling friction: torque per normal force [m]
        ("roll", "f8"),
        ("offset", "f8"),  # of the plane along its normal, with the radius [m]
        ("normal", "f8", 3),
        ("first", "f8", 3),  # tangents
        ("second", "f8", 3),
        ("drift", "f8", 2),  # displacement of moving surfaces (belts) in the step, in the tangents [m]
        ("shape", "i8"),  # index of the shape of `contact.contact_shapes.collect`
        ("tie", "i8"),  # index in `spring_arrays.ties`, or of the loop constraint
        ("axis", "i8"),  # of a tie: its axis
    ],
    align=True,
)
"""A constraint with one-sided impulses: a sphere on a body over a plane, the limits of a joint, its dry friction, a
detected contact. Also ties of joints in Newton's equations and loops, see `spring_forces`, whose impulses may have
either sign."""

GIVEN = np.inf
"""Dry friction of a prescribed degree of freedom: a lock with unbounded force."""

FOUND = np.dtype(
    [
        ("count", "i8"),  # number of contacts in this step
        ("kept", "i8"),  # number of those in the last step
        ("listed", "i8"),  # number of candidate pairs; -1 before there is a list
        ("within", "f8"),  # pairs closer than this are in the list [m]
        ("fixed", "i8"),  # whether the pairs include shapes of the world
        ("full", "i8"),  # whether the capacity for contacts or rows of the log was exceeded
        ("rounds", "i8"),  # solutions of this substep after which contacts were added, see `add_violated_contacts`
        ("until", "i8"),  # for derivatives: number of the solution to accept as it is; 0: the one without penetration
        ("step", "i8"),  # index of the step in this call
        ("written", "i8"),  # rows in the log
        ("dt", "f8"),  # of whole steps [s]
    ],
    align=True,
)
"""State of contact detection."""


BALANCE = np.dtype(
    [
        ("kinetic", "f8"),  # kinetic energy at the start of a step [J]; negative where unknown
        ("work", "f8"),  # work of all forces in the step [J]
        ("noise", "f8"),  # bound of the gain by round-off, moving surfaces and initial overlaps [J]
        ("elastic", "f8"),  # energy of soft contacts at the end of the last accepted substep [J],
        ("elastic_end", "f8"),  # of the current substep,
        ("elastic_start", "f8"),  # and at the start of the step; negative where unknown
        ("owed", "f8"),  # losses of finest substeps of this step without loaded contacts [J]
        ("lossless", "i8"),  # whether all dissipation is in the work
        ("finest", "i8"),  # whether the substep must not be bisected again
    ],
    align=True,
)
"""Energy balance of a step, see `energy_balance`."""

IMPACT_STATE = np.dtype(
    [
        ("impact", "f8"),  # time at which the first waiting contact closes in a solved substep [s]
        ("nearest", "f8"),  # smallest gap of these at its end [m]
        ("nearest_before", "f8"),  # the same of the last solution
        ("closest", "f8"),  # largest gap at which a substep ends at an impact [m]
        ("share", "f8"),  # share of the restitution that acts in an impact
        ("closing", "i8"),  # index of the constraint with that gap, -1 for none
        ("plastic", "i8"),  # 1: restitution does not act in the present substep
        ("hits", "i8"),  # impacts in the current step
        ("ended", "i8"),  # substeps of the step that have ended at impacts
        ("forced", "i8"),  # 1: the current substep must end with the step
    ],
    align=True,
)
"""Impacts of a step, see `joint_impacts`."""


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A record type with 32-bit numbers in place of 64-bit ones."""
    fields = []
    for name in dtype.names or ():
        kind = dtype[name]
        fields.append((name, "f4" if kind.base == np.dtype("f8") else kind.base, kind.shape))
    return np.dtype(fields, align=True)
