"""Compile a mechanism to the arrays of its model in maximal coordinates."""
