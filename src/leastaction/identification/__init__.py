"""System identification: masses, inertias, friction, gains and delays of a robot from logs of its motion."""

from leastaction.identification.base_parameters import BaseParameters, base_parameters
from leastaction.identification.excitation import Excitation, design_excitation
from leastaction.identification.identification import Identification
from leastaction.identification.identify import identify

__all__ = ["BaseParameters", "Excitation", "Identification", "base_parameters", "design_excitation", "identify"]


def __dir__() -> list[str]:
    return [*__all__]
