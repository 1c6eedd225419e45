"""Contact detection of `Minimal`: candidate pairs, gaps, normals, and tunnelling."""
