"""Opening USD stages: files that a stage may name, units, the upward axis, attributes of prims as checked numbers."""

from __future__ import annotations

import math
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.errors import FormatError, MechanismError
from leastaction.mechanism import Pose
from leastaction.typing import FloatArray

SUFFIXES = (".usd", ".usda", ".usdc", ".usdz")

MAX_PRIMS = 200_000
"""Prims of a stage, those of instances among them; hostile files multiply them by references."""

SHEAR = 1e-4
"""Cosine of the angle between axes of a frame up to which they count as orthogonal."""


def layer_of(path: Path, max_bytes: int, allow_outside: bool) -> Any:
    """The root layer of a file, after the files that it names, through others, are judged.

    Those must lie in its folder, or be layers at places relative to the layer that names them, unless
    `allow_outside`; none may be larger than `max_bytes`. Files that are missing are left to USD, which warns of them.
    """
    Sdf = require("pxr.Sdf", "usd")
    folder, seen, root = path.resolve().parent, set(), None
    waiting = [path.resolve()]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        layer = _opened(Sdf, file, max_bytes)
        root = layer if root is None else root
        for name in filter(None, layer.GetCompositionAssetDependencies()):
            place = urllib.parse.urlsplit(name)
            relative = not (Path(name).is_absolute() or place.scheme)
            found = (file.parent / name).resolve() if relative else Path(name)
            judged = found.is_relative_to(folder) or (relative and found.suffix.lower() in SUFFIXES)
            if not (allow_outside or judged):
                raise FormatError(
                    f"file {name!r} lies outside the stage's folder {str(folder)!r}; pass allow_outside=True if you "
                    "trust the stage",
                    file=file,
                )
            if found.is_file():
                waiting.append(found)
    _count_prims(root, path)
    return root


def _opened(Sdf: Any, file: Path, max_bytes: int) -> Any:
    try:
        size = file.stat().st_size
    except OSError as error:
        raise FormatError(f"the file cannot be read: {error.strerror}", file=file) from None
    if not file.is_file():
        raise FormatError("this is no file", file=file)
    if size > max_bytes:
        raise FormatError(f"the file has {size} bytes, more than max_bytes={max_bytes}", file=file)
    known = Sdf.Layer.Find(str(file)) is not None
    layer = guarded(file, lambda: Sdf.Layer.FindOrOpen(str(file)))
    if layer is None:
        raise FormatError("USD cannot read this file", file=file)
    if known:
        guarded(file, layer.Reload)  # the file may have changed since this process read it
    return layer


def layer_of_text(text: str) -> Any:
    """A layer in memory of a text in USDA, which names no other file."""
    Sdf = require("pxr.Sdf", "usd")
    layer = Sdf.Layer.CreateAnonymous(".usda")
    if not guarded(Path("<string>"), lambda: layer.ImportFromString(text)):
        raise FormatError("USD cannot read this text", file="<string>")
    if names := [*filter(None, layer.GetCompositionAssetDependencies())]:
        raise FormatError(f"a text cannot name files such as {names[0]!r}; load the file", file="<string>")
    _count_prims(layer, Path("<string>"))
    return layer


def _count_prims(root: Any, file: Path) -> None:
    """Refuse layers whose references within themselves multiply prims beyond `MAX_PRIMS` before they are composed."""
    known: dict[Any, int] = {}

    def count(path: Any, below: frozenset[Any]) -> int:
        if path in known:
            return known[path]
        spec = root.GetPrimAtPath(path)
        if spec is None or path in below or len(below) > 500:
            return 0
        total = 1
        for child in spec.nameChildren:
            total += count(child.path, below | {path})
        arcs = [*spec.referenceList.GetAddedOrExplicitItems(), *spec.payloadList.GetAddedOrExplicitItems()]
        targets = [arc.primPath for arc in arcs if not arc.assetPath and not arc.primPath.isEmpty]
        inherits = (*spec.inheritPathList.GetAddedOrExplicitItems(), *spec.specializesList.GetAddedOrExplicitItems())
        for target in (*targets, *inherits):
            total += count(target, below | {path})
        known[path] = total
        if total > MAX_PRIMS:
            raise FormatError(f"has more than {MAX_PRIMS} prims", file=file, element=str(path))
        return total

    total = sum(count(spec.path, frozenset()) for spec in root.rootPrims)
    if total > MAX_PRIMS:
        raise FormatError(f"has more than {MAX_PRIMS} prims", file=file)


def guarded(file: Path, call: Callable[[], Any]) -> Any:
    """What a call of USD gives back; its errors as `FormatError`."""
    Tf = require("pxr.Tf", "usd")
    try:
        return call()
    except Tf.ErrorException as error:
        try:
            text = "; ".join(one.commentary.strip() for one in error.args)
        except (UnicodeDecodeError, AttributeError):  # it quotes bytes of the file that are no text
            text = "the file is no text in UTF-8"
        raise FormatError(f"USD cannot read it: {text[:300]}", file=file) from None


class Stage:
    """A stage in SI units with z upwards.

    Attributes:
        stage: of USD.
        file: where it came from.
        length: metres per unit of length.
        mass: kilograms per unit of mass.
        upright: rotation of the stage's axes into those with z upwards, shape (3, 3).
    """

    def __init__(self, layer: Any, file: Path) -> None:
        Usd, UsdGeom, UsdPhysics = (require(f"pxr.{name}", "usd") for name in ("Usd", "UsdGeom", "UsdPhysics"))
        self.Usd, self.UsdGeom, self.UsdPhysics = Usd, UsdGeom, UsdPhysics
        self.file = file
        self.stage = guarded(file, lambda: Usd.Stage.Open(layer))
        self.length = float(UsdGeom.GetStageMetersPerUnit(self.stage))
        self.mass = float(UsdPhysics.GetStageKilogramsPerUnit(self.stage))
        for name, value in (("metersPerUnit", self.length), ("kilogramsPerUnit", self.mass)):
            if not 1e-30 < value < 1e30:  # their powers are numbers, too
                raise FormatError(f"{name} must be positive, and no absurd number, got {value}", file=file)
        up = str(UsdGeom.GetStageUpAxis(self.stage))
        y_up = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
        self.upright = np.eye(3) if up == "Z" else y_up
        self._cache = UsdGeom.XformCache()

    def prims(self) -> Iterator[Any]:
        """All prims that are active and defined, parents first, those within instances too."""
        Usd = self.Usd
        for number, prim in enumerate(Usd.PrimRange.Stage(self.stage, Usd.TraverseInstanceProxies())):
            if number > MAX_PRIMS:
                raise FormatError(f"has more than {MAX_PRIMS} prims", file=self.file)
            yield prim

    def error(self, prim: Any, message: str) -> FormatError:
        """A `FormatError` at a prim."""
        return FormatError(message, file=self.file, element=str(prim.GetPath()))

    def frame(self, prim: Any) -> tuple[FloatArray, FloatArray]:
        """Linear part, with scale, and origin [m] of a prim's frame in the world."""
        M = np.array(self._cache.GetLocalToWorldTransform(prim))
        if not np.isfinite(M).all():
            raise self.error(prim, "its transform is not finite")
        return self.upright @ M[:3, :3].T, self.upright @ M[3, :3] * self.length

    def rotation(self, prim: Any) -> FloatArray:
        """Rotation of a prim's frame in the world: its linear part without scale (polar decomposition)."""
        A, _ = self.frame(prim)
        W, s, V = np.linalg.svd(A)
        if s[-1] <= 1e-9 * s[0] or np.linalg.det(A) <= 0.0:
            raise self.error(prim, "its transform mirrors or flattens; a body needs a frame that does neither")
        return W @ V

    def pose(self, prim: Any) -> Pose:
        """Pose of a prim's frame in the world, without scale."""
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = self.rotation(prim), self.frame(prim)[1]
        return Pose.from_matrix(X)

    # ------------------------------------------------------------------ attributes

    def number(self, prim: Any, name: str, default: float, *, infinite: bool = False) -> float:
        """An attribute as a number; the default where it is not written."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
        if value is None:
            return default
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise self.error(prim, f"{name}: expected a number, got {value!r:.60}") from None
        if math.isnan(number) or (math.isinf(number) and not infinite):
            raise self.error(prim, f"{name}: expected a finite number, got {number}")
        return number

    def vector(self, prim: Any, name: str, default: tuple[float, ...] | None) -> Any:
        """An attribute as a vector of as many numbers, None where it is not written and there is no default."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
        if value is None:
            return default
        try:
            numbers = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise self.error(prim, f"{name}: expected numbers, got {value!r:.60}") from None
        if numbers.shape != (3,) or np.isnan(numbers).any():
            raise self.error(prim, f"{name}: expected three numbers, got {value!r:.60}")
        return tuple(numbers.tolist())

    def quaternion(self, prim: Any, name: str) -> tuple[float, ...]:
        """An attribute as a unit quaternion (w, x, y, z); that of no rotation where it is not written, or zero."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute and attribute.HasAuthoredValue() else None
        if value is None:
            return (1.0, 0.0, 0.0, 0.0)
        try:
            q = np.array([float(value.GetReal()), *map(float, value.GetImaginary())])
        except (AttributeError, TypeError, ValueError):
            raise self.error(prim, f"{name}: expected a quaternion, got {value!r:.60}") from None
        size = float(np.linalg.norm(q))
        if size == 0.0:
            return (1.0, 0.0, 0.0, 0.0)
        if not math.isfinite(size):
            raise self.error(prim, f"{name}: expected a unit quaternion, got {tuple(q.tolist())}")
        return tuple((q / size).tolist())

    def token(self, prim: Any, name: str, default: str, known: tuple[str, ...] = ()) -> str:
        """An attribute as a word, one of those that are known."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute else None
        word = default if value is None else str(value)
        if known and word not in known:
            raise self.error(prim, f"{name}: expected {', '.join(known)}, got {word!r:.60}")
        return word

    def flag(self, prim: Any, name: str, default: bool) -> bool:
        """An attribute as True or False."""
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute else None
        return default if value is None else bool(value)

    def guard(self, prim: Any, call: Callable[[], Any]) -> Any:
        """What a call gives back; a `MechanismError` as `FormatError` at the prim."""
        try:
            return call()
        except MechanismError as error:
            raise self.error(prim, str(error)) from None
