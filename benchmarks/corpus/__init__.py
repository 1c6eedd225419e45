"""Corpus of random contact scenes.

One table for each contact integrator over families of random scenes with fixed seeds, one of the gradients of landings,
and one of restarted runs. `python -m benchmarks.corpus.compare OLD NEW` prints two results of one table side by side;
`benchmarks/corpus/baseline/` has those that later ones are compared with.
"""
