"""USD: reading."""
