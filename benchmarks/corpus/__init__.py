"""Corpus of random contact scenes.

Families of random scenes with fixed seeds: one table for each contact integrator, one of gradients through landings,
and one of restarted runs. `python -m benchmarks.corpus.compare OLD NEW` prints two results of a table side by side;
`benchmarks/corpus/baseline/` has the reference results for comparisons.
"""
