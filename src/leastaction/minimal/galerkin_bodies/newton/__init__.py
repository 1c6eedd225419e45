"""Newton directions of the body-wise rule: the recursion over the tree, and a dense one."""
