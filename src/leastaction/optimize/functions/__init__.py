"""Functions of a motion: costs, constraints, and the kinematics that they are made of."""
