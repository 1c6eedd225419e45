"""Second derivatives of the Lagrangian."""
