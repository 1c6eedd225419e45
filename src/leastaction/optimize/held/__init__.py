"""What holds a robot: closed loops, feet in phases, contacts without a schedule."""
