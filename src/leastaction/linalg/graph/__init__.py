"""Factorisation of block-sparse systems along their graph (Brüdigam 2020; 2023, Section 4)."""
