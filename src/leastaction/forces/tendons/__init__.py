"""Tendons and cables: paths, lengths and forces."""
