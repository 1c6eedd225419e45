"""Step control of all formulations: acceptance test of steps, and bisection of rejected ones."""
