"""Where the links are and how they move: the kernels that every recursion in joint coordinates starts from.

Everything is written in the world frame about the world's origin, so nothing has to be transformed between
neighbours: a twist, a wrench or an inertia of a child is simply added to its parent's (Fan 2018, Section 2.3).
"""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.mechanism.joints import Motion
from leastaction.spatial import (
    EYE,
    ZERO3,
    ZERO6,
    ad,
    add,
    add3,
    axpy,
    axpy3,
    column,
    cross,
    load3,
    load6,
    load9,
    load_sym,
    matmul,
    matvec,
    quat_to_rotation,
    scale3,
    store3,
    store6,
    store9,
    store_inertia,
    world_inertia,
)
from leastaction.spatial.angles import sine_and_cosine

REVOLUTE = int(Motion.REVOLUTE)
PRISMATIC = int(Motion.PRISMATIC)
SPHERICAL = int(Motion.SPHERICAL)
FREE = int(Motion.FREE)

LINK = np.dtype(
    [
        ("R", "f8", 9),  # world from node: rotation, row major
        ("p", "f8", 3),  # origin of the node [m]
        ("v", "f8", 6),  # twist
        ("a", "f8", 6),  # acceleration
        ("f", "f8", 6),  # wrench, or bias wrench
        ("M", "f8", 10),  # inertia (m, h, I) about the world's origin; composite where a kernel says so
        ("A", "f8", 21),  # articulated inertia: angular 6, mixed 9, linear 6
    ],
    align=True,
)
"""Work space of one node; all in the world frame."""

JOINT_SCREW = np.dtype(
    [
        ("S", "f8", 6),  # twist of a unit velocity of this degree of freedom
        ("Sd", "f8", 6),  # its rate
        ("U", "f8", 6),  # articulated inertia times S
        ("h", "f8"),  # 1 / (S . U + armature): sweeps wait for divisions, so there is one
        ("u", "f8"),  # force that is left for this degree of freedom
    ],
    align=True,
)
"""Work space of one degree of freedom; all in the world frame."""


@inline
def turn_z(R, s, c):
    """R times the rotation about z with sine s and cosine c."""
    return (
        c * R[0] + s * R[1],
        c * R[1] - s * R[0],
        R[2],
        c * R[3] + s * R[4],
        c * R[4] - s * R[3],
        R[5],
        c * R[6] + s * R[7],
        c * R[7] - s * R[6],
        R[8],
    )


@inline
def library_sine_and_cosine(x):
    """As `spatial.angles.sine_and_cosine`, in the precision of x."""
    return math.sin(x), math.cos(x)


def place_with(sine_and_cosine):
    """`place` with a way to find sine and cosine of a hinge's coordinate."""

    @inline
    def place(node, q, Rp, pp):
        """Pose (R, p) of a node in the world, from its coordinates in q and the pose (Rp, pp) of its parent."""
        R = matmul(Rp, load9(node.Rt))
        p = add3(pp, matvec(Rp, load3(node.pt)))
        i = node.iq
        if node.kind == REVOLUTE:
            sine, cosine = sine_and_cosine(q[i])
            R = turn_z(R, sine, cosine)
            p = axpy3(node.pitch * q[i], (R[2], R[5], R[8]), p)
        elif node.kind == PRISMATIC:
            p = axpy3(q[i], (R[2], R[5], R[8]), p)
        elif node.kind == SPHERICAL or node.kind == FREE:
            if node.kind == FREE:
                p = add3(p, matvec(R, (q[i], q[i + 1], q[i + 2])))
                i += 3
            R = matmul(R, quat_to_rotation((q[i], q[i + 1], q[i + 2], q[i + 3])))
        return R, p

    return place


place = place_with(sine_and_cosine)


@inline
def screw_axis(node, k, R, p):
    """World twist of a unit velocity of the node's degree of freedom k, for the node's pose (R, p)."""
    if node.kind == PRISMATIC:
        return (ZERO3, (R[2], R[5], R[8]))
    if node.kind == REVOLUTE:
        a = (R[2], R[5], R[8])
        return (a, axpy3(node.pitch, a, cross(p, a)))
    if k >= 3:
        return (ZERO3, column(R, k - 3))
    a = column(R, k)
    return (a, cross(p, a))


@routine
def positions(nodes, links, screws, q):
    """Poses, world inertias and joint screws of all nodes at q."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        link = links[i]
        Rp = EYE
        pp = ZERO3
        if node.parent >= 0:
            Rp = load9(links[node.parent].R)
            pp = load3(links[node.parent].p)
        R, p = place(node, q, Rp, pp)
        store9(link.R, R)
        store3(link.p, p)
        store_inertia(link.M, world_inertia(R, p, node.mass, load3(node.com), load_sym(node.Ic)))
        for k in range(node.nv):
            store6(screws[node.iv + k].S, screw_axis(node, k, R, p))


@routine
def velocities(nodes, links, screws, v):
    """Twists of all nodes and rates of their screws; positions must be there."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        V = ZERO6
        if node.parent >= 0:
            V = load6(links[node.parent].v)
        for k in range(node.iv, node.iv + node.nv):
            V = axpy(v[k], load6(screws[k].S), V)
        store6(links[i].v, V)
        for k in range(node.iv, node.iv + node.nv):
            # Screws are constant in the frame that moves with the node.
            store6(screws[k].Sd, ad(V, load6(screws[k].S)))


@inline
def joint_acceleration(node, screws, v):
    """Velocity-product acceleration of a node: sum of Sd v over its degrees of freedom."""
    c = ZERO6
    for k in range(node.iv, node.iv + node.nv):
        c = axpy(v[k], load6(screws[k].Sd), c)
    return c


@inline
def lift(gravity):
    """Acceleration of the world that stands for gravity: everything falls when the world does not rise."""
    return (ZERO3, scale3(-1.0, load3(gravity)))


@inline
def parent_twist(links, parent, root, field_v):
    """Twist (field_v) or acceleration of the parent; `root` for nodes on the world."""
    if parent < 0:
        return root
    return load6(links[parent].v) if field_v else load6(links[parent].a)


@inline
def add_to(a, F):
    """Add a twist or wrench to the first 6 entries of a."""
    store6(a, add(load6(a), F))


@inline
def is_above(nodes, a, i):
    """Whether node a is i or an ancestor of i."""
    while i > a:
        i = nodes[i].parent
    return i == a
