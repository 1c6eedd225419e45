"""Shooting: controls are the unknowns, states follow from them step by step."""
