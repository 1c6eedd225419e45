"""How robots, runs and progress look in terminals and notebooks."""
