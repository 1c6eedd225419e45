"""Any integrator's own kernels on a GPU, one thread per robot: slower than `minimal.contact`, for nearly all."""
