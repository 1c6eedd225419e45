"""Maximal coordinates of Sueda 2021: every body by its own pose and twist, to compare reduced coordinates with."""
