"""How a mechanism is put together: the builder, its spanning tree, attached robots, deformable bodies, validation."""
