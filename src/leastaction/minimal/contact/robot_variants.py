"""The two variants of each kernel of `Minimal`: lean for most robots, whole for all others.

Features are data in the whole variant: a robot without forces between bodies, prescribed motions, rolling friction or
restitution has empty arrays and false flags for them. A robot without any of these, and with simple shapes, has None in
their place: its kernels are compiled without them, in a fraction of the time.
"""

from __future__ import annotations

import numpy as np

from leastaction.forces.arrays import force_model, forceless
from leastaction.mechanism import Mechanism
from leastaction.minimal.contact.arrays import RobotModel, bounces, is_prescribed, turns
from leastaction.minimal.contact.forces.spring_arrays import equations

__all__ = ["is_whole", "whole_model"]


def is_whole(model: RobotModel) -> bool:
    """Whether a robot with contacts needs the whole kernels."""
    shaped = model.shapes is not None and bool(model.shapes.convex)
    moves = bool(is_prescribed(model.cones).any())
    return shaped or moves or model.forces is not None or turns(model) or bounces(model)


def whole_model(mechanism: Mechanism, model: RobotModel) -> RobotModel:
    """The same model with empty arrays and false flags in place of None, if the robot needs the whole kernels."""
    if not is_whole(model):
        return model
    shapes, forces = model.shapes, model.forces
    if shapes is not None:
        shapes = shapes._replace(convex=bool(shapes.convex))
    if forces is None:
        forces = forceless(force_model(mechanism.tree))
        forces = forces._replace(nodes=np.array(forces.nodes[:0]).view(np.recarray))
    return model._replace(shapes=shapes, forces=forces, closure=equations(mechanism))
