"""Derivatives of steps of `Minimal` by state, controls and parameters, through its contacts.

A solved step is differentiated by the implicit function theorem: by the equations of the body-wise rule (`smooth`),
whose second derivatives `minimal.galerkin_bodies` knows, and by the laws of what touches (`touching`, `laws`) as they
are: what sticks sticks, what slides slides, what is open stays open. `part` puts both together, `replay` solves the
steps of a run again, in the parts that they were solved in, and `reversal` goes back over them.
"""
