"""Vector-Jacobian products (vjp) of the equations of a step: cotangents of what they are functions of."""
