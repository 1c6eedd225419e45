"""Fuzzes the readers of files: every spoiled file is read or refused with a typed error, in bounded time and memory.

    python tools/fuzz.py                              # a thousand files of each kind
    python tools/fuzz.py --count 100000 --kinds mjcf  # a night's worth of one kind
    python tools/fuzz.py --case mjcf:0:417            # one case again, with its traceback; the file stays in build/fuzz

Files are made from whole ones by seeded mutations, so each case has a name: kind, seed, number. Each kind is read in a
process of its own, which is ended where one case takes longer than `SECONDS` or the process more than `MEMORY`, and
begun anew behind the case. Exits with 1 where a case failed.
"""

import argparse
import copy
import io
import json
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "fuzz"

SECONDS = 30.0
"""Longest time of one case [s]; whole files take some milliseconds."""

MEMORY = 4 * 2**30
"""Most memory of a process [bytes], where the system can limit it."""

ENDINGS = {"urdf": ".urdf", "xacro": ".xacro", "mjcf": ".xml", "sdf": ".sdf", "usd": ".usda", "run": ".npz"}
ENDINGS["solution"] = ".npz"

XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="size" value="0.3"/>
  <xacro:macro name="link" params="name mass:=1 *where">
    <link name="${name}"><inertial><xacro:insert_block name="where"/><mass value="${mass}"/>
      <inertia ixx="${mass * size**2}" iyy="${mass * size**2}" izz="${0.5 * mass * size**2}" ixy="0" ixz="0" iyz="0"/>
    </inertial></link>
  </xacro:macro>
  <xacro:link name="base"><origin xyz="0 0 ${size / 2}"/></xacro:link>
  <xacro:link name="tip" mass="${2 * size}"><origin xyz="0 0 ${-size}"/></xacro:link>
  <xacro:if value="${size > 0.1}">
    <joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 1 0"/>
      <limit lower="${-pi / 2}" upper="${pi / 2}" effort="1" velocity="1"/></joint>
  </xacro:if>
</robot>
"""

SDF = """<sdf version="1.9"><model name="arm">
  <link name="base"><pose>0 0 0.2 0 0 0.5</pose><inertial><mass>2</mass></inertial></link>
  <link name="upper"><pose relative_to="shoulder"/>
    <inertial><pose>0.1 0.02 0.3 0.2 0 0</pose><mass>1.5</mass>
      <inertia><ixx>0.02</ixx><ixy>0.001</ixy><iyy>0.03</iyy><izz>0.01</izz></inertia></inertial>
    <collision name="tip"><pose>0 0 -0.4 0 0 0</pose><geometry><box><size>0.1 0.1 0.2</size></box></geometry>
      <surface><friction><ode><mu>0.7</mu></ode></friction></surface></collision></link>
  <joint name="hold" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="shoulder" type="revolute"><pose relative_to="base">0.1 0 0.3 0.1 0.2 0.3</pose>
    <parent>base</parent><child>upper</child>
    <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>30</effort></limit>
      <dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis></joint>
</model></sdf>
"""

USD = """#usda 1.0
( metersPerUnit = 1
  kilogramsPerUnit = 1
  upAxis = "Z" )
def PhysicsScene "physics" {}
def Xform "arm" ( prepend apiSchemas = ["PhysicsArticulationRootAPI"] )
{
    def Xform "base" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )
    {
        float physics:mass = 2
        float3 physics:diagonalInertia = (0.1, 0.1, 0.1)
    }
    def Xform "link" ( prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"] )
    {
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 0, -0.2)
        float3 physics:diagonalInertia = (0.01, 0.01, 0.002)
        double3 xformOp:translate = (0, 0, 0.5)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        def Cube "shape" ( prepend apiSchemas = ["PhysicsCollisionAPI"] )
        {
            double size = 0.1
        }
    }
    def PhysicsRevoluteJoint "hinge" ( prepend apiSchemas = ["PhysicsDriveAPI:angular"] )
    {
        uniform token physics:axis = "Y"
        rel physics:body0 = </arm/base>
        rel physics:body1 = </arm/link>
        point3f physics:localPos0 = (0, 0, 0.5)
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
        float drive:angular:physics:stiffness = 1
    }
}
"""

NUMBERS = ["0", "1", "-1", "2.5", "0.001", "1e308", "-1e308", "1e-320", "nan", "inf", "-inf", "1e999", "9" * 20]
NUMBERS += ["0x10", "1,5", "1_000", "½"]
WORDS = ["", " ", "\0", "world", "//", "..", "../../../../etc/passwd", "&#0;", "]]>", "<!--", "é" * 50, "a" * 5000]


def whole(kind: str) -> list[bytes]:
    """Files to spoil."""
    if kind in ("run", "solution"):
        return [path.read_bytes() for path in sorted((ROOT / "tests" / "data" / "files").glob(f"{kind}*.npz"))]
    if kind in ("xacro", "sdf", "usd"):
        return [{"xacro": XACRO, "sdf": SDF, "usd": USD}[kind].encode()]
    import leastaction as la

    save = {"urdf": la.formats.save_urdf, "mjcf": la.formats.save_mjcf}[kind]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in la.robots.catalogue():
            path = Path(folder) / f"robot{ENDINGS[kind]}"
            try:
                save(la.robots.get(entry.name), path, lossy=True)
            except la.LeastActionError:
                continue  # a robot that the format cannot have
            found.append(path.read_bytes())
    return found


def spoiled(kind: str, rng: random.Random, files: list[bytes]) -> bytes:
    """One of the files with some mutations."""
    data = rng.choice(files)
    if kind in ("run", "solution"):
        return spoiled_archive(data, rng)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        if kind != "usd" and rng.random() < 0.8:
            data = spoiled_xml(data, rng, files)
            continue
        data = spoiled_text(data.decode("utf-8", "surrogateescape"), rng, files).encode("utf-8", "surrogateescape")
    return data if rng.random() < 0.9 else spoiled_bytes(data, rng)


def spoiled_text(text: str, rng: random.Random, files: list[bytes]) -> str:
    """One mutation of words, numbers, names, elements or lines."""
    choice = rng.randrange(8)
    if choice <= 2:  # a number, or a value in quotes
        spans = [m.span() for m in re.finditer(r"-?\d+\.?\d*(?:e-?\d+)?" if choice < 2 else r'(?<=")[^"]*(?=")', text)]
        if spans:
            a, b = rng.choice(spans)
            return text[:a] + rng.choice(NUMBERS if rng.random() < 0.7 else WORDS) + text[b:]
    lines = text.splitlines(keepends=True) or [""]
    i, j = sorted((rng.randrange(len(lines)), rng.randrange(len(lines))))
    if choice == 3:  # gone
        return "".join(lines[:i] + lines[min(j, i + rng.randrange(1, 6)) :])
    if choice == 4:  # twice
        return "".join(lines[:j] + lines[i:j][: rng.randrange(1, 200)] * rng.choice((1, 1, 50)) + lines[j:])
    if choice == 5:  # in another place
        return "".join(lines[:i] + [lines[j]] + lines[i:j] + lines[j + 1 :])
    if choice == 6:  # of another file
        other = rng.choice(files).decode("utf-8", "replace").splitlines(keepends=True) or [""]
        k = rng.randrange(len(other))
        return "".join(lines[:i] + other[k : k + rng.randrange(1, 20)] + lines[i:])
    names = [m.span() for m in re.finditer(r"\b[a-zA-Z_]\w+\b", text)]
    (a, b), (c, d) = rng.choice(names or [(0, 0)]), rng.choice(names or [(0, 0)])
    return text[:a] + text[c:d] + text[b:]


def spoiled_xml(data: bytes, rng: random.Random, files: list[bytes]) -> bytes:
    """One mutation of elements and attributes; what is well formed stays so."""
    ElementTree.register_namespace("xacro", "http://www.ros.org/wiki/xacro")
    try:
        tree = ElementTree.fromstring(data)
        other = ElementTree.fromstring(rng.choice(files)) if rng.random() < 0.2 else tree
    except ElementTree.ParseError:
        return data
    parents = [(parent, child) for parent in tree.iter() for child in parent]
    elements, choice = list(tree.iter()), rng.randrange(8)
    one, donor = rng.choice(elements), rng.choice(list(other.iter()))
    if choice <= 2 and one.attrib:  # another value, or a word of it
        name = rng.choice(sorted(one.attrib))
        value = rng.choice(NUMBERS if rng.random() < 0.6 else WORDS)
        words = one.attrib[name].split()
        if len(words) > 1 and rng.random() < 0.6:
            words[rng.randrange(len(words))] = value
            value = " ".join(words)
        one.attrib[name] = value.replace("\0", "")
    elif choice == 3 and one.attrib:
        del one.attrib[rng.choice(sorted(one.attrib))]
    elif choice == 4 and donor.attrib:
        name = rng.choice(sorted(donor.attrib))
        one.attrib[name] = donor.attrib[name]
    elif choice == 5 and parents:
        parent, child = rng.choice(parents)
        parent.remove(child)
    elif choice == 6 and donor is not tree:
        one.append(copy.deepcopy(donor))
    elif choice == 7:
        one.tag = donor.tag if rng.random() < 0.7 else "x"
    elif one.text and one.text.strip():
        one.text = rng.choice(NUMBERS)
    return ElementTree.tostring(tree)


def spoiled_bytes(data: bytes, rng: random.Random) -> bytes:
    """Cut off, or with other bytes."""
    if rng.random() < 0.3:
        return data[: rng.randrange(len(data) + 1)]
    changed = bytearray(data)
    for _ in range(rng.choice((1, 4, 30))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def spoiled_archive(data: bytes, rng: random.Random) -> bytes:
    """Bytes of the archive, or an array in it: of another shape, kind, size, with other values or other text."""
    if rng.random() < 0.2:
        return spoiled_bytes(data, rng)
    arrays = dict(np.load(io.BytesIO(data)))
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(sorted(arrays))
        array = arrays[name]
        if array.dtype.kind == "U" and rng.random() < 0.8:
            text = str(array)
            for _ in range(rng.choice((1, 3))):
                text = spoiled_text(text, rng, [text.encode()]) if rng.random() < 0.5 else spoiled_json(text, rng)
            arrays[name] = np.array(text)
        else:
            arrays[name] = spoiled_array(array, rng)
        if rng.random() < 0.1:
            del arrays[name]
            arrays[rng.choice(("q", "v", "t", "x" * 300, "../x"))] = array
        if not arrays:
            break
    out = io.BytesIO()
    np.savez(out, **arrays) if rng.random() < 0.5 else np.savez_compressed(out, **arrays)
    if rng.random() < 0.05:  # a member twice
        with zipfile.ZipFile(out, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            archive.writestr(archive.namelist()[0], b"x")
    return out.getvalue()


def spoiled_json(text: str, rng: random.Random) -> str:
    """A value of a JSON text is another one."""
    try:
        tree = json.loads(text)
    except ValueError:
        return text
    places: list = []

    def walk(node) -> None:
        for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            walk(node[key])

    walk(tree)
    if places:
        node, key = rng.choice(places)
        node[key] = rng.choice((None, True, -1, 0, 1e308, 10**30, "", "x", [], {}, [[]], float("nan"), node[key]))
    return json.dumps(tree)


def spoiled_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Of another shape, kind or size, or with other values."""
    choice = rng.randrange(7)
    if choice == 0:
        return array[..., : rng.randrange(array.shape[-1] + 1)] if array.ndim else array[None]
    if choice == 1:
        return np.concatenate([array, array]) if array.ndim else np.array([array, array])
    if choice == 2:
        return array.T[None] if rng.random() < 0.5 else array.ravel()
    if choice == 3:
        kinds = (np.int8, np.float16, np.complex128, "U8", "S3", ">f8", "M8[s]", bool)
        return np.zeros(array.shape, rng.choice(kinds))
    if choice == 4:
        return np.zeros((0, *array.shape[1:]), array.dtype)
    changed = array.copy()
    if changed.size and changed.dtype.kind in "fiu":
        for _ in range(rng.choice((1, 5))):
            value = rng.choice((np.nan, np.inf, -1, 0, 1e300, 2**31, -(2**62)))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                changed.reshape(-1)[rng.randrange(changed.size)] = np.array(value).astype(changed.dtype)
    return changed


def case(kind: str, seed: int, number: int, files: list[bytes]) -> Path:
    """The file of a case."""
    path = FOLDER / f"{kind}-{seed}-{number}{ENDINGS[kind]}"
    path.write_bytes(spoiled(kind, random.Random(f"{kind} {seed} {number}"), files))
    return path


def read(kind: str, path: Path) -> None:
    """What a user does first with such a file."""
    import leastaction as la

    if kind == "run":
        run = la.Trajectory.load(path)
        _ = run.energy, run.v, str(run)
    elif kind == "solution":
        solution = la.optimize.load(path)
        _ = solution.trajectory.energy, str(solution)
    else:
        robot = la.load(path)
        _ = str(robot), la.dynamics.body_poses(robot, robot.home())


def work(kind: str, seed: int, start: int, count: int) -> None:
    """A process that reads cases; it says what it does, line by line."""
    import leastaction as la

    warnings.simplefilter("ignore")
    files = whole(kind)
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print("ready", flush=True)
    for number in range(start, start + count):
        print(f"begin {number}", flush=True)
        path = case(kind, seed, number, files)
        try:
            read(kind, path)
            result = "read"
        except la.LeastActionError as error:
            result = "refused" if str(error).strip() and len(str(error)) < 4000 else "says nothing, or too much"
        except Exception as error:  # what is looked for
            place = traceback.extract_tb(error.__traceback__)[-1]
            result = f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}: {str(error)[:100]}"
        if result in ("read", "refused"):
            path.unlink()
        print(f"end {number} {' '.join(result.split())}", flush=True)


def watch(kind: str, seed: int, count: int) -> tuple[Counter, list[str]]:
    """Results of all cases of a kind, by their number; failures by name."""
    results: Counter = Counter()
    failures, number = [], 0
    while number < count:
        command = [sys.executable, __file__, "--worker", kind, str(seed), str(number), str(count - number)]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
        )
        lines: queue.Queue = queue.Queue()
        threading.Thread(
            target=lambda out=child.stdout, to=lines: [to.put(x) for x in [*out, None]], daemon=True
        ).start()
        # the first lines wait for imports and whole files, the first case for what is imported where it is used
        limit, begun, first = 10 * SECONDS, number, number
        while True:
            try:
                line = lines.get(timeout=limit)
            except queue.Empty:
                child.kill()
                results["too long"] += 1
                failures.append(f"{kind}:{seed}:{begun}: longer than {SECONDS:g} s")
                break
            if line is None:
                if begun < count and number < count:
                    results["died"] += 1
                    failures.append(f"{kind}:{seed}:{begun}: the process died with {child.wait()}")
                break
            word, _, rest = line.strip().partition(" ")
            if word == "begin":
                begun = int(rest)
                limit = 10 * SECONDS if begun == first else SECONDS
            elif word == "end":
                text = rest.partition(" ")[2]
                results[text if text in ("read", "refused") else "raw error"] += 1
                if text not in ("read", "refused"):
                    failures.append(f"{kind}:{seed}:{begun}: {text}")
                number = begun + 1
            if number >= count:
                break
        child.wait()
        number = max(number, begun + 1)
    return results, failures


def main() -> None:
    """Fuzz, or do one case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(ENDINGS))
    parser.add_argument("--case", help="kind:seed:number of one case")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("LEASTACTION_QUIET", "1")
    if options.worker:
        kind, *numbers = options.worker
        work(kind, *map(int, numbers))
    elif options.case:
        kind, seed, number = options.case.split(":")
        path = case(kind, int(seed), int(number), whole(kind))
        print(path)
        read(kind, path)
    else:
        sys.exit(fuzz(options.kinds.split(","), options.seed, options.count))


def fuzz(kinds: list[str], seed: int, count: int) -> int:
    """All kinds, with a line for each and one for each failure; 1 where there is any."""
    bad = 0
    for kind in kinds:
        began = time.perf_counter()
        results, failures = watch(kind, seed, count)
        counts = ", ".join(f"{name} {number}" for name, number in sorted(results.items()))
        print(f"{kind}: {sum(results.values())} files in {time.perf_counter() - began:.0f} s: {counts}", flush=True)
        for line in failures[:20]:
            print(f"  {line}", flush=True)
        bad += len(failures)
    return int(bad > 0)


if __name__ == "__main__":
    main()
