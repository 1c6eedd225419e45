"""Linear algebra for kernels: small dense matrices, stored factors, and the LDU factorisation on a graph."""
