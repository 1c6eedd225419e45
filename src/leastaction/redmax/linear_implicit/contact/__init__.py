"""Contact and friction in linearly implicit steps: staggered projections and quadratic programs (Sueda 2021, 2.11)."""
