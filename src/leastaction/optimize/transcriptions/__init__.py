"""Problems as nonlinear programs: unknowns, equations, and derivatives in sparse matrices."""
