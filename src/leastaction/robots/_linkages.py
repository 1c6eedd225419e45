"""Planar closed loops: four-bars, the three-link loop, chains of loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism, MechanismBuilder
from leastaction.mechanism._check import choice, vector
from leastaction.robots._parts import box_rod, checked, count, hinge_loop, thin_rod, turned

# Links hang along -z of their own frames and turn about -y, so that an angle a from the downward vertical
# puts the end of a link of length l at x = l sin(a), z = -l cos(a).
HINGE = "-y"


def _absolute_angles(lengths: Any, ground: float, crank: float, assembly: str) -> tuple[float, float, float]:
    """Angles of crank, coupler and rocker from the downward vertical in which the loop closes."""
    a, b, c = lengths
    x, z = a * math.sin(crank), -a * math.cos(crank)
    dx, dz = ground - x, -z
    d = math.hypot(dx, dz)
    if not abs(b - c) < d < b + c:
        raise MechanismError(
            f"coupler ({b:g} m) and rocker ({c:g} m) cannot meet over {d:g} m at crank angle {crank:g} rad"
        )
    # Angle at the crank's end between the line to the rocker's pivot and the coupler (law of cosines).
    corner = math.acos((d * d + b * b - c * c) / (2.0 * d * b)) * (1.0 if assembly == "above" else -1.0)
    slope = math.atan2(dz, dx) + corner
    tip_x, tip_z = x + b * math.cos(slope), z + b * math.sin(slope)
    return crank, slope + 0.5 * math.pi, math.atan2(tip_x - ground, -tip_z)


def _four_bar(
    name: str,
    lengths: Any,
    masses: Any,
    ground: float,
    crank: float,
    assembly: str,
    closure: str,
    link: Callable[[float, float], dict[str, Any]],
) -> Mechanism:
    choice(assembly, ("below", "above"), "assembly")
    masses = lengths if masses is None else vector(masses, 3, "masses")
    a1, a2, a3 = _absolute_angles(lengths, ground, crank, assembly)
    ends = [(0.0, 0.0, -length) for length in lengths]
    b = MechanismBuilder(name)
    for label, mass, length in zip(("crank", "coupler", "rocker"), masses, lengths, strict=True):
        b.body(label, **link(mass, length))
    b.revolute("crank_joint", "world", "crank", axis=HINGE, pose=turned(HINGE, a1))
    b.revolute("coupler_joint", "crank", "coupler", axis=HINGE, pose=turned(HINGE, a2 - a1, ends[0]))
    b.revolute("rocker_joint", "world", "rocker", axis=HINGE, pose=turned(HINGE, a3, (ground, 0.0, 0.0)))
    hinge_loop(b, "closure", (("coupler", ends[1]), ("rocker", ends[2])), HINGE, closure)
    return b.build()


@checked
def four_bar(
    *,
    lengths: tuple[float, float, float] = (1.0, 2.0, 1.0),
    masses: tuple[float, float, float] | None = None,
    ground: float = 2.0,
    crank_angle: float = 0.7,
    assembly: str = "below",
    closure: str = "in_plane",
    radius: float = 0.02,
) -> Mechanism:
    """A planar four-bar linkage of uniform thin rods, hanging in the x-z plane; by default a parallelogram.

    The parallelogram moves exactly as (m1/3 + m2 + m3/3) l a'' = -(m1/2 + m2 + m3/2) g sin(a) for the angle a
    of its cranks. With lengths=(1, 2, 1.5), crank_angle=-0.6 it is a general four-bar.

    Coordinates: crank, coupler relative to crank, rocker [rad], counted from the start: q = 0 is the closed
    configuration with the crank at `crank_angle`. Positive angles swing from -z towards +x.

    Args:
        lengths: of crank, coupler and rocker [m].
        masses: of crank, coupler and rocker [kg]; default 1 kg per metre.
        ground: distance along x from the crank's pivot, the origin, to the rocker's [m].
        crank_angle: of the crank from the downward vertical at q = 0 [rad].
        assembly: "below" or "above": on which side of the line from the crank's end to the rocker's pivot the
            joint of coupler and rocker lies.
        closure: "in_plane" (two independent equations) or "revolute" (five, three of them redundant).
        radius: of the rods [m]; see `pendulum`.
    """
    link = lambda mass, length: thin_rod(mass, length, radius)  # noqa: E731
    return _four_bar("four_bar", lengths, masses, ground, crank_angle, assembly, closure, link)


@checked
def three_link_loop(*, closure: str = "in_plane") -> Mechanism:
    """The closed loop of three links in the drift experiments of Brüdigam 2020 (Fig. 4b) and 2023 (Fig. 7a).

    Square bars of 1, sqrt(2)/2 and 1 m with 1 kg per metre and a section of 0.1 m x 0.1 m, pivots 1 m apart,
    standing on their pivots: the third link is upright. Coordinates as in `four_bar`; q = 0 is the
    experiment's start.

    Args:
        closure: see `four_bar`.
    """
    short = math.sqrt(0.5)
    # The third link ends at (1, 1); the first one ends 1 m from the origin and sqrt(2)/2 m from there.
    x = 0.5 * (1.25 - math.sqrt(0.4375))
    crank = math.atan2(x, x - 1.25)
    link = lambda mass, length: box_rod(mass, length, 0.1)  # noqa: E731
    return _four_bar("three_link_loop", (1.0, short, 1.0), None, 1.0, crank, "above", closure, link)


@checked
def four_bar_chain(
    segments: int = 3,
    *,
    length: float = 1.0,
    mass: float = 1.0,
    opening: float = math.pi / 8,
    closure: str = "in_plane",
) -> Mechanism:
    """A chain of closed segments of four equal links each, hanging from the origin in the x-z plane.

    Fig. 6 of Brüdigam 2020 and Fig. 9a of Brüdigam 2023: square bars of 1 m, 1 kg with a section of 0.1 m x
    0.1 m. Every segment is a rhombus with half angle `opening`; two links start at its upper corner, two meet
    at its lower corner, from which the next one hangs. At the start segments lean by pi/4, the last one by
    pi/2.

    Coordinates: angles [rad] relative to the link before, counted from that start, which is q = 0.

    Args:
        segments: number of closed segments; there are four links in each.
        length: of each link [m].
        mass: of each link [kg].
        opening: half angle at the upper corner of each rhombus at q = 0 [rad].
        closure: see `four_bar`.
    """
    n = count(segments, "segments")
    link = box_rod(mass, length, 0.1 * length)
    tip = (0.0, 0.0, -length)
    b = MechanismBuilder("four_bar_chain")
    parent, at, before = "world", (0.0, 0.0, 0.0), 0.0
    for k in range(n):
        outer = opening + (0.5 if k == n - 1 else 0.25) * math.pi
        names = [b.body(f"link{4 * k + j}", **link) for j in (1, 2, 3, 4)]
        first, second, third, fourth = names
        b.revolute(f"joint{4 * k + 1}", parent, first, axis=HINGE, pose=turned(HINGE, outer - before, at))
        b.revolute(f"joint{4 * k + 2}", first, second, axis=HINGE, pose=turned(HINGE, -2 * opening, tip))
        b.revolute(f"joint{4 * k + 3}", first, third, axis=HINGE, pose=turned(HINGE, -2 * opening))
        b.revolute(f"joint{4 * k + 4}", third, fourth, axis=HINGE, pose=turned(HINGE, 2 * opening, tip))
        hinge_loop(b, f"closure{k + 1}", ((second, tip), (fourth, tip)), HINGE, closure)
        parent, at, before = fourth, tip, outer
    return b.build()


def _n_four_bar(name: str, windows: int, closure: str) -> Mechanism:
    n = count(windows, "windows")
    up, along = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
    b = MechanismBuilder(name)
    for k in range(n + 1):
        b.body(f"crank{k}", **thin_rod(1.0, 1.0, 0.02, up))
        b.revolute(f"A{k}", "world", f"crank{k}", axis="y", position=(float(k), 0.0, 0.0))
    for k in range(n):
        b.body(f"coupler{k}", **thin_rod(1.0, 1.0, 0.02, along))
        b.revolute(f"B{k}", f"crank{k}", f"coupler{k}", axis="y", position=up)
        hinge_loop(b, f"closure{k}", ((f"coupler{k}", along), (f"crank{k + 1}", up)), "y", closure)
    return b.build()


@checked
def n_four_bar(windows: int = 2, *, closure: str = "in_plane") -> Mechanism:
    """Problem A02 of the IFToMM benchmark library: a row of square windows of rods of 1 m and 1 kg.

    Cranks stand upright on pivots (i, 0, 0), couplers join their ends; gravity is along -z. The benchmark
    starts with the crank ends at 1 m/s along x, that is 1 rad/s for cranks (A0, A1, ...) and -1 rad/s for
    couplers (B0, ...). When all links are in line the mechanism is singular: it gains a degree of freedom per
    window.

    Coordinates: angles [rad] about y, cranks absolute, couplers relative to their cranks; q = 0 is the start.

    Args:
        windows: number of windows N; the benchmark has 40. There are 2 N + 1 links.
        closure: see `four_bar`.
    """
    return _n_four_bar("n_four_bar", windows, closure)


@checked
def double_four_bar(*, closure: str = "in_plane") -> Mechanism:
    """`n_four_bar` with two windows, the double four-bar of Brüdigam 2023 (Fig. 12)."""
    return _n_four_bar("double_four_bar", 2, closure)
