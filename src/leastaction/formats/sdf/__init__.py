"""SDF: reading."""
