"""Explicit integrators on top of forward dynamics, to compare with."""
