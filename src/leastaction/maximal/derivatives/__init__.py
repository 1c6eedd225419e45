"""Derivatives of steps and runs in maximal coordinates."""
