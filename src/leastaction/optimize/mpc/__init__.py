"""Model predictive control, and feedback along a plan."""
