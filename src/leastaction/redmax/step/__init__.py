"""One implicit stage in reduced coordinates: residual, Newton matrix, and the loops over many steps."""
