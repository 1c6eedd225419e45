"""What holds a robot in an optimal control problem: closed loops, feet in phases, contact-implicit constraints."""
