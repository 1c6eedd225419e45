"""The linear system of an interior-point iteration: a multifrontal LDL' along the horizon."""
