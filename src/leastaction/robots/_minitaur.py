"""Minitaur."""

from __future__ import annotations

import math

from leastaction.mechanism import Box, Inertia, Mechanism, MechanismBuilder, Pose, solid_box
from leastaction.robots._parts import base, checked, ground_plane, hinge_loop, segment, stand, turned

_UPPER, _LOWER = 0.115, 0.2  # lengths of the links [m]
_CANT = math.radians(5.0)  # each side of the chassis, and with it its legs' planes, leans outwards
# Out of the leg's plane sit motor, upper and lower link [m]: towards the outside, and towards the inside.
_OFFSETS = {"outer": (0.030, 0.015, 0.005), "inner": (-0.035, -0.020, -0.010)}


def _motor_and_upper(outwards: float, half: str) -> Inertia:
    """Rotor (0.25 kg, outrunner, radius 43.4 mm) about the hip's axis y and the upper link along -z."""
    motor, link, _ = _OFFSETS[half]
    radius, width = 0.0434, 0.026
    side = 0.25 * (3 * radius**2 + width**2) / 12.0
    rotor = Inertia(0.25, (0, outwards * motor, 0), (side, 0, 0, 0.5 * 0.25 * radius**2, 0, side))
    bar = solid_box(0.05, (0.01, 0.01, 0.11), com=(0.0, outwards * link, -0.06))
    return Inertia.from_parts([(rotor, Pose()), (bar, Pose())])


@checked
def minitaur(
    *, floating: bool = True, ground: bool = False, friction: float = 1.0, closure: str = "in_plane"
) -> Mechanism:
    """Minitaur, the direct-drive quadruped with five-bar legs: 14 degrees of freedom, 6 kg.

    Kenneally, De and Koditschek, IEEE RA-L 1 (2016); the example of closed loops in Brüdigam 2020 (Fig. 7).
    Masses and lengths as published with Bullet (zlib licence), moments of inertia of uniform solids of those
    sizes (the published ones are placeholders). In each leg two motors share one axis; each turns an upper
    link with a lower link at its end, and the two lower links are joined at the foot. x points forward, z up;
    at q = 0 upper links point forward and backward, and all loops are closed.

    Coordinates: base (x, y, z, qw, qx, qy, qz) of the chassis; then for each leg (front left, front right,
    back left, back right) the motor and knee angles [rad] of the forward and of the backward half. Controls:
    torques of the eight motors [N m], within 3.5 N m.

    Args:
        floating: False welds the chassis to the world.
        ground: add the ground z = 0, which the feet and the chassis touch.
        friction: Coulomb coefficient of the feet.
        closure: see `four_bar`.
    """
    b = MechanismBuilder("minitaur")
    chassis = [(solid_box(3.0, (0.33, 0.1, 0.07)), Pose())]
    for y in (0.1, -0.1):
        chassis.append((solid_box(0.1, (0.34, 0.08, 0.04)), turned("x", math.copysign(_CANT, y), (0.0, y, 0.0))))
    touching = {"collision": ground, "friction": friction}
    pictures = (Box((0.33, 0.1, 0.07), **touching), Box((0.17, 0.3, 0.05), **touching))
    b.body("chassis", inertia=Inertia.from_parts(chassis), shapes=pictures)
    base(b, "chassis", floating)
    # With level upper links, the lower links make an isosceles triangle: its half angle at the foot.
    half_angle = math.asin(_UPPER / _LOWER)
    tip = (0.0, 0.0, -_LOWER)
    for leg, x, outwards in (
        ("front_left", 1, 1),
        ("front_right", 1, -1),
        ("back_left", -1, 1),
        ("back_right", -1, -1),
    ):
        side = turned("x", outwards * _CANT, (0.21 * x, 0.1 * outwards, 0.0))
        hip = side * Pose((0.0, -0.005 * outwards, 0.0))
        for half, place, sign in (("forward", "outer", 1.0), ("backward", "inner", -1.0)):
            upper, lower = f"{leg}_{half}_upper", f"{leg}_{half}_lower"
            shape = segment((0, 0, 0), (0, 0, -_UPPER), 0.008)
            b.body(upper, inertia=_motor_and_upper(outwards, place), shapes=shape)
            raised = hip * turned("y", -sign * 0.5 * math.pi)
            b.revolute(f"{leg}_{half}_motor", "chassis", upper, axis="y", pose=raised, effort_limit=3.5)
            com = (0.0, outwards * _OFFSETS[place][2], -0.5 * _LOWER)
            bar = solid_box(0.05, (0.01, 0.01, _LOWER), com=com)
            b.body(lower, inertia=bar, shapes=segment((0, 0, 0), tip, 0.006))
            knee = turned("y", sign * (0.5 * math.pi + half_angle), (0.0, 0.0, -_UPPER))
            b.revolute(f"{leg}_{half}_knee", upper, lower, axis="y", pose=knee)
            b.actuator(f"{leg}_{half}_motor", f"{leg}_{half}_motor", limits=(-3.5, 3.5))
        ends = (f"{leg}_forward_lower", tip), (f"{leg}_backward_lower", tip)
        hinge_loop(b, f"{leg}_foot_joint", ends, "y", closure)
        b.contact(f"{leg}_foot", f"{leg}_forward_lower", tip, radius=0.01, friction=friction)
    if ground:
        ground_plane(b)
    stand(b, floating, 0.1734437963, {})
    return b.build()
