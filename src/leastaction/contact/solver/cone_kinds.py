"""Kinds of constraints (cones) of the contact problem, and the number of impulses of a contact."""

CONTACT, LIMIT, DRY, TIE, LOOP = range(5)
"""A contact with Coulomb friction; a unilateral limit; dry friction in a joint, with a bound; a spring between bodies;
the bilateral constraint of a kinematic loop."""

PLAIN, TURNING = 3, 6
"""Impulses of a contact: normal and two tangential; with torsional or rolling friction also three torques."""
