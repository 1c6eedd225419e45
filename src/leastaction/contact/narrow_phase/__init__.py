"""Narrow phase: gaps, normals and contact points of pairs of shapes."""
