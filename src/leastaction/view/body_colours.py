"""Colours: what a body without a colour of its own looks like."""

from __future__ import annotations

from leastaction.mechanism.shapes import Sphere

Color = tuple[float, float, float, float]

PLAIN: Color = Sphere(1.0).color
"""The colour of shapes that were given none."""

ROBOT: tuple[Color, ...] = (
    (0.93, 0.58, 0.16, 1.0),
    (0.21, 0.38, 0.58, 1.0),
    (0.80, 0.83, 0.87, 1.0),
)
"""Amber, steel blue and light grey, by the depth of a body in the tree."""

RUNS: tuple[Color, ...] = (
    (0.00, 0.45, 0.70, 1.0),
    (0.84, 0.37, 0.00, 1.0),
    (0.00, 0.62, 0.45, 1.0),
    (0.80, 0.47, 0.65, 1.0),
    (0.90, 0.62, 0.00, 1.0),
    (0.34, 0.71, 0.91, 1.0),
)
"""Okabe and Ito's colours, one for each of several runs: the same as in the plots."""

HUB: Color = (0.19, 0.21, 0.25, 1.0)
RUBBER: Color = (0.13, 0.13, 0.14, 1.0)
RAIL: Color = (0.55, 0.58, 0.62, 1.0)
GROUND: Color = (0.72, 0.73, 0.70, 1.0)
AXIS: Color = (0.85, 0.10, 0.35, 1.0)
FORCE: Color = (0.86, 0.16, 0.16, 1.0)
CONTACT: Color = (0.95, 0.80, 0.10, 1.0)
SPRING: Color = (0.42, 0.45, 0.50, 1.0)
CABLE: Color = (0.25, 0.22, 0.20, 1.0)
LOOP: Color = (0.75, 0.20, 0.55, 1.0)


def shade(color: Color, depth: int) -> Color:
    """A colour made lighter for every other depth of the tree, so that neighbours can be distinguished."""
    mix = (0.0, 0.4, 0.2)[depth % 3]
    r, g, b, a = color
    return (r + (1.0 - r) * mix, g + (1.0 - g) * mix, b + (1.0 - b) * mix, a)


def hexadecimal(color: Color) -> str:
    """A colour as CSS and matplotlib write it, such as "#0072b3"."""
    return "#" + "".join(f"{round(255 * max(0.0, min(1.0, x))):02x}" for x in color[:3])
