"""Narrow phase: gaps, normals and contact points of two shapes."""
