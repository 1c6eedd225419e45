"""URDF and xacro: reading, and writing URDF."""
