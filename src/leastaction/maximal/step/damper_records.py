"""Record types of `dampers`."""

import numpy as np

PATH_STATE = np.dtype([("length", "f8"), ("rate", "f8"), ("first", "i8")], align=True)
"""Length at the start of the step [m], its mean rate [m/s], and the first of the path's `edges`."""

POINT_STATE = np.dtype([("f", "f8", 3), ("w", "f8", 6), ("e", "f8", 6)], align=True)
"""Gradient of the length by a point: in the world, on its body at the start, and as a row at the end of the step."""
