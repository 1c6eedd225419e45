"""Parameters of a mechanism by name, and differences by them."""
