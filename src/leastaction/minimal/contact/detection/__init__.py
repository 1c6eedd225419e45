"""Contacts of a robot in a step of `Minimal`: which pairs are looked at, gaps, normals, and tunnelling."""
