"""Kinds of cones of the contact problem, and how many impulses a contact has."""

CONTACT, LIMIT, DRY, TIE, LOOP = range(5)
"""A contact with Coulomb's friction; a limit, which pushes one way; dry friction of a joint, which is bounded; a spring
that ties bodies; the equation of a closed loop, whose impulse may have either sign."""

PLAIN, TURNING = 3, 6
"""Impulses of a contact: along normal and tangents; and about them where it resists spinning or rolling."""
