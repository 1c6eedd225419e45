"""MJCF: reading through MuJoCo's compiler, and writing."""
