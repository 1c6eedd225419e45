"""Mesh files of URDF models, read through trimesh, which the extra `urdf` brings."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leastaction._disk_cache import cached_arrays, key_of
from leastaction._extras import require
from leastaction.errors import FormatError, MissingExtraError
from leastaction.formats._files import Folder, Notes
from leastaction.formats._xml import Element, parse_xml

FORMATS = ("stl", "obj", "dae", "ply")

VERSION = 1
"""Of the triangles on disk: to be raised where `_read` gives other ones."""

Triangles = tuple[NDArray[np.float64], NDArray[np.int64]]


PACKAGED = ("package", "model")
"""Schemes of files in packages: ROS's, and Gazebo's."""


class MeshFiles:
    """Finds and reads mesh files once each; those it cannot have go to the notes."""

    def __init__(self, folder: Folder, notes: Notes) -> None:
        self.folder = folder
        self.notes = notes
        self._read: dict[Path, Triangles | None] = {}

    def load(self, filename: str, element: Element) -> Triangles | None:
        """Vertices [m], shape (n, 3), and faces, shape (m, 3), of a named file; None if skipped."""
        path = self._find(filename, element)
        if path is None:
            packaged = filename.partition("://")[0] in PACKAGED
            remedy = " (name the folders of packages in package_dirs or ROS_PACKAGE_PATH)" if packaged else ""
            self.notes.add(f"meshes that were not found{remedy}", filename)
            return None
        if path not in self._read:
            self._read[path] = self._triangles(path, filename)
        return self._read[path]

    def _find(self, filename: str, element: Element) -> Path | None:
        scheme, separator, rest = filename.partition("://")
        if not separator:
            return self.folder.find(filename, element)
        if scheme in PACKAGED:
            return self.folder.package(rest, element)
        return self.folder.find(rest, element) if scheme == "file" else None

    def _triangles(self, path: Path, filename: str) -> Triangles | None:
        kind = path.suffix[1:].lower()
        if kind not in FORMATS:
            self.notes.add(f"meshes in formats other than {', '.join(FORMATS)}", filename)
            return None
        data = self.folder.read(path)
        try:
            vertices, faces = cached_arrays(
                "mesh", key_of(f"{VERSION} {kind}".encode(), data), lambda: _read(data, path)
            )
            return np.asarray(vertices, np.float64), np.asarray(faces, np.int64)
        except MissingExtraError as error:
            self.notes.add(f"meshes ({error})", filename)
        # Readers of foreign formats raise whatever they like; a picture is not worth losing the robot for.
        except Exception as error:
            reason = error if isinstance(error, FormatError) else f"{type(error).__name__}: {error}"
            self.notes.add("meshes that could not be read", f"{filename} ({reason})")
        return None


def _read(data: bytes, path: Path) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices [m] and faces of the contents of a mesh file."""
    trimesh, kind, unit = require("trimesh", "urdf"), path.suffix[1:].lower(), 1.0
    if kind == "dae":
        unit = _collada_unit(parse_xml(data, str(path)))
    # A stream and no resolver: a mesh cannot make its reader open other files (materials, textures).
    mesh = trimesh.load(io.BytesIO(data), file_type=kind, force="mesh", process=False, skip_materials=True)
    if len(mesh.faces) == 0:
        raise ValueError("no triangles")
    return unit * np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int32)


def _collada_unit(root: Element) -> float:
    """Metres per unit of a COLLADA document. Its up axis is ignored, as ROS does."""
    asset = root.find("asset")
    unit = asset.find("unit") if asset else None
    return unit.number("meter", 1.0) if unit else 1.0
