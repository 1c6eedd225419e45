"""Contact: collision filtering, broad and narrow phase, contact laws and their solver."""
