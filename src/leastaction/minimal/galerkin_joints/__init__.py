"""Galerkin and midpoint steps that interpolate the joint coordinates (Fan 2018), with loops."""
