"""Galerkin integrators that interpolate the poses of the bodies and solve for joint coordinates at the nodes."""
