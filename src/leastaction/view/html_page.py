"""A scene as one HTML file that plays in a browser, without Python and without a network."""

from __future__ import annotations

import base64
import gzip
import html
import json
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from leastaction.view import body_colours
from leastaction.view.render import grid_cell, lamp_direction
from leastaction.view.scene import Actor, Scene


class _Store:
    """Arrays behind each other in one block of bytes."""

    TYPES = (("f", np.float32), ("u", np.uint32), ("b", np.int8))

    def __init__(self) -> None:
        self.blocks: list[bytes] = []
        self.size = 0
        self.known: dict[bytes, dict[str, Any]] = {}

    def add(self, values: Any, kind: str) -> dict[str, Any]:
        """Where the player finds the array; equal arrays are stored once."""
        array = np.ascontiguousarray(values, dict(self.TYPES)[kind])
        data = array.tobytes()
        key = kind.encode() + data
        if key not in self.known:
            self.known[key] = {"type": kind, "start": self.size, "count": array.size}
            padded = data + b"\0" * (-len(data) % 4)
            self.blocks.append(padded)
            self.size += len(padded)
        return self.known[key]


def page(scene: Scene, *, title: str | None = None) -> str:
    """The text of the HTML file."""
    store = _Store()
    meshes: dict[str, int] = {}
    table: list[dict[str, Any]] = []

    def mesh_number(mesh: Any) -> int:
        normals = np.zeros((len(mesh.normals), 4))  # four bytes each, as graphics cards like it
        normals[:, :3] = np.round(127.0 * mesh.normals)
        entry = {
            "vertices": store.add(mesh.vertices, "f"),
            "normals": store.add(normals, "b"),
            "faces": store.add(mesh.faces, "u"),
        }
        key = json.dumps(entry)
        if key not in meshes:
            meshes[key] = len(table)
            table.append(entry)
        return meshes[key]

    actors = [_actor(actor, store, mesh_number) for actor in scene.actors]
    curves = [
        {"title": p.title, "labels": p.labels, "colors": p.colors, "values": store.add(p.values, "f")}
        for p in scene.panels
    ]
    camera = scene.camera
    reach = camera.distance * np.tan(0.5 * camera.field_of_view) * 1.9
    description = {
        "title": title or scene.title,
        "t": store.add(scene.t, "f"),
        "actors": actors,
        "meshes": table,
        "panels": curves,
        "size": scene.size,
        "floor": scene.floor,
        "cell": grid_cell(scene.size),
        "light": lamp_direction(camera.azimuth),
        "follow": scene.follow,
        "side": scene.side,
        "forceScale": scene.force_scale,
        "forceColor": body_colours.FORCE,
        "reach": max(float(reach), scene.size),
        "camera": {
            "target": camera.target,
            "azimuth": camera.azimuth,
            "elevation": camera.elevation,
            "distance": camera.distance,
            "opening": camera.field_of_view,
        },
    }
    sources = files("leastaction.view").joinpath("player")
    text = {
        name: sources.joinpath(name).read_text("utf-8")
        for name in ("page.html", "style.css", "renderer.js", "player.js")
    }
    # "<" is written as an escape, so that no label can end the element that holds the description.
    packed = json.dumps(description, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    data = base64.b64encode(gzip.compress(b"".join(store.blocks), 6, mtime=0)).decode()
    return Template(text["page.html"]).substitute(
        TITLE=html.escape(title or scene.title),
        STYLE=text["style.css"],
        SCENE=packed,
        DATA=data,
        RENDERER=text["renderer.js"],
        PLAYER=text["player.js"],
    )


def _actor(actor: Actor, store: _Store, mesh_number: Any) -> dict[str, Any]:
    parts = [
        {"mesh": mesh_number(part.mesh), "body": part.body, "color": part.color, "role": part.role}
        for part in actor.parts
    ]
    paths = [
        {
            "kind": p.kind,
            "points": p.points,
            "color": p.color,
            "radius": p.radius,
            "bends": [b and vars(b) for b in p.bends],
        }
        for p in actor.paths
    ]
    forces = actor.forces is not None and actor.force_points is not None
    return {
        "label": actor.label,
        "color": actor.color,
        "opacity": actor.opacity,
        "offset": actor.offset.tolist(),
        "bodies": actor.poses.shape[1],
        "parts": parts,
        "paths": paths,
        "poses": store.add(actor.poses, "f"),
        "traces": [store.add(trace, "f") for trace in actor.traces],
        "contacts": actor.forces.shape[1] if actor.forces is not None else 0,
        "points": store.add(actor.force_points, "f") if forces else None,
        "forces": store.add(actor.forces, "f") if forces else None,
    }
