"""Controls of a run, and the actuators that they pass through."""
