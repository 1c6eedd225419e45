"""Forces in a step of `Maximal`: springs, dampers, drives and tendons, and their discrete gradients."""
