"""Shapes and contact points from the geoms of a compiled MuJoCo model."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

from leastaction.formats._files import Notes
from leastaction.formats.mjcf._mjcf_bodies import Bodies, Names, pose
from leastaction.formats.mjcf._mjcf_softness import Softness
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
        soft: bool,
    ) -> None:
        self.m = model
        self.builder = builder
        self.notes = notes
        self.bodies = bodies
        self.meshes = meshes
        self.contacts = contacts
        self.soft, self.softness = soft, Softness(model)
        self.contact_names = Names()
        self.shapes: set[int] = set()  # geoms that have become shapes
        self.paired = {int(g) for g in (*model.pair_geom1, *model.pair_geom2)} if model.pair_dim.any() else set()
        touching = (model.geom_contype | model.geom_conaffinity) != 0
        self.largest = int(model.geom_condim[touching].max(initial=0))  # condim

    def read(self) -> None:
        """Add them all."""
        for g in range(self.m.ngeom):
            body, shape = self.bodies.bodies[self.m.geom_bodyid[g]], self._shape(g)
            if shape is None:
                continue
            self.shapes.add(g)
            self.builder.add_shape(body, shape)
            # Bodies that never move touch nothing by themselves.
            moves = self.m.body_weldid[self.m.geom_bodyid[g]] != 0
            if self.contacts and shape.collision and moves and self._meets_ground(g):
                self._contacts(g, body, shape)
        self.exclude()
        self.pairs()

    def pairs(self) -> None:
        """Pairs of geoms that touch whatever else the file says, with a friction of their own (`<pair>`)."""
        m, names = self.m, self.bodies.bodies
        for k in range(m.npair):
            ends, size = (int(m.pair_geom1[k]), int(m.pair_geom2[k])), int(m.pair_dim[k])
            bodies = [int(m.geom_bodyid[g]) for g in ends]
            name = m.pair(k).name or " and ".join(m.geom(g).name for g in ends)
            if m.body_weldid[bodies[0]] == m.body_weldid[bodies[1]] or not all(g in self.shapes for g in ends):
                self.notes.add("contact pairs of which one does not move against the other, or has no shape", name)
            elif size > 0:
                slide, across, spin, roll, roll_across = m.pair_friction[k].tolist()
                if (size >= 3 and slide != across) or (size >= 6 and roll != roll_across):
                    self.notes.add("friction of contact pairs that differs along the tangents", name)
                self.builder.contact_pair(
                    *(names[i] for i in bodies),
                    shapes=(m.geom(ends[0]).name, m.geom(ends[1]).name),
                    friction=slide if size >= 3 else 0.0,
                    spinning=spin if size >= 4 else 0.0,
                    rolling=roll if size >= 6 else 0.0,
                    always=True,
                )

    def exclude(self) -> None:
        """Exclude pairs of bodies none of whose geoms MuJoCo would let touch (contype, conaffinity, <exclude>)."""
        m, names = self.m, self.bodies.bodies
        excluded = {(min(s >> 16, s & 0xFFFF), max(s >> 16, s & 0xFFFF)) for s in m.exclude_signature.tolist()}
        says: dict[int, set[tuple[int, int]]] = {}
        for g in range(m.ngeom):
            if m.geom_contype[g] or m.geom_conaffinity[g]:
                says.setdefault(int(m.geom_bodyid[g]), set()).add((int(m.geom_contype[g]), int(m.geom_conaffinity[g])))
        # Bodies that say the same are taken together: scenes have thousands of bodies, and few that say something else.
        alike: dict[frozenset[tuple[int, int]], list[int]] = {}
        for i in sorted(says):
            alike.setdefault(frozenset(says[i]), []).append(i)
        apart = {pair for pair in excluded if pair[0] != pair[1] and all(i in says for i in pair)}
        for (one, first), (other, second) in combinations_with_replacement(alike.items(), 2):
            if not any(a[0] & b[1] or b[0] & a[1] for a in one for b in other):
                apart |= {(min(i, j), max(i, j)) for i in first for j in second if i != j}
        for i, j in sorted(apart):
            if m.body_weldid[i] != m.body_weldid[j]:
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
            "collision": bool(m.geom_contype[g] or m.geom_conaffinity[g] or g in self.paired),
            "visual": bool(m.geom_group[g] < HIDDEN_GROUP and rgba[3]),
        }
        if common["collision"]:
            common |= self._surface(g) | self._rank(g) | self._give(g)
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
        """Coefficients of friction that the `condim` of some geom lets act: MuJoCo takes the larger of two."""
        names, values = {"friction": 1, "spinning": 4, "rolling": 6}, self.m.geom_friction[g].tolist()
        own, at = self.m.geom_condim[g], zip(names.items(), values, strict=True)
        acting = {name: float(x) for (name, least), x in at if own >= least or (x and self.largest >= least)}
        return {"friction": 0.0} | acting

    def _give(self, g: int) -> dict[str, float]:
        """`compliance` and `relaxation_time` where softness is wanted."""
        if self.soft:
            return self.softness.of(g)
        if self.softness.is_said(g):
            what = 'softness of contacts (solref, solimp; contacts="soft" takes it)'
            self.notes.add(what, self.m.geom(g).name or f"geom {g}")
        return {}

    def _rank(self, g: int) -> dict[str, int]:
        """`condim`, where the coefficients do not say it, and `priority`."""
        said = self._surface(g)
        size, implied = int(self.m.geom_condim[g]), 6 if said.get("rolling") else 4 if said.get("spinning") else 3
        out = {} if size == implied else {"condim": size}
        return out | ({"priority": int(self.m.geom_priority[g])} if self.m.geom_priority[g] else {})

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
            self.builder.contact(name, body, point, radius=radius, **self._surface(g), **self._give(g))
