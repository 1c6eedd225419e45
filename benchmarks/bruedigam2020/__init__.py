"""Brüdigam, Manchester 2020

Linear-time variational integrators in maximal coordinates, WAFR 2020. `Maximal()`: bodies as coordinates, joints as
constraints, a sparse factorisation along the graph.
"""
