"""Contact between any convex shapes: the direction that parts them best, then what of them meets along it."""
