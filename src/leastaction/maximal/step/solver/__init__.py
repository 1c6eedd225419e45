"""Solvers of a step: Newton, semismooth Newton, Newton with the Delassus contact problem, and interior point."""
