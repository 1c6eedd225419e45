"""Reality

A real cube thrown on a real board (40 tosses of ContactNets: Pfrommer, Halm, Posa 2020), compared with simulations by
this package and by peers.
"""
