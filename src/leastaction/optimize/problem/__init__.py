"""Optimal control problems: what is asked of a motion, and problems in files."""
