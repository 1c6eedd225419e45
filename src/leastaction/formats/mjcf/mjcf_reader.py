"""Reading MJCF through MuJoCo's own compiler, which the extra `mjcf` brings.

The compiler resolves defaults, frames, angles and inertias from geoms; the mechanism is made from the arrays
of the compiled model. Coordinates are MuJoCo's: q equals `qpos`, `ref` included. Velocities differ on free
joints alone: `qvel` is (linear in the world, angular in the body), v is the twist (angular, linear) in the
body.

- Each MuJoCo joint is one joint. Where a body has several, one composite joint called like the body takes their
  place, with coordinates called like them; massless bodies `<body>_<joint>` come between them where their axes do not
  meet in a point.
- The robot's home is the pose of the file (`qpos0`), or a keyframe.
- `connect` becomes a spherical loop joint, `weld` a fixed one, `joint` a coupling, `tendon` one where it ties two
  joints; all hold exactly, MuJoCo's softness (solref, solimp) is not taken over, as of limits of joints: a warning
  names those that have values of their own. What holds a single joint, or ties
  more than two, becomes a tendon with a spring and a damper, as stiff as solref says for the mass at `qpos0`.
- Geoms become shapes, those that collide and are spheres or capsules also contact points. Pairs of bodies of which no
  geoms may touch (contype and conaffinity, `exclude`) are excluded from contact; those of `pair` always touch.
- Mocap bodies are bodies on free joints whose motion is prescribed: their poses come last in q, after `qpos`.
- Motors drive joints or bodies; position, velocity and general actuators become servos, with their activations
  and force ranges.
- Models that `<attach>` puts into others are read with them; names of theirs begin with its `prefix`.
- `gravcomp` becomes a constant wrench on the body at its centre of mass, called "gravcomp of" and its name;
  `Mechanism.replace` and parameters of gravity and mass let it follow.
- Sites become frames. Sensors of joints, sites and frames are read.
- Tendons become tendons, those that are nothing but springs through sites cables; muscles become muscles. Limits of
  tendons are rigid where `Tendon` says so; else they push back with a spring and a damper, as stiff as solref says.
- What the flags of `<option>` disable (contact, limit, gravity, …) does not act.
- Friction of `condim` 3, 4 and 6: against sliding, spinning and rolling. Of two geoms the larger coefficients and
  `condim` count, or those of the higher `priority`.

What has no counterpart is omitted with one warning, some sensors among it. Not read: cameras; keyframes have
`load_keyframes`.
"""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

from leastaction.errors import FormatError, MechanismError
from leastaction.formats._files import Folder, Notes, checked_options
from leastaction.formats._room import with_room
from leastaction.formats._rounded_loops import closed_to_digits
from leastaction.formats._xml import MAX_BYTES, Element
from leastaction.formats.keyframes import load_keyframes, note_bad_keyframes
from leastaction.formats.merge import merge_fixed_bodies
from leastaction.formats.mjcf._mjcf_bodies import Bodies
from leastaction.formats.mjcf._mjcf_compiler import compiled
from leastaction.formats.mjcf._mjcf_elements import Elements
from leastaction.formats.mjcf._mjcf_extension import restored
from leastaction.formats.mjcf._mjcf_flags import note_left_out, switch_off
from leastaction.formats.mjcf._mjcf_geoms import Geoms
from leastaction.formats.mjcf._mjcf_joint_forces import clipped
from leastaction.formats.mjcf._mjcf_sensors import Sensors
from leastaction.formats.mjcf._mjcf_source import prepare
from leastaction.mechanism import Mechanism, MechanismBuilder
from leastaction.mechanism._check import shown, suggestion


def load_mjcf(
    path: str | PathLike[str],
    *,
    composite: bool = True,
    keyframe: str | None = None,
    contacts: bool | str = True,
    merge_fixed: bool = False,
    strict: bool | None = None,
    meshes: bool = True,
    mocap: bool = True,
    allow_outside: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Mechanism:
    """Read an MJCF file.

    Args:
        path: of the file.
        composite: join the joints of a body into one composite joint where their axes meet in a point; False puts
            massless bodies between them.
        keyframe: name of the `<key>` in which the robot starts, see `Mechanism.home`; default the pose of the file.
        contacts: make contact points of the spheres and capsules that collide. "soft" does so, too, and takes the
            softness of geoms (`solref`, `solimp`) as `compliance` and `relaxation_time` of shapes, for `Minimal()`,
            for which limits of tendons give way, too; by default contacts are rigid, and a warning names the geoms of
            which the file says other values than MuJoCo.
        merge_fixed: make one body of each group of bodies that are fixed to each other.
        strict: True refuses inertias that no real body has and meshes that are missing but would give a body its
            mass; False keeps or leaves them out with a warning; None, the default, warns of inertias and refuses such
            meshes.
        meshes: keep meshes as shapes. Mesh files that are missing are omitted with one warning.
        mocap: make mocap bodies bodies whose motion is prescribed, see `MechanismBuilder.prescribe`, each with a pose
            in q; False fixes them to the world.
        allow_outside: let the file name others by absolute paths, and files elsewhere that are no models, meshes or
            pictures.
        max_bytes: limit of the size of each file.

    Raises:
        FormatError: naming the file, the line and the element.
    """
    soft = isinstance(contacts, str) and contacts == "soft"
    if not soft and not isinstance(contacts, bool):
        raise FormatError(f'contacts must be True, False or "soft", got {shown(contacts)}')
    contacts = bool(contacts)
    flags = {"composite": composite, "merge_fixed": merge_fixed, "meshes": meshes}
    flags["mocap"] = mocap
    flags |= {"allow_outside": allow_outside, "strict": strict is True if strict is None else strict}
    path = checked_options(path, max_bytes, **flags)
    notes = Notes(path)
    source, attached = prepare(path, Folder.of(path, allow_outside, max_bytes), notes, strict is not False)
    root = source.root
    model = compiled(source, attached, notes)
    switch_off(model, notes)
    note_left_out(model, notes)
    note_bad_keyframes(source.keys, model.nq, notes)
    builder = MechanismBuilder(root.get("model") or path.stem, strict=strict is True)
    try:
        bodies = Bodies(model, builder, notes, composite, mocap)
        bodies.read()
        Geoms(model, builder, notes, bodies, meshes=meshes, contacts=contacts, soft=soft).read()
        elements = Elements(model, builder, notes, bodies, soft)
        elements.read()
        Sensors(model, builder, notes, bodies, elements.sites).read(source.sensors)
        robot = restored(clipped(builder.build(), bodies.force_ranges, notes), source.extension, contacts)
        if len(model.actuator_trntype) and not robot.actuators:
            notes.add("all actuators, so that there is a control for each degree of freedom", f"nu = {robot.nu}")
    except MechanismError as error:
        raise _located(error, root) from None
    notes.warn()
    robot = closed_to_digits(with_room(robot, path), path)
    if keyframe is not None:
        robot = _at_keyframe(robot, keyframe, load_keyframes(path, allow_outside=allow_outside, max_bytes=max_bytes))
    return merge_fixed_bodies(robot) if merge_fixed else robot


def _at_keyframe(robot: Mechanism, name: str, keys: dict[str, Any]) -> Mechanism:
    """The robot with its home at a keyframe."""
    if not isinstance(name, str) or name not in keys:
        raise FormatError(f"there is no keyframe {name!r}{suggestion(name, keys) or f'; there are {list(keys)}'}")
    q, given = robot.home(), keys[name][: robot.nq]
    if len(given) not in (robot.nq, robot.nq - 7 * sum(body in robot.body_names for body in robot.prescribed)):
        raise FormatError(f"keyframe {name!r}: expected {robot.nq} numbers, got {len(given)}")
    q[: len(given)] = given  # mocap bodies come last, and a keyframe need not name them
    builder = robot.edit()
    builder.home(dict(zip(robot.coordinate_names, robot.normalize(q).tolist(), strict=True)))
    return builder.build()


def _located(error: MechanismError, root: Element) -> FormatError:
    """A complaint about the mechanism at the line of the body or joint that it names."""
    match = re.match(r"(body|joint) '(.*?)': ", str(error))
    if match:
        for element in root.walk():
            if element.tag in (match[1], "freejoint") and element.get("name") == match[2]:
                return element.error(str(error)[match.end() :])
    return root.error(str(error))
