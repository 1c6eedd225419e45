"""Races and studies

Against peers, and beyond the papers: error on one axis, CPU time on the other, whole motions from random starts.
"""
