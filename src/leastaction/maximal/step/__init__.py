"""One time step in maximal (body) coordinates: its equations, their Newton system, and the loop over many steps."""
