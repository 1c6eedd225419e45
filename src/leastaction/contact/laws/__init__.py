"""Laws of contact: complementarity, Coulomb friction, compliance, restitution, static friction, tunnelling."""
