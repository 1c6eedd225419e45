"""Forces, each written once for all formulations."""
