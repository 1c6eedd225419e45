"""Benchmarks: the figures and tables of papers, in folders, and races against peers. Run `python -m benchmarks --help`.

A benchmark is a module below this folder with a function `run(progress)` that gives back a `Report`; if it takes
`quick`, it has a short version. The docstring of a folder is the head of its page in the documentation.
"""
