"""Conversion between joint coordinates and the poses and momenta of bodies."""
