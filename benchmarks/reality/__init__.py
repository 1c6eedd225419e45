"""Reality

A real cube on a real board beside its simulations.
"""
