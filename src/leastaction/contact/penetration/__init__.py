"""Penetration at the start of a run or of a step: detection, resolution, messages."""
