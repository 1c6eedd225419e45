"""What drives a robot: actuators, servos, muscles, tendons, and controls as generalised forces."""
