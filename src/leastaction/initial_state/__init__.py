"""The initial state of a run: names to numbers, limits, loops, penetration, prescribed motions."""
