"""Reading USD stages by the schema UsdPhysics (https://openusd.org/release/api/usd_physics_page_front.html).

Lengths and masses are in the stage's units, angles in degrees, and y may point upwards: the robot is in SI units with z
upwards.

- Rigid bodies: prims with `RigidBodyAPI`; disabled and kinematic ones stand still. Body frames are those of the prims,
  without their scale, which counts for what is on them.
- Masses as `MassAPI` has them: a body's over those of its colliders, mass over density, density over that of the
  material; 1000 kg/m^3 where nothing says more.
- Joints: fixed, revolute, prismatic, spherical, distance, and general ones with `LimitAPI`, several rotations of which
  are hinges in the order x, y, z. A tree grows from the world, or from the articulation's root; joints beyond it, and
  those that are excluded from the articulation, close loops. What flies has a free joint. Where bodies lie on the
  stage is the robot's home.
- Drives are servos of their stiffness and damping, with `maxForce`. PhysX's `armature`, `maxJointVelocity` and
  `enabledSelfCollisions` are read where they are written.
- Colliders: cubes, spheres, cylinders, capsules, cones, planes, and convex hulls of meshes or what `MeshCollisionAPI`
  makes of them; friction, restitution from the physics material. Other gprims of bodies are pictures.
- Filtered pairs, collision groups, and joints whose bodies do not collide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leastaction._extras import require
from leastaction.formats._files import Notes, checked_options
from leastaction.formats._repair_inertia import repair_inertias
from leastaction.formats._rounded_loops import closed_to_digits
from leastaction.formats._xml import MAX_BYTES
from leastaction.formats.merge import merge_fixed_bodies
from leastaction.formats.usd._usd_joints import DEGREE, Dof, UsdJoint, dofs_of
from leastaction.formats.usd._usd_shapes import GPRIMS, shape_of, solid_of
from leastaction.formats.usd._usd_stage import Stage, guarded, layer_of
from leastaction.mechanism import Inertia, Mechanism, MechanismBuilder, Pose, Shape
from leastaction.mechanism.building.graph import WORLD
from leastaction.warn import warn

WATER = 1000.0
"""Density where nothing says one [kg/m^3], as the schema has it."""

APART = 1e-3
"""Distance [m] or angle [rad] of a body on the stage from where its joint can hold it that is worth a warning."""


def load_usd(
    path: str | PathLike[str],
    *,
    merge_fixed: bool = False,
    strict: bool = False,
    meshes: bool = True,
    allow_outside: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Mechanism:
    """Read the rigid bodies of a USD stage; needs `pip install "leastaction[usd]"`.

    Args:
        path: of the file: .usd, .usda, .usdc or .usdz.
        merge_fixed: make one body of each group of bodies that fixed joints hold together.
        strict: refuse inertias that no real body has, instead of keeping them with a warning.
        meshes: read meshes that are no colliders.
        allow_outside: let the stage name files by absolute paths or outside its folder.
        max_bytes: limit of the size of each file.

    Raises:
        FormatError: naming the file and the path of the prim.
    """
    path = checked_options(
        path, max_bytes, allow_outside=allow_outside, merge_fixed=merge_fixed, strict=strict, meshes=meshes
    )
    robot = read_layer(layer_of(path, max_bytes, allow_outside), path, strict, meshes)
    return merge_fixed_bodies(robot) if merge_fixed else robot


def read_layer(layer: Any, path: Path, strict: bool, meshes: bool) -> Mechanism:
    """The robot of a root layer."""
    notes = Notes(path)
    stage = Stage(layer, path)
    robot = guarded(path, lambda: _Reader(stage, notes, strict, meshes).read())
    notes.warn()
    return closed_to_digits(robot, path)


class _Collider(NamedTuple):
    prim: Any
    owner: str
    shape: Shape


class _Reader:
    def __init__(self, stage: Stage, notes: Notes, strict: bool, meshes: bool) -> None:
        self.stage, self.notes, self.meshes = stage, notes, meshes
        self.physics = stage.UsdPhysics
        self.prims: list[Any] = []
        self.bodies: dict[str, Any] = {}  # prims by the names of bodies
        self.poses: dict[str, Pose] = {WORLD: Pose()}
        self.owner: dict[Any, str] = {}  # body, or world, by paths of prims
        self.colliders: list[_Collider] = []
        self.apart: list[str] = []
        self.builder = MechanismBuilder(notes.file.stem, strict=strict)

    def read(self) -> Mechanism:
        self._collect()
        self.builder.gravity = self._gravity()
        shapes: dict[str, list[Shape]] = {name: [] for name in (*self.bodies, WORLD)}
        self._shapes(shapes)
        for name, prim in self.bodies.items():
            inertia = self.stage.guard(prim, lambda n=name, p=prim: self._inertia(n, p))
            self.stage.guard(prim, lambda n=name, i=inertia: self.builder.body(n, inertia=i, shapes=shapes[n]))
        for shape in shapes[WORLD]:
            self.builder.add_shape(WORLD, shape)
        self._tree(self._joints())
        self._filters()
        root = self.stage.stage.GetPseudoRoot()
        if not self.bodies:
            raise self.stage.error(root, "the stage has no prim with RigidBodyAPI")
        if self.apart:
            warn(
                f"{self.notes.file}: {', '.join(self.apart[:4])}: the bodies lie elsewhere than the joints hold them, "
                "and begin where these do"
            )
        if not self.builder.strict:
            repair_inertias(self.builder, self.notes.file)
        return self.stage.guard(root, self.builder.build)

    # ------------------------------------------------------------------ bodies

    def _collect(self) -> None:
        """Find the bodies, and which of them carries each prim."""
        found: dict[Any, Any] = {}
        for prim in self.stage.prims():
            self.prims.append(prim)
            path = prim.GetPath()
            self.owner[path] = self.owner.get(path.GetParentPath()) or WORLD
            if not prim.HasAPI(self.physics.RigidBodyAPI):
                continue
            if not self.stage.flag(prim, "physics:rigidBodyEnabled", True):
                continue
            if self.stage.flag(prim, "physics:kinematicEnabled", False):
                self.notes.left_out("motion of kinematic body", str(path))
                self.owner[path] = WORLD
                continue
            if not self.stage.UsdGeom.Xformable(prim):
                raise self.stage.error(prim, "a rigid body must be Xformable")
            found[path] = prim
            self.owner[path] = str(path)
        names = _short(found)
        self.owner = {path: names.get(owner, owner) for path, owner in self.owner.items()}
        for path, prim in found.items():
            self.bodies[names[str(path)]] = prim
            self.poses[names[str(path)]] = self.stage.pose(prim)
            if any(any(self.stage.vector(prim, f"physics:{x}", (0.0,) * 3)) for x in ("velocity", "angularVelocity")):
                self.notes.left_out("initial velocity", str(path))

    def _gravity(self) -> tuple[float, ...]:
        scenes = [prim for prim in self.prims if prim.IsA(self.physics.Scene)]
        for prim in scenes[1:]:
            self.notes.left_out("scene beyond the first", str(prim.GetPath()))
        if not scenes:
            return (0.0, 0.0, -9.81)
        size = self.stage.number(scenes[0], "physics:gravityMagnitude", -math.inf, infinite=True) * self.stage.length
        size = 9.81 if size < 0.0 else size
        direction = np.array(self.stage.vector(scenes[0], "physics:gravityDirection", (0.0, 0.0, 0.0)))
        if not np.isfinite([*direction, size]).all():
            raise self.stage.error(scenes[0], "gravity must be finite")
        if not direction.any():
            return (0.0, 0.0, -size)
        return tuple((size * (self.stage.upright @ direction) / np.linalg.norm(direction)).tolist())

    def _shapes(self, shapes: dict[str, list[Shape]]) -> None:
        """Shapes of the bodies and of the world, and which of them collide."""
        solid: dict[Any, bool] = {}
        imageable = self.stage.UsdGeom.Imageable
        for prim in self.prims:
            path = prim.GetPath()
            enabled = prim.HasAPI(self.physics.CollisionAPI)
            enabled = enabled and self.stage.flag(prim, "physics:collisionEnabled", True)
            kind = str(prim.GetTypeName())
            if kind not in GPRIMS:
                # An Xform that collides stands for what is below it.
                solid[path] = enabled or (kind in ("Xform", "Scope", "") and solid.get(path.GetParentPath(), False))
                if enabled and prim.IsA(self.stage.UsdGeom.Gprim):
                    self.notes.left_out(f"collider of the kind {kind}", str(path))
                continue
            collides = enabled or solid.get(path.GetParentPath(), False)
            image = imageable(prim)
            seen = image.ComputePurpose() in ("default", "render") and image.ComputeVisibility() != "invisible"
            owner = self.owner[path]
            if not (collides or (seen and (self.meshes or kind != "Mesh"))):
                continue
            if not collides and (owner == WORLD or kind == "Plane"):
                continue  # scenery
            X = self.poses[owner]
            base = X.rotation, np.array(X.position)
            options: dict[str, Any] = {"name": prim.GetName(), "collision": collides, "visual": bool(seen)}
            options |= {"color": self._color(prim)} | (self._surface(prim) if collides else {})
            shape = self.stage.guard(
                prim, lambda p=prim, k=kind, b=base, o=options: shape_of(self.stage, p, k, b, o, self.notes)
            )
            if shape is None:
                continue
            shapes[owner].append(shape)
            if collides:
                self.colliders.append(_Collider(prim, owner, shape))

    def _color(self, prim: Any) -> tuple[float, ...]:
        gprim = self.stage.UsdGeom.Gprim(prim)
        color, opacity = gprim.GetDisplayColorAttr().Get(), gprim.GetDisplayOpacityAttr().Get()
        if color is None or not len(color):
            return Shape().color
        rgb = np.clip(np.nan_to_num(np.array(color[0], float)), 0.0, 1.0)
        alpha = 1.0 if opacity is None or not len(opacity) else float(np.clip(np.nan_to_num(opacity[0]), 0.0, 1.0))
        return (*rgb.tolist(), alpha)

    def _material(self, prim: Any) -> Any:
        """The physics material bound to a prim, or None."""
        shade = require("pxr.UsdShade", "usd")
        material, _ = shade.MaterialBindingAPI(prim).ComputeBoundMaterial("physics")
        found = material.GetPrim() if material else None
        return found if found and found.HasAPI(self.physics.MaterialAPI) else None

    def _surface(self, prim: Any) -> dict[str, float]:
        """Friction and restitution of a collider; the schema's zeros where its material does not say them."""
        material = self._material(prim)
        if material is None:
            return {}
        kinetic, static, bounce = (
            self.stage.number(material, f"physics:{name}", 0.0)
            for name in ("dynamicFriction", "staticFriction", "restitution")
        )
        out = {"friction": kinetic, "restitution": bounce}
        return out | ({"static_friction": static} if static > kinetic else {})

    # ------------------------------------------------------------------ masses

    def _inertia(self, name: str, body: Any) -> Inertia:
        """Inertia of a body in its frame."""
        X = Pose()
        own = self._mass(body)
        if own["mass"] and own["com"] is not None and own["moments"] is not None:
            return self._given(body, own, Inertia())
        parts = []
        for collider in self.colliders:
            if collider.owner == name and collider.shape.kind != "plane":
                prim = collider.prim
                said = own if prim == body else self._mass(prim)
                density = said["density"] or own["density"] or self._density(prim)
                solid = solid_of(collider.shape)
                filled = solid.inertia(density=density)
                if prim != body:
                    at = X if not (said["mass"] or said["com"] or said["moments"]) else self._on(body, prim)
                    filled = self._given(prim, said, filled.moved(at.inverse())).moved(at)
                parts.append((filled, X))
        filled = Inertia.from_parts(parts) if parts else Inertia()
        return self._given(body, own, filled)

    def _on(self, body: Any, prim: Any) -> Pose:
        """Pose of a prim's frame, without scale, on a body."""
        return self.stage.pose(body).inverse() * self.stage.pose(prim)

    def _density(self, prim: Any) -> float:
        material = self._material(prim)
        density = 0.0 if material is None else self.stage.number(material, "physics:density", 0.0)
        return density * self.stage.mass / self.stage.length**3 if density > 0.0 else WATER

    def _mass(self, prim: Any) -> dict[str, Any]:
        """What MassAPI says of a prim in SI units; zero or None for what it leaves open."""
        stage = self.stage
        out: dict[str, Any] = {"mass": 0.0, "density": 0.0, "com": None, "moments": None}
        if not prim.HasAPI(self.physics.MassAPI):
            return out
        for name in ("mass", "density"):
            out[name] = stage.number(prim, f"physics:{name}", 0.0)
            if out[name] < 0.0:
                raise stage.error(prim, f"physics:{name} must not be negative, got {out[name]}")
        out["mass"] *= stage.mass
        out["density"] *= stage.mass / stage.length**3
        com = stage.vector(prim, "physics:centerOfMass", None)
        if com is not None and np.isfinite(com).all():
            scale = stage.rotation(prim).T @ stage.frame(prim)[0] * stage.length
            out["com"] = tuple((scale @ com).tolist())
        moments = np.array(stage.vector(prim, "physics:diagonalInertia", (0.0,) * 3)) * stage.mass * stage.length**2
        if moments.any():
            R = Pose((0, 0, 0), stage.quaternion(prim, "physics:principalAxes")).rotation
            out["moments"] = R @ np.diag(moments) @ R.T
        return out

    def _given(self, prim: Any, said: dict[str, Any], filled: Inertia) -> Inertia:
        """The inertia that follows from what the prim says and, where it says nothing, from its colliders."""
        mass = said["mass"] or filled.mass
        ratio = mass / filled.mass if filled.mass > 0.0 else 0.0
        com = filled.com if said["com"] is None else said["com"]
        moments = filled.matrix * ratio if said["moments"] is None else said["moments"]
        return self.stage.guard(prim, lambda: Inertia(mass, com, 0.5 * (moments + moments.T)))

    # ------------------------------------------------------------------ joints

    def _joints(self) -> list[UsdJoint]:
        """The joints that hold something."""
        prims = {prim.GetPath(): prim for prim in self.prims if prim.IsA(self.physics.Joint)}
        names = _short(prims)
        out = []
        for path, prim in prims.items():
            if not self.stage.flag(prim, "physics:jointEnabled", True):
                continue
            (a, X), (b, Y) = self._end(prim, 0), self._end(prim, 1)
            if a == b:
                if a != WORLD:
                    raise self.stage.error(prim, f"both of its ends are on {a!r}")
                continue
            distance = None
            if str(prim.GetTypeName()) == "PhysicsDistanceJoint":
                low, high = (self.stage.number(prim, f"physics:{x}Distance", -1.0) for x in ("min", "max"))
                distance = max(low, 0.0) * self.stage.length, math.inf if high < 0.0 else high * self.stage.length
                dofs: list[Dof] | None = None
            else:
                dofs = dofs_of(self.stage, prim, self.notes)
            flag = self.stage.flag
            out.append(
                UsdJoint(
                    names[str(path)],
                    prim,
                    (a, b),
                    (X, Y),
                    dofs,
                    distance,
                    loop=flag(prim, "physics:excludeFromArticulation", False),
                    collide=flag(prim, "physics:collisionEnabled", False),
                    properties=self._vendor(prim),
                )
            )
        return out

    def _vendor(self, prim: Any) -> dict[str, float]:
        """Properties that the schema lacks and PhysX's has; of joints with one axis."""
        turns = str(prim.GetTypeName()) == "PhysicsRevoluteJoint"
        out = {}
        armature = self.stage.number(prim, "physxJoint:armature", 0.0)
        if armature > 0.0:
            out["armature"] = armature * self.stage.mass * (self.stage.length**2 if turns else 1.0)
        speed = self.stage.number(prim, "physxJoint:maxJointVelocity", math.inf, infinite=True)
        if 0.0 < speed < 1e6:  # PhysX's default
            out["velocity_limit"] = speed * (DEGREE if turns else self.stage.length)
        return out

    def _end(self, prim: Any, k: int) -> tuple[str, Pose]:
        """The body at one end of a joint, and the joint's frame there."""
        stage = self.stage
        targets = prim.GetRelationship(f"physics:body{k}").GetTargets()
        if len(targets) > 1:
            raise stage.error(prim, f"physics:body{k} has {len(targets)} targets")
        p = np.array(stage.vector(prim, f"physics:localPos{k}", (0.0, 0.0, 0.0)))
        if not np.isfinite(p).all():
            raise stage.error(prim, f"physics:localPos{k} must be finite")
        local = np.eye(4)
        local[:3, :3] = Pose((0, 0, 0), stage.quaternion(prim, f"physics:localRot{k}")).rotation
        if not targets:
            owner, A, R, origin = WORLD, stage.upright, stage.upright, np.zeros(3)
        else:
            target = stage.stage.GetPrimAtPath(targets[0])
            if not target or target.GetPath() not in self.owner:
                raise stage.error(prim, f"physics:body{k}: there is no prim {targets[0]}")
            if not stage.UsdGeom.Xformable(target):
                raise stage.error(prim, f"physics:body{k}: {targets[0]} is not Xformable")
            owner, R, (A, origin) = self.owner[target.GetPath()], stage.rotation(target), stage.frame(target)
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = R @ local[:3, :3], A @ p * stage.length + origin
        return owner, self.poses[owner].inverse() * Pose.from_matrix(X)

    def _tree(self, joints: list[UsdJoint]) -> None:
        """Add the joints: a tree from the world and from the roots of articulations, then those that close loops."""
        carriers = [joint for joint in joints if joint.dofs is not None and not joint.loop]
        at: dict[str, list[UsdJoint]] = {name: [] for name in (*self.bodies, WORLD)}
        for joint in carriers:
            for owner in joint.owners:
                at[owner].append(joint)
        used: set[str] = set()
        reached = {WORLD}

        def grow(root: str) -> None:
            queue = [root]
            for body in queue:
                for joint in at[body]:
                    other = joint.owners[1 - joint.owners.index(body)]
                    if other not in reached:
                        reached.add(other)
                        used.add(joint.name)
                        queue.append(other)
                        self._joint(joint, backwards=joint.owners[0] != body)

        grow(WORLD)
        children = {joint.owners[1] for joint in carriers}
        marked = [self.owner[p.GetPath()] for p in self.prims if p.HasAPI(self.physics.ArticulationRootAPI)]
        for name in sorted(self.bodies, key=lambda n: (n not in marked, n in children)):
            if name not in reached:
                reached.add(name)
                X = self.poses[name]
                self.builder.joint(f"{name}_free", "free", WORLD, name, home=(*X.position, *X.quaternion))
                grow(name)
        for joint in joints:
            if joint.name not in used:
                self._joint(joint, backwards=joint.owners[1] == WORLD, loop=True)

    def _joint(self, joint: UsdJoint, *, backwards: bool, loop: bool = False) -> None:
        """Add a joint, from the second body to the first if backwards; then its motions run in reverse."""
        (a, b), (X, Y) = joint.owners, joint.frames
        order = -1 if backwards else 1
        self._touch(joint, loop)
        if joint.distance is not None:
            points = [(owner, frame.position) for owner, frame in zip(joint.owners, joint.frames, strict=True)]
            self.stage.guard(
                joint.prim, lambda: self.builder.tendon(joint.name, via=points, limits=joint.distance, rigid=True)
            )
            return
        if joint.dofs is None:
            return
        between = (self.poses[a] * X).inverse() * (self.poses[b] * Y)
        q = joint.motion(between)
        dofs = joint.dofs[::order]
        options: dict[str, Any] = {"kind": "fixed"}
        if dofs:
            kinds = {(True, False): "revolute", (False, False): "prismatic", (True, True): "spherical"}
            parts = tuple(dof.primitive(float(order)) for dof in dofs)
            rows = [dof for dof in dofs for _ in range(1 if dof.axis is not None else 3)]
            options = {
                "kind": kinds[dofs[0].turns, dofs[0].axis is None] if len(dofs) == 1 else "composite",
                "lower": tuple(dof.lower for dof in rows),
                "upper": tuple(dof.upper for dof in rows),
                "effort_limit": tuple(math.inf if dof.drive is None else dof.drive.most for dof in rows),
            }
            options |= {name: (value,) * len(rows) for name, value in joint.properties.items()}
            if options["kind"] == "composite":
                options |= {"parts": parts, "motions": tuple(f"{joint.name}.{dof.name}" for dof in dofs)}
            elif dofs[0].axis is not None:
                options["axis"] = parts[0].axis
            if not loop:
                options["home"] = _ordered(joint.dofs, q, backwards)
        (parent, child), (pose, child_pose) = ((b, a), (Y, X)) if backwards else ((a, b), (X, Y))
        self.stage.guard(
            joint.prim,
            lambda: self.builder.joint(
                joint.name, parent=parent, child=child, pose=pose, child_pose=child_pose.inverse(), loop=loop, **options
            ),
        )
        gap = self._gap(joint, q, between)
        if gap > APART:
            self.apart.append(f"{joint.prim.GetPath()} ({gap:.2g} m or rad)")
        if not loop:
            for dof in joint.dofs:
                self._drive(joint, dof)

    def _gap(self, joint: UsdJoint, q: tuple[float, ...], between: Pose) -> float:
        """How far the bodies lie from where the joint holds them [m or rad]."""
        X, k = Pose(), 0
        for dof in joint.dofs or ():
            if dof.axis is None:
                X = X * Pose((0, 0, 0), q[k : k + 4])
                k += 4
                continue
            axis = np.array(dof.axis)
            X = X * (Pose.from_axis_angle(dof.axis, q[k]) if dof.turns else Pose(tuple((q[k] * axis).tolist())))
            k += 1
        error = X.inverse() * between
        return max(float(np.linalg.norm(error.position)), 2.0 * float(np.linalg.norm(error.quaternion[1:])))

    def _drive(self, joint: UsdJoint, dof: Dof) -> None:
        """A servo in place of a drive; a plain motor where it has neither stiffness nor damping."""
        drive = dof.drive
        if drive is None or drive.most == 0.0:
            return
        name = joint.name if len(joint.dofs or ()) == 1 else f"{joint.name}.{dof.name}"
        limits = None if math.isinf(drive.most) else (-drive.most, drive.most)
        if drive.stiffness > 0.0:
            self.builder.position_servo(name, name, kp=drive.stiffness, kv=drive.damping, force_limits=limits)
            if drive.speed:
                self.notes.left_out("target velocity beside a stiffness", str(joint.prim.GetPath()))
        elif drive.damping > 0.0:
            self.builder.velocity_servo(name, name, kv=drive.damping, force_limits=limits)
        else:
            self.builder.actuator(name, name, limits=limits)

    # ------------------------------------------------------------------ what touches

    def _touch(self, joint: UsdJoint, loop: bool) -> None:
        """The bodies of a joint pass through each other unless it says otherwise."""
        if WORLD in joint.owners:
            return
        if joint.collide:
            self.builder.contact_pair(*joint.owners, always=True)
        elif loop:
            self.builder.exclude_contact(*joint.owners)

    def _filters(self) -> None:
        """Pairs of bodies of which no two colliders may touch; pairs of single colliders are ignored."""
        below: dict[Any, list[int]] = {}
        for k, collider in enumerate(self.colliders):
            for path in collider.prim.GetPath().GetPrefixes():
                below.setdefault(path, []).append(k)
        apart: set[tuple[int, int]] = set()

        def part(first: Iterable[int], second: Iterable[int]) -> None:
            second = tuple(second)
            apart.update((min(a, b), max(a, b)) for a in first for b in second if a != b)

        for prim in self.prims:
            if prim.HasAPI(self.physics.FilteredPairsAPI):
                for target in self.physics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets():
                    part(below.get(prim.GetPath(), ()), below.get(target, ()))
            if prim.HasAPI(self.physics.ArticulationRootAPI) and not self.stage.flag(
                prim, "physxArticulation:enabledSelfCollisions", True
            ):
                own = self._articulation(prim, below)
                part(own, own)
        self._groups(part)
        count: dict[str, int] = {}
        for collider in self.colliders:
            count[collider.owner] = count.get(collider.owner, 0) + 1
        filtered: dict[tuple[str, str], int] = {}
        for a, b in apart:
            names = sorted((self.colliders[a].owner, self.colliders[b].owner))
            if names[0] != names[1]:
                filtered[names[0], names[1]] = filtered.get((names[0], names[1]), 0) + 1
        for (a, b), n in sorted(filtered.items()):
            if n == count[a] * count[b]:
                self.builder.exclude_contact(*((b, a) if a == WORLD else (a, b)))
            else:
                self.notes.left_out("filter between some colliders of two bodies", f"{a} and {b}")

    def _articulation(self, prim: Any, below: dict[Any, list[int]]) -> list[int]:
        """Colliders of an articulation: those below its root, or of all bodies that joints tie to it."""
        own = below.get(prim.GetPath(), [])
        if not prim.IsA(self.physics.Joint) and not prim.HasAPI(self.physics.RigidBodyAPI):
            return own
        start = self.owner[prim.GetPath()]
        tied = {start} if start != WORLD else set()
        links = [joint.owners for joint in self._joints()]
        if prim.IsA(self.physics.Joint):
            tied |= {self._end(prim, k)[0] for k in (0, 1)} - {WORLD}
        while True:
            more = {x for pair in links if WORLD not in pair and set(pair) & tied for x in pair} - tied
            if not more:
                return [k for k, collider in enumerate(self.colliders) if collider.owner in tied]
            tied |= more

    def _groups(self, part: Any) -> None:
        """Collision groups, with those that are merged or inverted as USD has them."""
        groups = [prim for prim in self.prims if prim.IsA(self.physics.CollisionGroup)]
        if not groups:
            return
        table = self.physics.CollisionGroup.ComputeCollisionGroupTable(self.stage.stage)
        members = {}
        for prim in groups:
            query = self.physics.CollisionGroup(prim).GetCollidersCollectionAPI().ComputeMembershipQuery()
            members[prim] = [k for k, c in enumerate(self.colliders) if query.IsPathIncluded(c.prim.GetPath())]
        for a, b in (*combinations(groups, 2), *((x, x) for x in groups)):
            if not table.IsCollisionEnabled(a.GetPath(), b.GetPath()):
                part(members[a], members[b])


def _short(prims: Iterable[Any]) -> dict[str, str]:
    """Names for paths: their last parts, or as many more as make them unique."""
    paths = [str(path) for path in prims]
    out = {}
    parts = {path: path.strip("/").split("/") for path in paths}
    count: dict[str, int] = {}
    for path in paths:
        count[parts[path][-1]] = count.get(parts[path][-1], 0) + 1
    for path in paths:
        last = parts[path][-1]
        out[path] = last if count[last] == 1 and last != WORLD else "/".join(parts[path])
    return out


def _ordered(dofs: list[Dof], q: tuple[float, ...], backwards: bool) -> tuple[float, ...]:
    """Coordinates of a joint, in the order of its motions; of a ball that runs backwards the inverse."""
    pieces, k = [], 0
    for dof in dofs:
        n = 4 if dof.axis is None else 1
        piece = q[k : k + n]
        pieces.append((piece[0], *(-x for x in piece[1:])) if n == 4 and backwards else piece)
        k += n
    return tuple(x for piece in (pieces[::-1] if backwards else pieces) for x in piece)
