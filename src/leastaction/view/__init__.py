"""Looking at robots and runs: in the browser, as HTML pages, films and pictures.

    la.view(run)                              # the viewer (needs the extra `view`)
    la.view.export_html(run, "run.html")      # plays anywhere, without Python and without a network
    la.view.export_mp4(run, "run.mp4")        # or .gif (the extras `video` and `view`)
    la.view.screenshot(run, "run.png", time=1.0)
    la.view.depth_image(run, time=1.0)        # distances [m] instead of colours
    la.view.rerun(run, "run.rrd")             # for Rerun (the extra `rerun`)
    la.view.export_mcap(run, "run.mcap")      # for Foxglove (the extra `mcap`)

All of them are made from one `Scene`, which `build_scene` makes from a run, several runs, or a robot.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from leastaction._public import unknown

if TYPE_CHECKING:
    from leastaction.view.camera import Camera
    from leastaction.view.files import depth_image, export_html, export_mp4, screenshot
    from leastaction.view.live_simulation import SimulationViewer
    from leastaction.view.mcap_file import export_mcap
    from leastaction.view.rerun_log import rerun
    from leastaction.view.scene import Scene, build_scene
    from leastaction.view.viewer import Viewer

_NAMES = {
    "Camera": "camera",
    "Scene": "scene",
    "SimulationViewer": "live_simulation",
    "Viewer": "viewer",
    "build_scene": "scene",
    "depth_image": "files",
    "export_html": "files",
    "export_mcap": "mcap_file",
    "export_mp4": "files",
    "rerun": "rerun_log",
    "screenshot": "files",
}

__all__ = [
    "Camera",
    "Scene",
    "SimulationViewer",
    "Viewer",
    "build_scene",
    "depth_image",
    "export_html",
    "export_mcap",
    "export_mp4",
    "rerun",
    "screenshot",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(f"leastaction.view.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise unknown(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return [*__all__]


class ViewModule(ModuleType):
    """This module; calling it, as in `la.view(run)`, opens the viewer."""

    if TYPE_CHECKING:
        Camera = Camera
        Scene = Scene
        SimulationViewer = SimulationViewer
        Viewer = Viewer
        build_scene = staticmethod(build_scene)
        depth_image = staticmethod(depth_image)
        export_html = staticmethod(export_html)
        export_mcap = staticmethod(export_mcap)
        export_mp4 = staticmethod(export_mp4)
        rerun = staticmethod(rerun)
        screenshot = staticmethod(screenshot)

    def __call__(self, what: Any, **options: Any) -> Any:
        """Show a run, several runs, a robot or a simulation in the browser, as `leastaction.view.viewer.view` does.

        Args:
            what: a `Trajectory`, several, a `Mechanism`, or a `Simulator`.
            options: `labels`, `layout`, `traces`, `plots`, `follow`, `camera`, `q`, `host`, `port`, `open_browser`,
                `block`, `play`; of a simulation `controller`, `drive`, `pull`.
        """
        from leastaction.view.viewer import view

        return view(what, **options)


sys.modules[__name__].__class__ = ViewModule
