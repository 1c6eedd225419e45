"""Shapes and contact points from the geoms of a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

from leastaction.formats._files import Notes
from leastaction.formats._mjcf_bodies import Bodies, Names, pose
from leastaction.mechanism import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    HeightField,
    MechanismBuilder,
    Mesh,
    Plane,
    Pose,
    Shape,
    Sphere,
)

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
"""Values of mjtGeom."""
HIDDEN_GROUP = 3
"""First geom group that MuJoCo's viewer does not show."""


class Geoms:
    """Adds shapes and contact points to a builder."""

    def __init__(
        self,
        model: Any,
        builder: MechanismBuilder,
        notes: Notes,
        bodies: Bodies,
        *,
        meshes: bool,
        contacts: bool,
    ) -> None:
        self.m = model
        self.builder = builder
        self.notes = notes
        self.bodies = bodies
        self.meshes = meshes
        self.contacts = contacts
        self.contact_names = Names()

    def read(self) -> None:
        """Add them all."""
        for g in range(self.m.ngeom):
            body, shape = self.bodies.bodies[self.m.geom_bodyid[g]], self._shape(g)
            if shape is None:
                continue
            self.builder.add_shape(body, shape)
            # Bodies that never move touch nothing by themselves.
            moves = self.m.body_weldid[self.m.geom_bodyid[g]] != 0
            if self.contacts and shape.collision and moves and self._meets_ground(g):
                self._contacts(g, body, shape)
        self.exclude()

    def exclude(self) -> None:
        """Exclude pairs of bodies none of whose geoms MuJoCo would let touch (contype, conaffinity, <exclude>)."""
        m, names = self.m, self.bodies.bodies
        excluded = {tuple(sorted((s >> 16, s & 0xFFFF))) for s in m.exclude_signature.tolist()}
        says: dict[int, set[tuple[int, int]]] = {}
        for g in range(m.ngeom):
            if m.geom_contype[g] or m.geom_conaffinity[g]:
                says.setdefault(int(m.geom_bodyid[g]), set()).add((int(m.geom_contype[g]), int(m.geom_conaffinity[g])))
        bodies = sorted(says)
        for k, i in enumerate(bodies):
            for j in bodies[k + 1 :]:
                meet = any(a[0] & b[1] or b[0] & a[1] for a in says[i] for b in says[j])
                if (not meet or (i, j) in excluded) and m.body_weldid[i] != m.body_weldid[j]:
                    self.builder.exclude_contact(names[i], names[j])

    def _meets_ground(self, g: int) -> bool:
        """Whether a geom touches one that never moves; where there is none, a ground may come later."""
        m = self.m
        fixed = m.body_weldid[m.geom_bodyid] == 0
        met = m.geom_contype[g] & m.geom_conaffinity[fixed] | m.geom_conaffinity[g] & m.geom_contype[fixed]
        return not len(met) or bool(met.any())

    def _shape(self, g: int) -> Shape | None:
        m = self.m
        type_, size = int(m.geom_type[g]), m.geom_size[g].tolist()
        rgba = m.geom_rgba[g]
        if m.geom_matid[g] >= 0 and rgba.tolist() == [0.5, 0.5, 0.5, 1.0]:
            rgba = m.mat_rgba[m.geom_matid[g]]
        common: dict[str, Any] = {
            "pose": pose(m.geom_pos[g], m.geom_quat[g]),
            "name": m.geom(g).name,
            "color": tuple(rgba.tolist()),
            "collision": bool(m.geom_contype[g] or m.geom_conaffinity[g]),
            "visual": bool(m.geom_group[g] < HIDDEN_GROUP and rgba[3]),
        }
        if common["collision"]:
            common |= self._surface(g)
            common["groups"], common["touches"] = int(m.geom_contype[g]) % 2**32, int(m.geom_conaffinity[g]) % 2**32
        if type_ == PLANE:
            return Plane(**common)
        if type_ == SPHERE:
            return Sphere(size[0], **common)
        if type_ == CAPSULE:
            return Capsule(size[0], 2.0 * size[1], **common)
        if type_ == CYLINDER:
            return Cylinder(size[0], 2.0 * size[1], **common)
        if type_ == ELLIPSOID:
            return Ellipsoid(tuple(size), **common)
        if type_ == BOX:
            return Box(tuple(2.0 * x for x in size), **common)
        if type_ == MESH:
            return self._mesh(int(m.geom_dataid[g]), common) if self.meshes else None
        if type_ == HFIELD:
            return self._height_field(int(m.geom_dataid[g]), common)
        self.notes.add("geoms of other types", common["name"] or f"geom {g}")
        return None

    def _surface(self, g: int) -> dict[str, float]:
        """Coefficients of friction that `condim` lets act: sliding from 3 on, spinning from 4, rolling from 6."""
        sizes, values = {"friction": 3, "spinning": 4, "rolling": 6}, self.m.geom_friction[g].tolist()
        at = zip(sizes.items(), values, strict=True)
        acting = {name: float(x) for (name, least), x in at if self.m.geom_condim[g] >= least}
        return {"friction": 0.0} | acting

    def _mesh(self, k: int, common: dict[str, Any]) -> Mesh:
        m = self.m
        vertices = m.mesh_vert[m.mesh_vertadr[k] : m.mesh_vertadr[k] + m.mesh_vertnum[k]]
        faces = m.mesh_face[m.mesh_faceadr[k] : m.mesh_faceadr[k] + m.mesh_facenum[k]]
        return Mesh(vertices, faces, m.mesh(k).name, **common)

    def _height_field(self, k: int, common: dict[str, Any]) -> HeightField | None:
        m = self.m
        rows, columns = int(m.hfield_nrow[k]), int(m.hfield_ncol[k])
        half_x, half_y, top, _ = m.hfield_size[k].tolist()
        data = m.hfield_data[m.hfield_adr[k] : m.hfield_adr[k] + rows * columns].reshape(rows, columns)
        spacing = 2.0 * half_x / (columns - 1), 2.0 * half_y / (rows - 1)
        if abs(spacing[0] - spacing[1]) > 1e-9 * spacing[0]:
            self.notes.add("height fields whose grid is not square", common["name"] or m.hfield(k).name)
            return None
        return HeightField(top * data.T.astype(float), spacing[0], **common)

    def _contacts(self, g: int, body: str, shape: Shape) -> None:
        """Balls that touch as the geom does: one for a sphere, one at each end of a capsule."""
        if isinstance(shape, Sphere):
            ends = [Pose()]
        elif isinstance(shape, Capsule):
            ends = [Pose((0, 0, -0.5 * shape.length)), Pose((0, 0, 0.5 * shape.length))]
        else:
            return
        for end in ends:
            name = self.contact_names.unique(shape.name or f"{body}_contact")
            point, radius = (shape.pose * end).position, shape.radius
            self.builder.contact(name, body, point, radius=radius, **self._surface(g))
