"""Step control of all formulations: which steps are accepted, and how the others are bisected."""
