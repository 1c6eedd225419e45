"""Solvers of nonlinear programs: IPOPT, and the package's own along the horizon."""
