"""Reduced coordinates r: charts of ball joints, splines, and the kinematics of the nodes through them."""
