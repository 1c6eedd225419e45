"""What a run was: `Trajectory`, its slices, its bodies, its contacts, and the checks of stored runs."""
