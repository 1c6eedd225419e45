"""Random mechanisms with every tree joint."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from leastaction.mechanism import Inertia, Mechanism, MechanismBuilder, Pose, joints

KINDS = (
    "revolute",
    "prismatic",
    "screw",
    "cylindrical",
    "universal",
    "planar",
    "planar_fixed_orientation",
    "translational",
    "rotation_axis_free_movement",
    "spherical",
    "cylindrical_free_orientation",
    "planar_free_orientation",
    "free",
    "composite",
    "fixed",
)


def random_unit(rng, size=3):
    """A random unit vector."""
    a = rng.normal(size=size)
    return a / np.linalg.norm(a)


def random_pose(rng, reach=0.5):
    """A random pose."""
    return Pose(rng.uniform(-reach, reach, 3), random_unit(rng, 4))


def random_inertia(rng):
    """A physically consistent inertia: that of a few random point masses."""
    points = rng.uniform(-0.3, 0.3, (6, 3))
    masses = rng.uniform(0.1, 1.0, 6)
    parts = [(Inertia(m, p, 0.01), Pose()) for m, p in zip(masses, points, strict=True)]
    return Inertia.from_parts(parts)


def random_tree(
    seed, bodies=6, kinds=KINDS, *, branching=0.5, armature=True, gravity=(0.3, -0.5, -9.81), **properties
) -> Mechanism:
    """A random tree; `branching` 0 is a chain, 1 hangs each body anywhere; properties go to moving joints."""
    rng = np.random.default_rng(seed)
    b = MechanismBuilder(f"random{seed}", gravity=gravity)
    names = ["world"]
    for i in range(bodies):
        name = b.body(f"body{i}", inertia=random_inertia(rng))
        kind = kinds[rng.integers(len(kinds))] if i else kinds[0]
        parent = names[rng.integers(len(names))] if rng.random() < branching else names[-1]
        options = {"pose": random_pose(rng), "child_pose": random_pose(rng)}
        if kind == "universal":
            options["axis"] = (random_unit(rng), random_unit(rng))
        elif kind == "composite":
            options["parts"] = (joints.revolute(random_unit(rng)), joints.screw("y", 0.2), joints.spherical())
        elif kind not in ("fixed", "spherical", "free", "translational"):
            options["axis"] = random_unit(rng)
        if kind == "screw":
            options["pitch"] = rng.uniform(-0.3, 0.3)
        if kind != "fixed":
            options |= properties
            if armature:
                a = rng.uniform(0.0, 0.2)
                # Pinocchio lets the momentum of a free joint's linear armature keep its direction in the child's frame.
                options["armature"] = (a, a, a, 0.0, 0.0, 0.0) if kind == "free" else a
        b.joint(f"joint{i}", kind, parent, name, **options)
        names.append(name)
    return b.build()


def random_state(robot, seed, speed=1.0):
    """(q, v) at random."""
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), speed * rng.normal(size=robot.nv)


few = settings(max_examples=25, deadline=None)


def hinge_ball_slide():
    """Three bodies on a hinge, a ball and a sliding joint: nq 6, nv 5."""
    b = MechanismBuilder("arm")
    for name in ("one", "two", "three"):
        b.body(name, mass=1.0, inertia=0.1)
    b.revolute("hinge", "world", "one", axis="x")
    b.spherical("ball", "one", "two", position=(0, 0, 1))
    b.prismatic("slide", "two", "three", axis="x")
    return b.build()


def trees(most=6, **properties):
    """A Hypothesis strategy for `random_tree` of at most `most` bodies; the first joint is a hinge."""
    kinds = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4, unique=True)
    return st.builds(
        lambda seed, bodies, kinds, branching: random_tree(
            seed, bodies, ("revolute", *kinds), branching=branching, **properties
        ),
        st.integers(0, 10**6),
        st.integers(1, most),
        kinds,
        st.sampled_from([0.0, 0.5, 1.0]),
    )


seeds = st.integers(0, 10**6)
