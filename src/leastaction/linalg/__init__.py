"""Linear algebra of the kernels: small dense blocks, kept factors, and the LDU along a graph."""
