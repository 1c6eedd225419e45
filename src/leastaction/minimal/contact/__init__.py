"""Steps of the body-wise rule of order 2, all of a step in two sweeps over the bodies.

The equations are those of `minimal.galerkin_bodies` (see there), whose functions of one body serve here too. What
differs is how little is kept: bodies are numbered depth first, so the articulated block of a body is still in registers
when its parent comes next, and only the first blocks that meet at a branch wait in memory. That is what a GPU wants:
one thread per robot, its work in registers and local memory. `robot_model` and `robot_arrays` say what a robot needs;
the arrays are those of NumPy or local ones of a CUDA thread, of 64 or 32 bits. A joint with several degrees of freedom
is eliminated one by one, as if massless links lay between them: Gaussian elimination of its block.
"""
