"""Derivatives of steps and runs in body coordinates."""
