"""Tendons and cables: their paths and lengths, and the forces along them."""
