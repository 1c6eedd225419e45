"""Between joint coordinates and the poses and momenta of bodies."""
