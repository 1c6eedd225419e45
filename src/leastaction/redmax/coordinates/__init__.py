"""Reduced coordinates: charts of ball joints, splines, and the kinematics through them."""
