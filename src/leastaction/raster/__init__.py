"""A small software renderer: triangles into pixels without a GPU, a window or a browser.

It draws stills and films where there is nothing but Python. The light is that of the HTML player (`view/player.js`).
"""

from leastaction.raster.image import Lamp, Lens, depth, render

__all__ = ["Lamp", "Lens", "depth", "render"]


def __dir__() -> list[str]:
    return [*__all__]
