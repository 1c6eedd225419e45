"""Record types that kernels read (bodies, joint equations, coordinates) and those that they write (`…_STATE`)."""

from typing import Any

import numpy as np

from leastaction.contact.records import records

__all__ = [
    "BALL",
    "BODY",
    "BODY_STATE",
    "CONTACT_STATE",
    "COORDINATE",
    "COORDINATE_STATE",
    "FRAME",
    "FREE",
    "GOAL",
    "HINGE",
    "JOINT_ROW",
    "NOT_LENT",
    "PATH_STATE",
    "POINT_STATE",
    "ROPE",
    "ROW_STATE",
    "SLIDE",
    "SPRUNG",
    "VALUE",
    "filled",
    "records",
]

ROPE, SLIDE, HINGE, BALL, FREE = range(-1, 4)

NOT_LENT = -2
"""In place of an edge: the row augments no body without inertia, see `MaximalModel.augment`."""

BODY = np.dtype(
    [
        ("parent", "i8"),  # parent body in the spanning tree, -1 for the world
        ("group", "i8"),  # first body of its group, connected by joints and forces
        ("mass", "f8"),
        ("J", "f8", 9),  # rotational inertia about the COM, in the body frame, row major
        ("radius", "f8"),  # of gyration [m]: scales angular velocities
        ("behind", "f8"),  # mass that its contacts and limits move [kg]: its own, or a typical one where it has none
        ("least", "f8"),  # least mass in the Newton matrix of a body without inertia [kg], 0 for others
    ],
    align=True,
)
"""One rigid body; the origin of its frame is its COM."""

JOINT_ROW = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # bodies, -1 for the world
        ("b", "i8"),
        ("node", "i8"),  # its group of rows
        ("local", "i8"),  # its index in the group
        ("ea", "i8"),  # edges of the graph to the bodies, -1 where there is none
        ("eb", "i8"),
        ("ea2", "i8"),  # of the leader's bodies
        ("eb2", "i8"),
        (
            "eab",
            "i8",
        ),  # edge between the bodies of a row that augments a massless one, -1: with the world; else NOT_LENT
        ("coordinate", "i8"),  # angle of a screw, or follower of a coupling
        ("leader", "i8"),  # leader of a coupling
        ("first", "i8"),  # first coefficient of its polynomial
        ("count", "i8"),
        ("n", "f8", 3),  # in the frame of a
        ("w", "f8", 3),  # in the frame of b
        ("pa", "f8", 3),
        ("pb", "f8", 3),
        ("value", "f8"),
        ("pitch", "f8"),
        ("goal", "i8"),  # index of its prescribed motion in `MaximalData.goals`, -1 without one
    ],
    align=True,
)
"""One scalar equation of a joint or coupling; kinds as in `mechanism.closure`."""

VALUE, FRAME = range(2)
"""Kinds of prescribed motions: a coordinate, or the pose of a body."""

GOAL = np.dtype(
    [
        ("kind", "i8"),  # VALUE or FRAME
        ("first", "i8"),  # first column in a row of the record, see `MaximalRecord`
        ("at", "i8"),  # first index in `MaximalData.goals`
    ],
    align=True,
)
"""One prescribed motion."""

COORDINATE = np.dtype(
    [
        ("kind", "i8"),  # ROPE, SLIDE, HINGE, BALL or FREE
        ("a", "i8"),  # bodies; for the second hinge of a universal joint the child comes first
        ("b", "i8"),
        ("iq", "i8"),  # first entry in q and v, -1 for a joint that closes a loop and for a rope
        ("iv", "i8"),
        ("edge", "i8"),  # edge of the graph between a and b, -1 where there is none
        ("pitch", "f8"),  # advance of a screw per angle [m/rad]; weight of a rope's distance
        ("sign", "f8"),  # -1 for the second hinge of a universal joint
        ("n", "f8", 3),  # axis in the frame of a
        ("n2", "f8", 3),  # zero mark in a
        ("w2", "f8", 3),  # zero mark in b
        ("pa", "f8", 3),  # joint's origin in a and, moved, in b
        ("pb", "f8", 3),
        ("Ra", "f8", 9),  # joint's frame in a and, moved, in b (BALL and FREE)
        ("Rb", "f8", 9),
        ("rest", "f8"),
        ("stiffness", "f8"),  # of the spring, including servos; for BALL and FREE the largest
        ("damping", "f8", 6),
        ("inertia", "f8"),  # of a SLIDE or HINGE with a damper, alone at home; infinite for all others
        (
            "armature",
            "f8",
        ),  # of SLIDE and HINGE; for a BALL between two bodies the largest of its axes
        ("friction", "f8"),
        ("lower", "f8"),
        ("upper", "f8"),
    ],
    align=True,
)
"""A coordinate of a joint: one number (SLIDE, HINGE) or an orientation (BALL), or both (FREE).

A ROPE belongs to no joint: it is the distance of two points, which a tendon limits.
"""

BODY_STATE = np.dtype(
    [
        ("p", "f8", 3),  # COM at the start of the step [m]
        ("quat", "f8", 4),  # orientation at the start
        ("R", "f8", 9),
        ("p1", "f8", 3),  # the same at its end
        ("quat1", "f8", 4),
        ("R1", "f8", 9),
        ("w", "f8", 3),  # angular velocity within the step, in the body frame [rad/s]
        ("v", "f8", 6),  # spatial twist for velocity-dependent forces: zero except in `body_damping`
        ("vc", "f8", 3),  # velocity of the COM within the step [m/s]
        ("x", "f8", 6),  # (w, vc) of the step before
        ("slope", "f8", 6),  # rate of change of x
        ("P", "f8", 6),  # momentum at the start: angular in the body frame, linear
        ("I", "f8", 6),  # impulse of known forces at the start, in the same axes
        ("r", "f8", 6),  # residual
        ("E", "f8", 9),  # derivative of the end orientation by w, as a world rotation, divided by dt
    ],
    align=True,
)
"""State of a body in a step."""

ROW_STATE = np.dtype(
    [
        ("wa", "f8", 6),  # wrench of a unit impulse on the bodies at the start, in their own frames
        ("wb", "f8", 6),
        ("wa2", "f8", 6),  # on the leader's bodies
        ("wb2", "f8", 6),
        ("lam", "f8"),  # impulse [N s or N m s]
        ("mu", "f8"),  # impulse of the projection of momenta at the end of the step before
        ("force", "f8"),  # joint force at the start of the step before [N or N m]
        ("g", "f8"),  # violation at the end of the step [m or rad]
        ("kept", "f8"),  # impulse of the first phase while the second is solved
        ("owed", "f8"),  # of a prescribed motion: impulse that the start momenta lack, see `acceptance.energy_terms`
    ],
    align=True,
)
"""State of a joint row in a step."""

COORDINATE_STATE = np.dtype(
    [
        ("value", "f8"),  # at the start; angles are continuous
        ("rate", "f8"),  # its mean rate over the step before
        ("end_damping", "f8"),  # see `assembly.end_damping`, of the step that ends at the present node; 0 in the next
        ("wa", "f8", 6),  # gradient at the start, in the body frames; see `ball_drives` for a BALL
        ("wb", "f8", 6),
    ],
    align=True,
)
"""State of a SLIDE or HINGE in a step."""

STEP_HISTORY = np.dtype(
    [
        ("known", "i8"),  # what is known of previous steps, see `step.initial_guess`
        ("dt", "f8"),  # length of the last one [s]
        ("kinetic", "f8"),  # kinetic energy of the momenta at the present node [J]; negative where it is not known
    ],
    align=True,
)
"""Data of previous steps; they affect initial guesses only, no result."""

PATH_STATE = np.dtype([("length", "f8")], align=True)
"""State of a spring or cable in a step: its length at the start [m]."""

POINT_STATE = np.dtype(
    [
        ("d", "f8", 3),  # vector from the previous point at the start of the step
        ("m", "f8", 6),  # discrete gradient of the length by the point, as a wrench on its body at the start
        ("e", "f8", 6),  # gradient of the length at the end of the step, as a row by (w, v) of the body
    ],
    align=True,
)
"""State of a point of a spring or cable in a step."""

SPRUNG = np.dtype(
    [
        ("first", "i8"),  # first of its items
        ("count", "i8"),
        ("begin", "i8"),  # first of its bodies
        ("bodies", "i8"),
        ("edges", "i8"),  # first of its edges, one for each pair of bodies
        ("offset", "f8"),  # the law of its tension, as in `TENDON`
        ("stiffness", "f8"),
        ("shortest", "f8"),
        ("longest", "f8"),
        ("lower", "f8"),
        ("upper", "f8"),
        ("limit_stiffness", "f8"),
    ],
    align=True,
)
"""The length of a tendon with a spring or soft limits, or of a joint with such limits."""

CONTACT_STATE = np.dtype(
    [
        ("count", "i8"),  # number of cones of the present step
        ("waiting", "i8"),  # number of open cones with restitution, outside the problem: the last of the array
        ("plastic", "i8"),  # 1: no contact has restitution in the present substep
        ("step", "i8"),  # number of the present step, for the log
        ("impact", "f8"),  # time from the start of the substep at which the first of those that wait closes [s] ...
        ("nearest", "f8"),  # ... and the least of their gaps at its end [m]
        ("nearest_before", "f8"),  # the same for the previous solution
        ("hits", "i8"),  # number of hits in the impact at the start of the present substep
        ("closing", "i8"),  # key of the contact at which a substep ends, for its derivative
        ("node_work", "f8"),  # work of prescribed motions in impacts since the last read [J]
        ("phase", "i8"),  # phase being solved, see `step.velocity_equations`
        ("known", "i8"),  # number of cones whose impulses warm-start the next step; 0 after a failure
        ("start", "i8"),  # `known` when the present step began
        ("sure", "i8"),  # 1: start from the modes of the step before, 2: semismooth Newton solved the step
        ("failed", "i8"),  # 1: the solver with contacts failed, 0 else
        ("energy", "f8"),  # typical energy of the cones [J]
        ("push", "f8"),  # largest impulse on a body of all forces but gravity in the step [N s]
        ("load", "f8"),  # mass that joints attach to a contact, relative to the body's own
        ("dry", "f8"),  # share of the step in which dry friction acts
        ("kept", "f8"),  # length of the step of the factorised Newton matrix [s], 0 where it cannot be reused
        ("closed", "i8"),  # number of closed cones in that matrix
        ("kept_second", "f8"),  # the same two for the second phase, whose cones are in `ContactData.second`
        ("closed_second", "i8"),
        (
            "projected",
            "i8",
        ),  # 1: the node before had a second phase, which includes the work of prescribed motions
        ("matched", "i8"),  # 1: `previous` of the cones is set
        ("saved", "i8"),  # 1: their blocks are in `ContactData.saved`
        (
            "quick",
            "i8",
        ),  # 1: one factorisation sufficed for the step before, see `maximal.step.solver.semismooth_newton`
        ("listed", "i8"),  # number of pairs in the mid phase's list, -1 for no list; see `contact.mid_phase`
        ("fixed", "i8"),  # 1: some pairs outside the list are with shapes fixed to the world
        ("widest", "f8"),  # bound on the margins of all pairs in the present step [m]
        ("within", "f8"),  # the list has all pairs that were closer than this when it was made [m]
        ("independent", "i8"),  # 1: no loop equations are redundant at the start poses, 0: not known
        ("rounds", "i8"),  # number of times that the present step was solved again with missed contacts
        # Statistics of the solver since the contacts were last cleared, by phase (`step.velocity_equations`):
        ("solves", "i8", 2),  # problems solved,
        ("iterations", "i8", 2),  # their Newton iterations,
        ("matrices", "i8", 2),  # factorisations,
        ("dense", "i8", 2),  # and how many of them `delassus_newton` solved
    ],
    align=True,
)
"""State that the contacts of a step share."""


def filled(items: list[dict[str, Any]], dtype: np.dtype) -> Any:
    """A record array from one dict per record."""
    out = records(len(items), dtype)
    for record, values in zip(out, items, strict=True):
        for name, value in values.items():
            record[name] = value
    return out
