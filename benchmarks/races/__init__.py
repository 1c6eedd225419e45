"""Races

Work-precision comparisons with peers: error against CPU time, for whole motions from random starts.
"""
