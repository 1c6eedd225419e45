"""Contact of general convex shapes: best separating direction, then the features that meet along it."""
