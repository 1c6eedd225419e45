"""Contact impulses in joint coordinates: complementarity, islands, restitution, torsional and rolling friction."""
