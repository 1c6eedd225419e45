"""Which steps are accepted."""
