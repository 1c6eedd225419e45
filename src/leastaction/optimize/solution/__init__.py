"""Solutions: the motion that an optimiser found, how accurate it is, and files of it."""
