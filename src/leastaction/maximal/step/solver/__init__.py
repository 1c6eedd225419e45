"""Solving a step: Newton, interior point, semismooth Newton, and the crossover between them."""
