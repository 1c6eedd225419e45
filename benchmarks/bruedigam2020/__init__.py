"""Brüdigam, Manchester 2020

Linear-time variational integrators in maximal coordinates, WAFR 2020. `Maximal()`: poses of bodies as coordinates,
joints as constraints, block-sparse factorisation along the graph of the mechanism.
"""
