"""Galerkin and midpoint integrators that interpolate the joint coordinates (Fan 2018), with loops."""
