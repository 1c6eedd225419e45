"""Linearly implicit integrators with constraints, contact and friction (Sueda 2021, 2.3 to 2.11)."""
