"""Forces of a step of `Minimal`: controls, joint springs and dampers, springs, cables and tendons."""
