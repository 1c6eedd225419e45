"""From an MJCF file to one self-contained document that MuJoCo's compiler may see.

Includes are expanded and asset files are read here, by the rules of `Folder`, and handed over in memory, so that the
compiler opens no file; models that the file attaches are prepared like it, and the compiler puts them in their places.
What does not shape the mechanism (pictures, sensors, keyframes, contact pairs) is taken out; what could grow without
bound is measured first.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from leastaction.formats._files import Folder, Notes
from leastaction.formats._xml import MAX_ELEMENTS, Element, read_xml, write_xml
from leastaction.formats.mjcf._mjcf_extension import EXTENSION

IGNORED = {"sensor", "keyframe", "visual", "statistic", "custom", "size"}
"""Sections that do not shape the mechanism."""
PICTURES = {"texture", "skin", "camera", "light", "layer"}
REFUSED = {
    "flexcomp": "flexible bodies are not supported",
    "flex": "flexible bodies are not supported",
}
MAX_MADE = 10_000
"""Limit of what one `<replicate>`, `<composite>` or `<attach>` may make."""
MAX_HEIGHTS = 10_000_000
"""Limit of the number of points of a height field."""
MAX_RESOLUTION = 100
"""Limit of the parameters of a built-in mesh."""
NAMES = {"name", "joint", "site", "body", "objname", "refname"}
"""Attributes of sensors that are names, of those that are read."""


class Source(NamedTuple):
    """A document and what was taken out of it.

    Attributes:
        root: the element `<mujoco>`.
        assets: contents of mesh, height-field and model files by the names that it uses for them.
        sensors: those of the file, and of the models that it attaches.
        keys: keyframes of the file.
        extension: the text that `save_mjcf` adds, or None.
        size: how many elements it stands for.
    """

    root: Element
    assets: dict[str, bytes]
    sensors: list[Element]
    keys: list[Element]
    extension: Element | None
    size: int


def prepare(path: Path, folder: Folder, notes: Notes, strict: bool) -> tuple[Source, list[Element]]:
    """Read an MJCF file and make it self-contained; with it come the roots of the models that it attaches.

    A mesh that is missing and would give a moving body its mass is refused, or noted if not `strict`.
    """
    reading = _Reading({}, {}, notes, strict)
    source = reading.prepared(path, folder, ())
    return source, [attached.root for _, attached in reading.models.values()]


class _Reading(NamedTuple):
    """What the documents of a model share.

    Attributes:
        assets: see `Source`.
        models: for each model file its name among the assets, and what was read of it.
        notes, strict: see `prepare`.
    """

    assets: dict[str, bytes]
    models: dict[Path, tuple[str, Source]]
    notes: Notes
    strict: bool

    def prepared(self, path: Path, folder: Folder, chain: tuple[Path, ...]) -> Source:
        """A document; `chain`: the files that attach it, the outermost first."""
        root = read_xml(path, folder.max_bytes)
        if root.tag != "mujoco":
            raise root.error("an MJCF file has the root element <mujoco>")
        expand_includes(root, path.resolve(), folder)
        attached = self._attached(root, folder, (*chain, path.resolve()))
        size = _check_growth(root, {name: model.size for name, model in attached.items()})
        sensors = [sensor for section in root.all("sensor") for sensor in section.children]
        keys = [key for section in root.all("keyframe") for key in section.all("key")]
        for place in (e for e in root.walk() if e.tag == "attach" and e.get("model") in attached):
            sensors += _prefixed(attached[place.required("model")].sensors, place.get("prefix") or "")
        texts = [t for section in root.all("custom") for t in section.all("text") if t.get("name") == EXTENSION]
        if texts and chain:
            self.notes.add("what leastaction alone knows of attached models", path.name)
        root.children = [child for child in root.children if child.tag not in IGNORED]
        for element in root.walk():
            element.children = [child for child in element.children if child.tag not in PICTURES]
            if element.tag == "material":
                element.attributes.pop("texture", None)
            if element.tag == "compiler":
                element.children = []
        # The compiler would simulate the model to find the length ranges of muscles.
        root.add("compiler").add("lengthrange", mode="none")
        geoms = _geom_names(root)
        _gather_assets(root, self.assets, folder, self.notes, self.strict)
        _leave_out_pairs(root, geoms - _geom_names(root), self.notes)
        return Source(root, self.assets, sensors, keys, texts[-1] if texts else None, size)

    def _attached(self, root: Element, folder: Folder, chain: tuple[Path, ...]) -> dict[str | None, Source]:
        """The models that a document may attach, by their names; their files become assets."""
        found: dict[str | None, Source] = {}
        for asset in [model for section in root.all("asset") for model in section.all("model")]:
            file = asset.required("file")
            path = folder.find(file, asset)
            if path is None:
                raise asset.error(f"attached file {file!r} does not exist")
            if path in chain:
                cycle = " -> ".join(step.name for step in (*chain[chain.index(path) :], path))
                raise asset.error(f"files attach each other in a cycle: {cycle}")
            if path not in self.models:
                inner = Folder.of(path, folder.allow_outside, folder.max_bytes, folder.packages)
                source = self.prepared(path, inner, chain)
                self.models[path] = f"model{len(self.models)}.xml", source
                self.assets[self.models[path][0]] = write_xml(source.root)[0].encode()
            asset.attributes["file"], source = self.models[path]
            found[asset.get("name") or source.root.get("model")] = source
        return found


def _prefixed(sensors: list[Element], prefix: str) -> list[Element]:
    """Sensors of an attached model, with the names that they and what they look at have there."""
    renamed = []
    for sensor in sensors:
        attributes = {name: prefix + x if name in NAMES else x for name, x in sensor.attributes.items()}
        renamed.append(Element(sensor.tag, attributes, sensor.line, sensor.file, owner=sensor.owner))
    return renamed


def _geom_names(root: Element) -> set[str | None]:
    return {element.get("name") for element in root.walk() if element.tag == "geom"}


def _leave_out_pairs(root: Element, gone: set[str | None], notes: Notes) -> None:
    """Remove contact pairs of geoms that were omitted with their meshes."""
    for section in root.all("contact"):
        for pair in section.all("pair"):
            if pair.get("geom1") in gone or pair.get("geom2") in gone:
                notes.add("contact pairs", pair.get("name") or f"{pair.get('geom1')}-{pair.get('geom2')}")
                section.children.remove(pair)


# ---------------------------------------------------------------------- includes


def expand_includes(root: Element, path: Path, folder: Folder) -> None:
    """Replace every `<include file=...>` by the contents of that file, found relative to the main file or to its own.

    As in MuJoCo, no file may be included twice; so there is neither a cycle nor an explosion.
    """
    seen = {path}
    stack: list[tuple[Element, tuple[Path, ...]]] = [(root, (path,))]
    total = 0
    while stack:
        parent, chain = stack.pop()
        waiting = [(child, chain) for child in reversed(parent.children)]
        parent.children = []
        while waiting:
            child, files = waiting.pop()
            total += 1
            if total > MAX_ELEMENTS:
                raise child.error(f"more than {MAX_ELEMENTS} elements, with those of included files")
            if child.tag == "include":
                target = _included(child, files, seen, folder)
                included = read_xml(target, folder.max_bytes)
                if not included.tag.startswith("mujoco") and not target.is_relative_to(folder.path):
                    raise child.error(f"file {child.required('file')!r} outside the model's folder is no MJCF file")
                contents = included.children
                waiting += [(element, (*files, target)) for element in reversed(contents)]
            else:
                parent.children.append(child)
                stack.append((child, files))


def _included(include: Element, chain: tuple[Path, ...], seen: set[Path], folder: Folder) -> Path:
    name = include.required("file")
    target = folder.find(name, include) or folder.find_beside(name, include)
    if target is None:
        raise include.error(f"included file {name!r} does not exist")
    if target in chain:
        cycle = " -> ".join(file.name for file in (*chain[chain.index(target) :], target))
        raise include.error(f"files include each other in a cycle: {cycle}")
    if target in seen:
        raise include.error(f"file {name!r} is included twice")
    seen.add(target)
    return target


# ---------------------------------------------------------------------- bounds


def _check_growth(root: Element, attached: dict[str | None, int]) -> int:
    """Refuse elements that stand for too many others, kinds that have no counterpart, and NaN.

    Args:
        root: of the document.
        attached: how many elements each model has that it may attach.

    Returns:
        How many elements the document stands for.
    """
    made: dict[int, int] = {}
    for element in reversed(list(root.walk())):  # children before parents
        if element.tag in REFUSED:
            raise element.error(REFUSED[element.tag])
        count = 1 + sum(made.pop(id(child)) for child in element.children)
        if element.tag == "replicate":
            count *= int(max(1.0, element.number("count", 1.0)))
        if element.tag == "composite":
            count *= int(math.prod(max(1.0, x) for x in element.numbers("count") or ()))
        if element.tag == "attach":
            count += attached.get(element.get("model"), 0)
        if element.tag in ("replicate", "composite", "attach") and count > MAX_MADE:
            raise element.error(f"stands for more than {MAX_MADE} elements")
        if element.tag == "hfield":
            points = element.number("nrow", 0.0) * element.number("ncol", 0.0)
            if points > MAX_HEIGHTS:
                raise element.error(f"has more than {MAX_HEIGHTS} points")
        if element.get("builtin") is not None and max(element.numbers("params") or (0.0,)) > MAX_RESOLUTION:
            raise element.error(f"has a parameter above {MAX_RESOLUTION}")
        made[id(element)] = count
        for name, value in element.attributes.items():
            # MuJoCo takes NaN with a remark on the terminal.
            if name != "name" and "nan" in value.lower().split():
                raise element.error(f"attribute {name}={value!r}: expected finite numbers")
    return made[id(root)]


# ---------------------------------------------------------------------- assets


def _gather_assets(root: Element, assets: dict[str, bytes], folder: Folder, notes: Notes, strict: bool) -> None:
    """Add the files of meshes and height fields to `assets`; take out what is missing, and the geoms made of it."""
    settings: dict[str, str] = {}
    for compiler in root.all("compiler"):
        settings.update(compiler.attributes)
        for name in ("meshdir", "texturedir", "assetdir", "strippath"):
            compiler.attributes.pop(name, None)
    directory = settings.get("meshdir", settings.get("assetdir", ""))
    missing: dict[tuple[str, str], str] = {}
    for section in root.all("asset"):
        kept = []
        for asset in section.children:
            file = asset.get("file")
            if file is None or asset.tag not in ("mesh", "hfield"):
                kept.append(asset)
                continue
            file = file.replace("\\", "/")
            name = asset.attributes.setdefault("name", Path(file).stem)
            file = Path(file).name if settings.get("strippath") == "true" else file
            # As in MuJoCo: first from the main file's folder and meshdir, then beside the file that names it.
            path = folder.find(str(Path(directory) / file), asset) or folder.find_beside(file, asset)
            if path is None:
                missing[asset.tag, name] = file
                notes.add("meshes that were not found", file)
                continue
            asset.attributes["file"] = f"asset{len(assets)}{path.suffix}"
            assets[asset.attributes["file"]] = folder.read(path)
            kept.append(asset)
        section.children = kept
    if missing:
        lost = _drop_geoms(root, missing, settings.get("inertiafromgeom") == "true")
        for geom, body, names in lost:
            if strict:
                raise geom.error(
                    f"mesh {names[0][1]!r} would give {body.label} its mass, but {missing[names[0]]!r} "
                    "is missing; add an <inertial>, or pass strict=False to leave it out with a warning"
                )
            notes.add("masses of bodies from those meshes", body.get("name") or f"body in line {body.line}")


def _drop_geoms(
    root: Element, missing: dict[tuple[str, str], str], inertia_from_geoms: bool
) -> list[tuple[Element, Element, list[tuple[str, str]]]]:
    """Take out the geoms whose mesh is missing; give back those that would have given a moving body its mass.

    Each comes with its body and the names of the assets that it lacks.
    """
    lost = []
    classes = _geom_classes(root)
    # Element, the body that it is in, whether that moves, and the class that holds for geoms in it.
    stack: list[tuple[Element, Element, bool, str]] = [(e, e, False, "") for e in root.all("worldbody")]
    while stack:
        parent, body, moves, childclass = stack.pop()
        kept = []
        for child in parent.children:
            if child.tag != "geom":
                kept.append(child)
                inside = child if child.tag == "body" else body
                inside_moves = moves or (child.tag == "body" and _has_joint(child))
                stack.append((child, inside, inside_moves, child.get("childclass") or childclass))
                continue
            values = {**classes.get(child.get("class") or childclass, classes[""]), **child.attributes}
            named = [(kind, values.get(kind, "")) for kind in ("mesh", "hfield")]
            names = [name for name in named if name in missing]
            if not names:
                kept.append(child)
                continue
            explicit = body.find("inertial") is not None and not inertia_from_geoms
            massless = _is_zero(values.get("mass", values.get("density")))
            if moves and not (explicit or massless):
                lost.append((child, body, names))
        parent.children = kept
    return lost


def _has_joint(body: Element) -> bool:
    stack = [body]
    while stack:
        for child in stack.pop().children:
            if child.tag in ("joint", "freejoint"):
                return True
            if child.tag in ("frame", "replicate"):
                stack.append(child)
    return False


def _is_zero(text: str | None) -> bool:
    try:
        return text is not None and float(text) == 0.0
    except ValueError:
        return False  # the compiler complains about it


def _geom_classes(root: Element) -> dict[str, dict[str, str]]:
    """Default attributes of geoms by class, those of enclosing classes included; "" is the outermost."""
    classes: dict[str, dict[str, str]] = {"": {}}
    for outermost in root.all("default"):
        stack = [(outermost, classes[""])]
        while stack:
            default, inherited = stack.pop()
            values = dict(inherited)
            for geom in default.all("geom"):
                values.update(geom.attributes)
            if default is outermost:
                classes[""].update(values)
            classes.setdefault(default.get("class") or "main", {}).update(values)
            stack += [(nested, values) for nested in default.all("default")]
    return classes
