"""Impulses of contacts in joint coordinates: complementarity, islands, restitution, torsional and rolling friction."""
