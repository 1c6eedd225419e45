"""Contact: which shapes may touch, where, and how far apart they are."""
