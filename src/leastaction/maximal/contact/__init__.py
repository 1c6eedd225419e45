"""Which contacts take part in a step, which were missed, and what to say when one goes wrong."""
