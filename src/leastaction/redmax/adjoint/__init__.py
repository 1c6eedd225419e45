"""The adjoint method over runs in reduced coordinates (Sueda 2021, 3.5)."""
