"""Benchmarks: races against peers and the figures of the papers. Run `python -m benchmarks --help`.

A benchmark is a module of this package with a function `run(progress)` that gives back a `Report`.
"""
