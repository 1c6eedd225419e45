"""Villanueva-Piñón, Arechavaleta 2025

DMOC-based robot trajectory optimization with analytical first-order information, AMCS 2025. `Midpoint()` and
`la.optimize`.
"""
