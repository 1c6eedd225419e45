"""The records that these kernels read and write."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism.tree import DOF

ROBOT_DOF = np.dtype([*((name, DOF[name]) for name in DOF.names or ()), ("holds", "f8")], align=True)
"""`tree.DOF` with the inertia that a joint has for its own impulses at home: see `joint_momenta.end_damping_of`."""

NEVER = 1e30
"""Such inertias of joints whose dampers are never implicit at the end of a step."""

ROBOT_CONE = np.dtype(
    [
        ("kind", "i8"),  # `CONTACT`, `LIMIT`, `DRY`, `TIE` or `LOOP`
        ("row", "i8"),  # of its first impulse
        ("width", "i8"),  # how many it has: a contact `PLAIN` or `TURNING`, others one
        ("node", "i8"),
        ("other", "i8"),  # node of the body that the normal points away from, -1 for the world
        ("found", "i8"),  # which of the contacts that were looked for; -1 for a ball over a plane
        ("dof", "i8"),  # of a limit or dry friction
        ("iq", "i8"),
        ("lower", "f8"),  # limits [rad or m]
        ("upper", "f8"),
        ("arm", "f8", 3),  # of the ball's centre from the node's centre of mass, in the node's frame [m]; of a contact
        # that was looked for its point in the world at the start of the step
        ("fixed", "f8", 3),  # of such a contact: points that go with node and other, in the world at the start of the
        ("fixed_other", "f8", 3),  # step, see `contact.gap.material_points`
        ("radius", "f8"),
        ("friction", "f8"),  # coefficient, or force of dry friction [N m or N]
        ("restitution", "f8"),
        ("compliance", "f8"),  # of a contact that gives way [m/N], see `laws.soft_contact`; 0: rigid
        ("relaxation", "f8"),  # its relaxation time [s]
        ("mass", "f8"),  # that its compliance is of [kg], see `compliance`; 0 for none
        ("spin", "f8"),  # friction against spinning and rolling: torque per normal force [m]
        ("roll", "f8"),
        ("offset", "f8"),  # of the plane along its normal, with the radius [m]
        ("normal", "f8", 3),
        ("first", "f8", 3),  # tangents
        ("second", "f8", 3),
        ("drift", "f8", 2),  # how far surfaces that move along their shapes slide in the step, in the tangents [m]
        ("shape", "i8"),  # which of the shapes of `contact.contact_shapes.collect`
        ("tie", "i8"),  # which of `spring_arrays.ties`, or of the equations of loops
        ("axis", "i8"),  # of a tie: along which of its axes
    ],
    align=True,
)
"""What gives one-sided impulses: a ball on a body over a plane, the limits of a joint, its dry friction; and contacts
that are looked for in each step. And what ties joints in Newton's equations, see `pulls`: equations of loops among it,
whose impulses may have either sign."""

GIVEN = np.inf
"""Dry friction of a degree of freedom whose motion is prescribed: a lock that bears anything, and moves."""

FOUND = np.dtype(
    [
        ("count", "i8"),  # of contacts in this step
        ("kept", "i8"),  # of those in the step before
        ("listed", "i8"),  # of pairs to look at; -1 before there is a list
        ("within", "f8"),  # pairs closer than this are in the list [m]
        ("fixed", "i8"),  # whether shapes of the world are among them
        ("full", "i8"),  # whether there was no room for a contact or a row of the log
        ("rounds", "i8"),  # how many solutions of the present part have overlapped, see `add_violated_contacts`
        ("until", "i8"),  # solution of a part that is taken as it is, for derivatives; 0: the one without overlaps
        ("step", "i8"),  # in this call
        ("written", "i8"),  # rows of the log
        ("dt", "f8"),  # of whole steps [s]
    ],
    align=True,
)
"""Where the search for contacts stands."""


BALANCE = np.dtype(
    [
        ("kinetic", "f8"),  # energy of the state that a step starts from [J]; negative where it is not known
        ("work", "f8"),  # of all forces in the step [J]
        ("noise", "f8"),  # what round-off, moving surfaces and overlaps at the start may add [J]
        ("elastic", "f8"),  # energy of soft contacts at the end of the last accepted substep [J],
        ("elastic_end", "f8"),  # of the substep at hand,
        ("elastic_start", "f8"),  # and at the start of the step; negative where it is not known
        ("owed", "f8"),  # what finest substeps of this step have lost where nothing touches [J]
        ("lossless", "i8"),  # whether nothing may take energy that is not in the work
        ("finest", "i8"),  # whether the substep is not to be divided any more
    ],
    align=True,
)
"""Energy balance of a step, see `energy_balance`."""

IMPACT_STATE = np.dtype(
    [
        ("impact", "f8"),  # when the first contact that waits closes, by a solved substep [s]
        ("nearest", "f8"),  # least gap of these at its end [m]
        ("nearest_before", "f8"),  # the same of the solution before
        ("closest", "f8"),  # gap at which a substep ends at an impact [m]
        ("share", "f8"),  # of the restitution that acts in a hit
        ("closing", "i8"),  # which of the cones has that least gap, -1 for none
        ("plastic", "i8"),  # 1: restitution does not act in the present substep
        ("hits", "i8"),  # in the present step
        ("ended", "i8"),  # substeps of the step that have ended at impacts
        ("forced", "i8"),  # 1: the substep at hand is to end where the step does
    ],
    align=True,
)
"""Impacts of a step, see `impacts`."""


def narrowed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A record type with numbers of 32 bits in place of those of 64."""
    fields = []
    for name in dtype.names or ():
        kind = dtype[name]
        fields.append((name, "f4" if kind.base == np.dtype("f8") else kind.base, kind.shape))
    return np.dtype(fields, align=True)
