"""Where links are and how they move: the records and sweeps that dynamics and forces stand on."""
