"""Whether a substep is accepted: energy balance, rotation bound, and the return to its start where it is rejected."""
