"""Looking at robots."""
