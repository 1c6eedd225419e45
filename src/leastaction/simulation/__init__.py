"""The front door: `simulate`, `Simulator`, a single `step`, and what goes along with them."""
