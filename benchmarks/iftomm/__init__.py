"""IFToMM benchmarks

The library of multibody benchmark problems, A01 to A05: accuracy against CPU time for every formulation that supports
them.
"""
