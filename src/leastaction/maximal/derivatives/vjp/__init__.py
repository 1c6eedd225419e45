"""Vector-Jacobian products (VJPs) of the equations of a step."""
