"""Fan, Schultz, Murphey 2018

Efficient computation of higher-order variational integrators in robotic simulation and trajectory optimization, WAFR
2018. `Galerkin(order, interpolation="joints")`: O(n) evaluation and Newton direction of the discrete Euler-Lagrange
equations, O(n²) linearization.
"""
