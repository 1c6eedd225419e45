"""Bodies that fly and fall: a free rigid body, a cube over the ground, a chain of balls."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose, Sphere, solid_sphere
from leastaction.mechanism._check import positive
from leastaction.robots._parts import checked, count, ground_plane, segment


@checked
def free_body(
    mass: float = 1.0, moments: ArrayLike = (0.7, 1.1, 1.6), *, gravity: ArrayLike = (0.0, 0.0, 0.0)
) -> Mechanism:
    """One rigid body that moves freely, by default without gravity (Euler's top).

    With moments=(1, 2, 3) and a spin about the middle axis it tumbles as Dzhanibekov's wing nut does.
    Coordinates: (x, y, z, qw, qx, qy, qz); velocity is the twist in the body's frame, angular first.

    Args:
        mass: [kg].
        moments: about the centre of mass, which is the body's origin [kg m^2], as in `Inertia`.
        gravity: [m/s^2], 3 numbers.
    """
    inertia = Inertia(positive(mass, "mass"), (0, 0, 0), moments)
    # The uniform box with the same principal moments is what a viewer shows.
    values, frame = inertia.principal()
    squares = 6.0 / mass * (values.sum() - 2.0 * values)
    size = tuple(np.sqrt(np.maximum(squares, 1e-4)).tolist())
    b = MechanismBuilder("free_body", gravity=gravity)
    b.body("body", inertia=inertia, shapes=Box(size, pose=frame, collision=False))
    b.free("body", name="base")
    return b.build()


@checked
def cube(*, edge: float = 0.5, mass: float = 1.0, friction: float = 0.2, restitution: float = 0.0) -> Mechanism:
    """A uniform cube with eight contact points at its corners, over the ground z = 0.

    The box drop of Brüdigam 2023 (Fig. 7d): edge 0.5 m, 1 kg; there it starts 0.4 m above the ground, at home it stands
    on it. Coordinates: (x, y, z, qw, qx, qy, qz) of its centre.

    Args:
        edge: length of the edges [m].
        mass: [kg].
        friction: Coulomb coefficient of every corner.
        restitution: Newton's coefficient of every corner.
    """
    b = MechanismBuilder("cube")
    b.body("cube", mass=mass, shapes=Box((edge, edge, edge)))
    b.free("cube", name="base")
    for k, signs in enumerate(itertools.product((-0.5, 0.5), repeat=3), start=1):
        corner = tuple(edge * s for s in signs)
        b.contact(f"corner{k}", "cube", corner, friction=friction, restitution=restitution)
    b.home({"base.z": 0.5 * edge})
    ground_plane(b)
    return b.build()


@checked
def sphere_chain(
    links: int = 5, *, radius: float = 0.25, mass: float = 1.0, spacing: float = 1.0, friction: float = 1.0
) -> Mechanism:
    """Balls over the ground z = 0 on ball joints, each joint at the centre of the ball before.

    The n-sphere chain of Brüdigam 2023 (Fig. 8b): radius 0.25 m, 1 kg, centres 1 m apart. Coordinates: (x,
    y, z, qw, qx, qy, qz) of the first ball, then one unit quaternion per ball; at home the chain rises
    along x by 45 degrees from the first ball, on the ground.

    Args:
        links: number of balls.
        radius: of the balls, which touch the ground [m].
        mass: of each ball [kg].
        spacing: distance of the centres [m].
        friction: Coulomb coefficient of every ball.
    """
    b = MechanismBuilder("sphere_chain")
    parent, joint_at = "world", (0.0, 0.0, 0.0)
    for k in range(1, count(links, "links") + 1):
        centre = (0.0 if k == 1 else spacing, 0.0, 0.0)
        string = () if k == 1 else (segment((0, 0, 0), centre, 0.1 * radius),)
        name = b.body(
            f"ball{k}",
            inertia=solid_sphere(mass, radius, com=centre),
            shapes=(Sphere(radius, pose=Pose(centre)), *string),
        )
        if k == 1:
            b.free(name, name="base")
        else:
            b.spherical(f"joint{k}", parent, name, position=joint_at)
        b.contact(f"contact{k}", name, centre, radius=radius, friction=friction)
        parent, joint_at = name, centre
    turn = math.pi / 8  # half of the slope of 45 degrees
    b.home({"base.z": radius, "base.qw": math.cos(turn), "base.qy": -math.sin(turn)})
    ground_plane(b)
    return b.build()
