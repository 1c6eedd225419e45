"""Time steps of the body-wise rule of order 2: a whole step in two sweeps over the bodies.

The equations are those of `minimal.galerkin_bodies` (see there), whose functions of one body are used here too. This
implementation stores less: bodies are numbered depth first, so the articulated block of a body is still in registers
when its parent follows, and only the first blocks that meet at a branch are stored. This suits GPUs: one thread per
robot, with its work in registers and local memory. `robot_model` and `robot_arrays` create the arrays of a robot,
which are NumPy arrays or local arrays of a CUDA thread, of 64 or 32 bits. A joint with several degrees of freedom
is eliminated one by one, as if massless links lay between them: Gaussian elimination of its block.
"""
