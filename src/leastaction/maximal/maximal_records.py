"""The records that kernels read (bodies, joint equations, coordinates) and those that they write (`…_STATE`)."""

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
"""In place of an edge: the row is lent to no body without inertia, see `MaximalModel.augment`."""

BODY = np.dtype(
    [
        ("parent", "i8"),  # body that carries it in the spanning tree, -1 for the world
        ("group", "i8"),  # first of the bodies that hang together with it by joints and forces
        ("mass", "f8"),
        ("J", "f8", 9),  # rotational inertia about the COM, in the body's directions, row major
        ("radius", "f8"),  # of gyration [m]: what angular velocities are scaled with
        ("behind", "f8"),  # what contacts and limits of it move [kg]: its mass, or a typical one where it has none
        ("least", "f8"),  # what Newton takes for the least mass of one without inertia [kg], 0 for others
    ],
    align=True,
)
"""One rigid body; its frame sits in its COM."""

JOINT_ROW = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # bodies, -1 for the world
        ("b", "i8"),
        ("node", "i8"),  # which group of rows it belongs to
        ("local", "i8"),  # its place in there
        ("ea", "i8"),  # edges of the graph to the bodies, -1 where there is none
        ("eb", "i8"),
        ("ea2", "i8"),  # of the leader's bodies
        ("eb2", "i8"),
        (
            "eab",
            "i8",
        ),  # edge between the bodies of a row that is lent to a massless one, -1: of the world; else NOT_LENT
        ("coordinate", "i8"),  # angle of a screw, follower of a coupling
        ("leader", "i8"),  # of a coupling
        ("first", "i8"),  # its polynomial
        ("count", "i8"),
        ("n", "f8", 3),  # in the frame of a
        ("w", "f8", 3),  # in the frame of b
        ("pa", "f8", 3),
        ("pb", "f8", 3),
        ("value", "f8"),
        ("pitch", "f8"),
        ("goal", "i8"),  # where its prescribed motion begins in `MaximalData.goals`, -1 without one
    ],
    align=True,
)
"""One scalar equation of a joint or coupling; kinds as in `mechanism.closure`."""

VALUE, FRAME = range(2)
"""What a motion prescribes: a coordinate, or the pose of a body."""

GOAL = np.dtype(
    [
        ("kind", "i8"),  # VALUE or FRAME
        ("first", "i8"),  # its numbers in a row of the record, see `MaximalRecord`
        ("at", "i8"),  # its numbers in `MaximalData.goals`
    ],
    align=True,
)
"""One prescribed motion."""

COORDINATE = np.dtype(
    [
        ("kind", "i8"),  # ROPE, SLIDE, HINGE, BALL or FREE
        ("a", "i8"),  # bodies; of the second hinge of a universal joint the child comes first
        ("b", "i8"),
        ("iq", "i8"),  # first entry in q and v, -1 for a joint that closes a loop and for a rope
        ("iv", "i8"),
        ("edge", "i8"),  # edge of the graph between a and b, -1 where there is none
        ("pitch", "f8"),  # advance of a screw per angle [m/rad]; weight of a rope's distance
        ("sign", "f8"),  # -1 for that second hinge
        ("n", "f8", 3),  # axis in the frame of a
        ("n2", "f8", 3),  # zero mark in a
        ("w2", "f8", 3),  # zero mark in b
        ("pa", "f8", 3),  # joint's origin in a and, moved, in b
        ("pb", "f8", 3),
        ("Ra", "f8", 9),  # joint's frame in a and, moved, in b (BALL and FREE)
        ("Rb", "f8", 9),
        ("rest", "f8"),
        ("stiffness", "f8"),  # of the spring, with that of servos; of BALL and FREE the largest
        ("damping", "f8", 6),
        ("inertia", "f8"),  # of a SLIDE or HINGE with a damper, alone at home; infinite of all others
        (
            "armature",
            "f8",
        ),  # of SLIDE and HINGE; of a BALL between two bodies the largest of the tree's
        ("friction", "f8"),
        ("lower", "f8"),
        ("upper", "f8"),
    ],
    align=True,
)
"""A coordinate of a joint: one number (SLIDE, HINGE) or an orientation (BALL), or both (FREE).

A ROPE is no joint's: the distance of two points, which a tendon limits.
"""

BODY_STATE = np.dtype(
    [
        ("p", "f8", 3),  # COM at the start of the step [m]
        ("quat", "f8", 4),  # orientation at the start
        ("R", "f8", 9),
        ("p1", "f8", 3),  # the same at its end
        ("quat1", "f8", 4),
        ("R1", "f8", 9),
        ("w", "f8", 3),  # angular velocity within the step, in the body's directions [rad/s]
        ("v", "f8", 6),  # spatial twist for the forces of springs and cables: kept at zero
        ("vc", "f8", 3),  # velocity of the COM within the step [m/s]
        ("x", "f8", 6),  # (w, vc) of the step before
        ("slope", "f8", 6),  # change of that per time
        ("P", "f8", 6),  # momentum at the start: angular in the body's directions, linear
        ("I", "f8", 6),  # impulse of known forces at the start, in the same directions
        ("r", "f8", 6),  # residual
        ("E", "f8", 9),  # turn at the end of the step, in the world's directions, per change of w, divided by dt
    ],
    align=True,
)
"""What a step knows of a body."""

ROW_STATE = np.dtype(
    [
        ("wa", "f8", 6),  # wrench of a unit impulse on the bodies at the start, in their own directions
        ("wb", "f8", 6),
        ("wa2", "f8", 6),  # on the leader's bodies
        ("wb2", "f8", 6),
        ("lam", "f8"),  # impulse [N s or N m s]
        ("mu", "f8"),  # impulse that momenta were projected with at the end of the step before
        ("force", "f8"),  # of the joint at the start of the step before [N or N m]
        ("g", "f8"),  # violation at the end of the step [m or rad]
        ("kept", "f8"),  # impulse of the first phase while the second is solved
        ("owed", "f8"),  # of a prescribed motion: impulse that the momenta at the start lack, see `step.energy_terms`
    ],
    align=True,
)
"""What a step knows of a row."""

COORDINATE_STATE = np.dtype(
    [
        ("value", "f8"),  # at the start; angles are continuous
        ("rate", "f8"),  # its mean rate over the step before
        ("end_damping", "f8"),  # see `assembly.end_damping`, of the step that ends at the present node; 0 in the next
        ("wa", "f8", 6),  # gradient at the start, in the bodies' directions; see `ball_drives` for a BALL
        ("wb", "f8", 6),
    ],
    align=True,
)
"""What a step knows of a SLIDE or HINGE."""

STEP_HISTORY = np.dtype(
    [
        ("known", "i8"),  # how many steps are, see `step.initial_guess`
        ("dt", "f8"),  # length of the last one [s]
        ("kinetic", "f8"),  # kinetic energy of the momenta at the present node [J]; below 0 where it is not known
    ],
    align=True,
)
"""What is known of the steps before; first guesses stand on it, no result does."""

PATH_STATE = np.dtype([("length", "f8")], align=True)
"""What a step knows of a spring or cable: its length at the start [m]."""

POINT_STATE = np.dtype(
    [
        ("d", "f8", 3),  # from the point before at the start of the step
        ("m", "f8", 6),  # discrete gradient of the length by the point, on its body at the start
        ("e", "f8", 6),  # gradient of the length at the end of the step, as a row by (w, v) of the body
    ],
    align=True,
)
"""What a step knows of a point of a spring or cable."""

SPRUNG = np.dtype(
    [
        ("first", "i8"),  # of its items
        ("count", "i8"),
        ("begin", "i8"),  # of its bodies
        ("bodies", "i8"),
        ("edges", "i8"),  # of its edges, one for each pair of these
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
        ("count", "i8"),  # of the cones of the present step
        ("waiting", "i8"),  # cones of open contacts with restitution, which take no part in it: the last of the array
        ("plastic", "i8"),  # 1: no contact has restitution in the present substep
        ("step", "i8"),  # number of the present step, for the log
        ("impact", "f8"),  # when the first of those that wait closes, from the start of the substep on [s] ...
        ("nearest", "f8"),  # ... and the least of their gaps at its end [m]
        ("nearest_before", "f8"),  # the same of the solution before
        ("hits", "i8"),  # of the impact that the present substep starts with
        ("closing", "i8"),  # key of the contact that a substep ends at, for its derivative
        ("node_work", "f8"),  # work of prescribed motions in impacts since it was last read [J]
        ("phase", "i8"),  # what is solved for now, see `step.velocity_equations`
        ("known", "i8"),  # of those whose impulses the next step may start from; 0 after a failure
        ("start", "i8"),  # `known` when the present step began
        ("sure", "i8"),  # 1: to be solved by the modes of the step before, 2: it was
        ("failed", "i8"),  # 1: Newton has found no solution with them, 0 else
        ("energy", "f8"),  # typical energy of the cones [J]
        ("push", "f8"),  # largest impulse that forces but gravity give a body in the step [N s]
        ("load", "f8"),  # how much more mass joints put behind a contact than the body has itself
        ("dry", "f8"),  # share of the step in which dry friction acts
        ("kept", "f8"),  # length of the step whose Newton matrix the factors are of [s], 0 where it is of no use
        ("closed", "i8"),  # how many cones of that step are in it
        ("kept_second", "f8"),  # the same two of the second phase, whose cones stand in `ContactData.second`
        ("closed_second", "i8"),
        (
            "projected",
            "i8",
        ),  # 1: the node before had a second phase, which counts the work of prescribed motions
        ("matched", "i8"),  # 1: the cones know which ones they were in the step before
        ("saved", "i8"),  # 1: their part of it stands in `ContactData.saved`
        (
            "quick",
            "i8",
        ),  # 1: one factorisation sufficed for the step before, see `maximal.step.solver.semismooth_newton`
        ("listed", "i8"),  # how many pairs are in the list, -1 for none yet; see `contact.mid_phase`
        ("fixed", "i8"),  # 1: some of the pairs that are not in it are with things that are fixed to the world
        ("widest", "f8"),  # bound on the margins of all pairs in the present step [m]
        ("within", "f8"),  # the list has all pairs that were closer when it was made [m]
        ("independent", "i8"),  # 1: no equations of loops depend on others at the start poses, 0: not known
        ("rounds", "i8"),  # how many times the present step was solved again, with contacts that it had missed
        # Statistics of the solver since the contacts were last forgotten, by phase (`step.velocity_equations`):
        ("solves", "i8", 2),  # problems solved,
        ("iterations", "i8", 2),  # their Newton iterations,
        ("matrices", "i8", 2),  # factorisations,
        ("dense", "i8", 2),  # and how many were left to the contact problem over a dense matrix
    ],
    align=True,
)
"""What the contacts of a step have in common."""


def filled(items: list[dict[str, Any]], dtype: np.dtype) -> Any:
    """A record array from one dict per record."""
    out = records(len(items), dtype)
    for record, values in zip(out, items, strict=True):
        for name, value in values.items():
            record[name] = value
    return out
