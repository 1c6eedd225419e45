"""Sueda 2021

Analytically differentiable articulated rigid body dynamics (course notes). `BDF`, `SDIRK2`, the adjoint method,
staggered projections.
"""
