"""Brüdigam, Sosnowski, Manchester, Hirche 2023

Variational integrators and graph-based solvers for multibody dynamics in maximal coordinates, Multibody System
Dynamics 2023. `Maximal()` with contact, friction and loops.
"""
