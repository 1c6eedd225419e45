"""Files of runs that were made to hurt: every one is refused, before anything reads or allocates what it claims."""

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import leastaction as la
from leastaction._files import _archive
from leastaction.trajectory.run_checks import FLOATS, OF_STATES, WHOLE


def run_of(robot, states=5, **more):
    t = 0.01 * np.arange(states)
    q = np.tile(robot.neutral(), (states, 1))
    return la.Trajectory(robot, la.RungeKutta(), 0.01, t, q, {"v": np.zeros((states, robot.nv)), **more})


@pytest.fixture
def saved(tmp_path):
    robot = la.robots.free_body()
    log = np.array([[0, -1, 0, *np.zeros(7)]], float)
    return run_of(robot, contacts=log, iterations=np.zeros(5, np.int64)).save(tmp_path / "run")


def rewrite(path, **changes):
    """The same archive with some arrays replaced (or, by None, left out)."""
    with np.load(path) as data:
        arrays = {name: values for name, values in (dict(data) | changes).items() if values is not None}
    np.savez_compressed(path, **arrays)


def about(path, change):
    """The same archive with its text changed by a function of the parsed JSON."""
    with np.load(path) as data:
        value = json.loads(str(data["about"]))
    rewrite(path, about=np.array(json.dumps(change(value))))


WRONG_ARRAYS = {
    "half a v": {"stored_v": np.zeros((2, 6))},
    "flat v": {"stored_v": np.zeros(30)},
    "v as p of another size": {"stored_v": None, "stored_p": np.zeros((5, 3))},
    "neither": {"stored_v": np.zeros((0, 0))},
    "text": {"stored_v": np.array(["a"] * 5)},
    "complex": {"stored_v": np.zeros((5, 6), complex)},
    "NaN in q": {"q": np.full((5, 7), np.nan)},
    "infinity in v": {"stored_v": np.full((5, 6), np.inf)},
    "NaN in what else there is": {"stored_violation": np.full(5, np.nan)},
    "no quaternion": {"q": np.zeros((5, 7))},
    "times that stand": {"t": np.zeros(5)},
    "no times": {"t": np.zeros(0), "q": np.zeros((0, 7)), "stored_v": np.zeros((0, 6))},
    "times of two dimensions": {"t": np.zeros((5, 1))},
    "one time": {"t": np.array(0.0)},
    "negative step": {"dt": np.array(-0.01)},
    "no step": {"dt": np.array(np.nan)},
    "a step in a list": {"dt": np.array([0.01])},
    "a step of text": {"dt": np.array("0.01")},
    "times of text": {"t": np.array(["0.0", "0.01", "0.02", "0.03", "0.04"])},
    "several steps": {"dt": np.zeros(3)},
    "no dt": {"dt": None},
    "no t": {"t": None},
    "no q": {"q": None},
    "no about": {"about": None},
    "about of numbers": {"about": np.zeros(3)},
    "contacts of a body there is not": {"stored_contacts": np.array([[0, -1, 7, *np.zeros(7)]], float)},
    "contacts of a step there is not": {"stored_contacts": np.array([[9, -1, 0, *np.zeros(7)]], float)},
    "contacts without columns": {"stored_contacts": np.zeros((3, 2))},
    "controls of another size": {"stored_u": np.zeros((4, 1, 99))},
    "iterations of another length": {"stored_iterations": np.zeros(3, np.int64)},
    "iterations of fractions": {"stored_iterations": np.full(5, 0.5)},
    "iterations below none": {"stored_iterations": np.full(5, -1)},
    "iterations beyond all": {"stored_iterations": np.full(5, 2**63, np.uint64)},
    "divided steps of another length": {"stored_divided": np.zeros(2, np.int64)},
    "one divided step": {"stored_divided": np.array(0)},
    "momenta of bodies of another length": {"stored_momenta": np.zeros((2, 1, 6))},
    "cuts of two dimensions": {"stored_cuts": np.zeros((1, 1), np.int64)},
    "cuts at states there are not": {"stored_cuts": np.array([7])},
    "cuts that stand": {"stored_cuts": np.array([1, 1])},
    "numbers whose squares overflow": {"stored_v": np.full((5, 6), 1e200)},
}


@pytest.mark.parametrize("name", WRONG_ARRAYS)
def test_wrong_arrays(name, saved):
    rewrite(saved, **WRONG_ARRAYS[name])
    with pytest.raises(la.FormatError, match=r"run\.npz: not a trajectory"):
        la.Trajectory.load(saved)


def test_names_that_no_file_can_have_are_no_file(tmp_path):
    with pytest.raises(la.FormatError, match="there is no such file"):
        la.Trajectory.load(tmp_path / ("x" * 300))


@pytest.mark.parametrize("kind", [np.int64, np.int8, bool, np.float32, ">f8"])
def test_floats_of_another_kind_are_floats(kind, saved):
    with np.load(saved) as data:
        rewrite(saved, stored_v=data["stored_v"].astype(kind), stored_contacts=data["stored_contacts"].astype(np.int64))
    run = la.Trajectory.load(saved)
    assert {run.stored[name].dtype.str for name in ("v", "contacts")} == {"<f8"}
    assert len(run[1:3].join(run[2:]).resample([0.015, 0.02])) == 2


def test_every_array_of_a_record_is_known():
    """A new one that has a row per state is in the table of those that are checked on loading."""
    cube, bar = la.robots.cube(), la.robots.four_bar()
    kinds = [la.Galerkin(order=4), la.Midpoint(), la.BDF(order=2), la.SDIRK2(), la.ConstrainedEuler()]
    known = {*FLOATS, *WHOLE, *OF_STATES, "q"}
    for robot, integrator in [*((bar, x) for x in kinds), (cube, la.Maximal()), (cube, la.Grounded())]:
        names = integrator.prepare(robot, 0.01).record(3).states()
        assert {name for name in names if not name.startswith("stage")} <= known


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def part(*keys, **values):
    """Change values of the part of a mechanism that the keys lead to."""

    def change(value):
        inner = value["mechanism"]
        for key in keys:
            inner = inner[key]
        inner.update(values)
        return value

    return change


WRONG_TEXTS = {
    "a list": lambda value: [],
    "a number": lambda value: 3,
    "nothing": lambda value: None,
    "no mechanism": lambda value: {},
    "a mechanism that is none": lambda value: {"mechanism": {"type": "Pose"}},
    "an unknown part": part("bodies", 0, type="Path"),
    "a part without a type": part("bodies", 0, type=None),
    "a part with a list for a type": part("bodies", 0, type=[]),
    "an unknown field": part("bodies", 0, size=3),
    "a body without inertia": part("bodies", 0, inertia="heavy"),
    "a body with a number for a name": part("bodies", 0, name=3),
    "a body with a number for shapes": part("bodies", 0, shapes=3),
    "bodies that are none": part(bodies=[1, 2]),
    "joints that are none": part(joints="a"),
    "a joint of words": part("joints", 0, primitives=["a"]),
    "an axis of zero": part(
        "joints", 0, primitives=[{"type": "Primitive", "motion": {"type": "motion", "code": 0}, "axis": [0, 0, 0]}]
    ),
    "an unknown motion": part(
        "joints", 0, primitives=[{"type": "Primitive", "motion": {"type": "motion", "code": 99}}]
    ),
    "gravity of NaN": part(gravity=[0.0, 0.0, float("nan")]),
    "a number beyond all": part(gravity=[0, 0, 10**400]),
    "an array of objects": part(gravity={"type": "array", "dtype": "|O", "values": [1]}),
    "an array of arrays": part(gravity={"type": "array", "dtype": "(1000000000,)f8", "values": [1]}),
    "the same as what is not there": lambda value: value | {"same": {"a": "b"}},
    "the same as a number": lambda value: value | {"same": 3},
}


@pytest.mark.parametrize("name", WRONG_TEXTS)
def test_wrong_texts(name, saved):
    about(saved, WRONG_TEXTS[name])
    with pytest.raises(la.FormatError, match=r"run\.npz: not a trajectory"):
        la.Trajectory.load(saved)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"mechanism":' * 50_000, json.dumps(nested(900)), "{", "nul"])
def test_nested_and_broken_json(text, saved):
    rewrite(saved, about=np.array(text))
    with pytest.raises(la.FormatError, match=r"run\.npz: not a trajectory"):
        la.Trajectory.load(saved)


@pytest.mark.parametrize("options", [3, {"order": "x"}, {"order": [[1]]}, {"speed": 1}, {"order": 10**400}, None])
def test_unknown_integrators_are_forgotten(options, saved):
    about(saved, lambda value: value | {"integrator": {"name": "RungeKutta", "options": options}})
    assert la.Trajectory.load(saved).integrator is None


def header(shape, descr="<f8"):
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n"


HOSTILE_MEMBERS = {
    "claims 8 TB": header((10**12,)) + bytes(80),
    "claims a negative size": header((-10,)) + bytes(80),
    "claims more than it has": header((11,)) + bytes(80),
    "claims less than it has": header((9,)) + bytes(80),
    "claims beyond all": header((10**400,)) + bytes(80),
    "claims too many dimensions": header((1,) * 80) + bytes(8),
    "claims empty text": header((10**15,), "<U0"),
    "objects": header((10,), "|O") + bytes(80),
    "records": header((10,), [("a", "<f8")]) + bytes(80),
    "void": header((10,), "|V8") + bytes(80),
    "no header": bytes(80),
    "nothing": b"",
    "another version": b"\x93NUMPY\x09\x00" + bytes(80),
    "a header without end": b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(80),
    "a header of brackets": b"\x93NUMPY\x02\x00" + struct.pack("<I", 5000) + b"(" * 5000,
}


@pytest.mark.parametrize("name", HOSTILE_MEMBERS)
def test_hostile_members(name, saved):
    with np.load(saved) as data:
        arrays = dict(data)
    arrays.pop("t")
    np.savez(saved, **arrays)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("t.npy", HOSTILE_MEMBERS[name])
    tracemalloc.start()
    try:
        with pytest.raises(la.FormatError, match=r"run\.npz: not a trajectory"):
            la.Trajectory.load(saved)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()


def test_little_that_unpacks_to_much(saved, monkeypatch):
    monkeypatch.setattr(_archive, "MAX_BYTES", 2**22)  # in place of a gigabyte, for a quick test
    rewrite(saved, stored_v=np.zeros((10**6, 6)))
    assert saved.stat().st_size < 2**20
    tracemalloc.start()
    try:
        with pytest.raises(la.FormatError, match="more than 4194304 bytes; raise the limit with max_bytes="):
            la.Trajectory.load(saved)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()
    with pytest.raises(la.FormatError, match="v: expected shape"):
        la.Trajectory.load(saved, max_bytes=10**8)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings(method, saved):
    """Their readers unpack a whole block at once, whatever its size."""
    with np.load(saved) as data:
        arrays = dict(data)
    with zipfile.ZipFile(saved, "w", method) as archive:
        for name, values in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, values)
            archive.writestr(f"{name}.npy", buffer.getvalue())
    with pytest.raises(la.FormatError, match="packed by another method"):
        la.Trajectory.load(saved)


def test_arrays_in_columns_are_read(saved):
    before = la.Trajectory.load(saved)
    rewrite(saved, q=np.asfortranarray(before.q))
    after = la.Trajectory.load(saved)
    assert (after.q == before.q).all()
    assert after.q.flags.c_contiguous


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mechanism": None}, "needs its Mechanism"),
        ({"t": "a"}, "t: expected an array of numbers"),
        ({"t": np.zeros((2, 2))}, "t: expected the times"),
        ({"q": np.zeros((3, 7))}, r"q: expected shape \(5, 7\)"),
        ({"q": np.zeros((5, 7), object)}, "q: expected an array of numbers"),
        ({"dt": 0.0}, "dt: must be positive"),
        ({"dt": "a"}, "dt: expected a number"),
        ({"stored": {"p": np.zeros((2, 6))}}, r"p: expected shape \(5, 6\)"),
        ({"stored": {"v": np.zeros(30)}}, r"v: expected shape \(5, 6\)"),
        ({"stored": [1]}, "stored: expected arrays by name"),
        ({"stored": {}}, "neither velocities nor momenta"),
    ],
)
def test_runs_put_together_by_hand(changes, says):
    run = run_of(la.robots.free_body())
    parts = {name: getattr(run, name) for name in ("mechanism", "integrator", "dt", "t", "q", "stored")}
    with pytest.raises(la.MechanismError, match=says):
        _ = la.Trajectory(**(parts | changes)).v


def test_arrays_exchanged_later():
    """Even then no kernel gets what does not fit."""
    run = run_of(la.robots.free_body(), p=np.zeros((5, 6)))
    del run.stored["v"]
    run.stored["p"] = np.zeros((2, 6))
    with pytest.raises(la.MechanismError, match=r"p: expected shape \(5, 6\)"):
        _ = run.v


@pytest.mark.parametrize(("name", "values"), [("iterations", np.zeros(5)), ("chart", np.zeros((2, 1), np.int64))])
def test_going_back_over_a_run_of_other_arrays(name, values):
    robot = la.robots.free_body()
    zero = np.zeros((5, 6))
    chart = np.full((5, 1), 8)
    whole = {
        "iterations": np.zeros(5, np.int64),
        "r": zero,
        "rd": zero,
        "chart": chart,
        "divided": np.zeros(5, np.int64),
    }
    run = la.Trajectory(robot, la.BDF(order=1), 0.01, 0.01 * np.arange(5), run_of(robot).q, {"v": zero, **whole})
    run.stored[name] = values
    with pytest.raises(la.IntegratorError, match=f"the run's '{name}' has shape"):
        la.derivatives.gradient(run, None, None, ["v"])
    del run.stored[name]
    with pytest.raises(la.IntegratorError, match=f"the run has no '{name}'"):
        la.derivatives.gradient(run, None, None, ["v"])
