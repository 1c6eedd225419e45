"""Penetration at the start of a run or of a step: how it is found, resolved and reported."""
