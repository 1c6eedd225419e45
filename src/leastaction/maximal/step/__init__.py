"""One step in body coordinates: its equations, their Newton system, and the loops over many steps."""
