"""Pendulums, the cart-pole, the acrobot and the heavy top."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, solid_box, solid_sphere
from leastaction.mechanism._check import choice, made
from leastaction.robots._parts import checked, count, segment, thin_rod

JOINTS = ("revolute", "spherical", "universal")
SHAPES = ("rod", "point")


def _bob(joint: str, mass: float, length: float, radius: float) -> dict[str, Any]:
    # A ball joint needs some inertia about the string, so there the bob is a small ball instead of a point.
    com = (0.0, 0.0, -length)
    inertia = solid_sphere(mass, radius, com=com) if joint == "spherical" else Inertia(mass, com)
    return {"inertia": inertia, "shapes": (segment((0, 0, 0), com, 0.25 * radius), segment(com, com, radius))}


def _hang(b: MechanismBuilder, links: int, joint: str, shape: str, mass: float, length: float, radius: float) -> None:
    parent, position = "world", (0.0, 0.0, 0.0)
    for k in range(1, links + 1):
        link = thin_rod(mass, length, radius) if shape == "rod" else _bob(joint, mass, length, radius)
        name = b.body(f"link{k}", **link)
        axis = {"revolute": "y", "universal": ("x", "y"), "spherical": None}[joint]
        b.joint(f"joint{k}", joint, parent, name, axis=axis, position=position)
        parent, position = name, (0.0, 0.0, -length)


@checked
def pendulum(
    links: int = 1,
    *,
    joint: str = "revolute",
    shape: str = "rod",
    length: float = 1.0,
    mass: float = 1.0,
    radius: float = 0.02,
    name: str = "pendulum",
) -> Mechanism:
    """A chain of equal links that hangs from the origin along -z at q = 0.

    The n-link pendulum of Fan 2018 and Brüdigam 2020, 2023. With `shape="point"` and one link it is problem
    A01 of the IFToMM benchmark library (started at q = pi/2).

    Coordinates: one angle [rad] about y per link, relative to the link before (`joint="revolute"`: motion in
    the x-z plane); two angles about x and y (`"universal"`); a unit quaternion (`"spherical"`).

    Args:
        links: number of links.
        joint: "revolute", "universal" or "spherical".
        shape: "rod", uniform thin rods with moments m l^2/12; or "point", massless strings with a point mass
            at the end of each. On ball joints a point mass would leave the mass matrix singular, so there it
            is a ball.
        length: of each link [m].
        mass: of each link [kg].
        radius: of rods and bobs [m]. A rod's moment about its own axis is m r^2/2; planar motion does not see
            it.
        name: of the robot.
    """
    choice(joint, JOINTS, "joint")
    choice(shape, SHAPES, "shape")
    b = MechanismBuilder(name)
    _hang(b, count(links, "links"), joint, shape, mass, length, radius)
    return b.build()


@checked
def double_pendulum(*, shape: str = "rod", length: float = 1.0, mass: float = 1.0) -> Mechanism:
    """Two equal links on hinges about y, hanging along -z at q = 0; see `pendulum`.

    Links of 1 m and 1 kg, as in the energy experiments of Brüdigam 2020 (Fig. 4a) and 2023 (Fig. 7b).
    """
    return pendulum(2, shape=shape, length=length, mass=mass, name="double_pendulum")


@checked
def cart_pole(*, cart_mass: float = 1.0, pole_mass: float = 0.1, pole_length: float = 1.0) -> Mechanism:
    """A cart on a rail along x with a pole that hangs down at q = 0; only the cart is driven.

    Default masses and length: Barto, Sutton and Anderson, IEEE Trans. SMC 13 (1983). The pole is a uniform
    rod. Coordinates: x of the cart [m], angle of the pole about y [rad]; upright is pi. Control: force on the
    cart [N].

    Args:
        cart_mass, pole_mass: [kg].
        pole_length: full length [m].
    """
    b = MechanismBuilder("cart_pole")
    size = (0.3, 0.2, 0.15)
    b.body("cart", inertia=solid_box(cart_mass, size), shapes=Box(size, collision=False))
    b.prismatic("rail", "world", "cart", axis="x")
    b.body("pole", **thin_rod(pole_mass, pole_length, 0.02))
    b.revolute("pivot", "cart", "pole", axis="y")
    b.actuator("motor", "rail")
    return b.build()


@checked
def acrobot(*, lengths: tuple[float, float] = (1.0, 2.0), masses: tuple[float, float] = (1.0, 1.0)) -> Mechanism:
    """Two uniform rods on hinges about y, hanging along -z at q = 0; only the elbow is driven.

    Default figures: Spong, IEEE Control Systems 15 (1995): l = 1 and 2 m, m = 1 and 1 kg, I = 0.083 and 0.33
    kg m^2. Coordinates: shoulder and elbow angles [rad]. Control: torque at the elbow [N m].

    Args:
        lengths: of upper and lower link [m].
        masses: of upper and lower link [kg].
    """
    b = MechanismBuilder("acrobot")
    b.body("upper", **thin_rod(masses[0], lengths[0], 0.04))
    b.revolute("shoulder", "world", "upper", axis="y")
    b.body("lower", **thin_rod(masses[1], lengths[1], 0.04))
    b.revolute("elbow", "upper", "lower", axis="y", position=(0, 0, -lengths[0]))
    b.actuator("motor", "elbow")
    return b.build()


@checked
def heavy_top(
    *, mass: float = 1.0, com: ArrayLike = (0.0, 0.0, 0.5), moments: ArrayLike = (0.1, 0.1, 0.05)
) -> Mechanism:
    """A rigid body on a ball joint at the origin; by default Lagrange's top, above its support.

    With com=(0, 0, -0.5), moments=(0.1, 0.2, 0.3) it is an asymmetric body that hangs, which no closed form
    describes. Coordinates: unit quaternion (w, x, y, z); velocity is the angular velocity in the body's frame
    [rad/s].

    Args:
        mass: [kg].
        com: centre of mass in the body's frame [m].
        moments: about the centre of mass [kg m^2], as in `Inertia`.
    """
    b = MechanismBuilder("heavy_top")
    shapes = segment((0, 0, 0), com, 0.02), segment(com, com, 0.15)
    b.body("top", inertia=made(Inertia, mass, com, moments), shapes=shapes)
    b.spherical("support", "world", "top")
    return b.build()
