"""Derivatives of steps of `Minimal` by state, controls and parameters, through its contacts.

A solved step is differentiated by the implicit function theorem: the equations of the body-wise rule
(`smooth_equations`), whose second derivatives `minimal.galerkin_bodies` provides, and the active contact laws
(`contact_laws`, `stop_laws`), with the modes stick, slip and open of the solution. `substep_map` combines both,
`step_replay` solves the steps of a run again with their substeps, and `backward_pass` is the adjoint of a run.
"""
