"""All families of random scenes, by group and by name."""

import numpy as np

from benchmarks.corpus import driven, drops, linkages, loose_bodies, springs
from benchmarks.corpus.scene import Scene

GROUPS = {
    "Loose bodies": {family.__name__: family for family in loose_bodies.FAMILIES},
    "Linkages": {family.__name__: family for family in linkages.FAMILIES},
    "Springs and tendons": {family.__name__: family for family in springs.FAMILIES},
    "Motors and servos": {family.__name__: family for family in driven.FAMILIES},
    "Robots dropped on the ground": drops.FAMILIES,
}
FAMILIES = {name: family for group in GROUPS.values() for name, family in group.items()}


def scene(family: str, seed: int) -> Scene:
    """One scene of a family."""
    return FAMILIES[family](np.random.default_rng([seed, *family.encode()]))
