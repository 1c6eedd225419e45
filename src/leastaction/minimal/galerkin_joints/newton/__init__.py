"""Newton directions of the joint-wise rule: recursive, tree-sparse, dense, simplified and quasi-Newton."""
