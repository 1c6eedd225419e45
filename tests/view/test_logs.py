"""Runs in the files of other viewers, and depth images: what is read back is the run."""

import json
import math

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Plane, Pose
from leastaction.view.camera import Camera


@pytest.fixture(scope="module")
def run():
    """A pendulum that a spring holds, and made up states: no simulation is needed."""
    b = la.MechanismBuilder("clock")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=0.1, shapes=Box((0.1, 0.1, 1.0), pose=(0, 0, -0.5)))
    b.revolute("pivot", "world", "rod", axis="y")
    b.spring("spring", ("world", (1, 0, 0)), ("rod", (0, 0, -1)), stiffness=10.0, rest_length=0.5)
    t = 0.02 * np.arange(11)
    return la.Trajectory.from_states(b.build(), np.sin(t)[:, None], np.cos(t)[:, None], dt=0.02)


def test_mcap_has_the_frames_shapes_and_numbers_of_the_run(run, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    path = la.view.export_mcap(run, tmp_path / "run.mcap")
    with path.open("rb") as file:
        read = reader.make_reader(file)
        messages = [(c.topic, s.name, m.log_time, json.loads(m.data)) for s, c, m in read.iter_messages()]
    frames = [(t, m["transforms"]) for topic, _, t, m in messages if topic == "/tf"]
    assert [t for t, _ in frames] == [20_000_000 * k for k in range(11)]
    for (_, transforms), X in zip(frames, run.body_poses, strict=True):
        (rod,) = [x for x in transforms if x["child_frame_id"].endswith("/rod")]
        q = rod["rotation"]
        R = Pose((0, 0, 0), (q["w"], q["x"], q["y"], q["z"])).rotation
        np.testing.assert_allclose(R, X[0, :3, :3], atol=1e-12)
    scenes = [m for topic, name, _, m in messages if (topic, name) == ("/scene", "foxglove.SceneUpdate")]
    triangles = scenes[0]["entities"][0]["triangles"][0]
    z = [p["z"] for p in triangles["points"]]
    assert min(z) == pytest.approx(-1.0, abs=1e-6)
    assert len(triangles["colors"]) == len(triangles["points"])
    springs = [m["entities"][0]["lines"] for topic, _, _, m in messages if topic == "/forces"]
    assert len(springs) == 11
    assert springs[0][0]["points"][0] == {"x": 1.0, "y": 0.0, "z": 0.0}
    (name,) = {topic.split("/")[1] for topic, _, _, _ in messages if topic.endswith("/q")}
    q = [m["pivot"] for topic, _, _, m in messages if topic == f"/{name}/q"]
    np.testing.assert_array_equal(q, run.q[:, 0])
    energy = [m["total"] for topic, _, _, m in messages if topic == f"/{name}/energy"]
    np.testing.assert_array_equal(energy, run.energy)


def test_messages_match_the_schemas_that_the_file_names(run, tmp_path):
    """Every field of a message is one of its schema, which Foxglove reads them by."""
    reader = pytest.importorskip("mcap.reader")

    def check(value, schema):
        if schema["type"] == "object" and "properties" in schema:
            assert set(value) <= set(schema["properties"]), set(value) - set(schema["properties"])
            for name, inner in value.items():
                check(inner, schema["properties"][name])
        elif schema["type"] == "array":
            for inner in value:
                check(inner, schema["items"])
        elif schema["type"] != "object":
            kinds = {"number": (int, float), "integer": int, "string": str, "boolean": bool}
            assert isinstance(value, kinds[schema["type"]])

    path = la.view.export_mcap(run, tmp_path / "run.mcap")
    with path.open("rb") as file:
        for schema, _, message in reader.make_reader(file).iter_messages():
            check(json.loads(message.data), json.loads(schema.data))


def test_rerun_has_the_poses_and_curves_of_the_run(run, tmp_path):
    chunk = pytest.importorskip("rerun.chunk")
    path = tmp_path / "run.rrd"
    la.view.rerun(run, path)
    (recording,) = chunk.RrdReader(path).recordings()
    found = {}
    for piece in chunk.RrdReader(path).stream():
        batch = piece.to_record_batch()
        for name in batch.schema.names:
            found.setdefault((piece.entity_path.rpartition("/")[2], name.rpartition(":")[2]), []).append(
                batch.column(name)
            )
    assert recording is not None
    (angles,) = found["pivot", "scalars"][:1]
    np.testing.assert_allclose(np.concatenate(angles.to_pylist()), run.q[:, 0])
    (turns,) = found["rod", "quaternion"]
    xyzw = np.concatenate(turns.to_pylist())
    for q, X in zip(xyzw, run.body_poses, strict=True):
        turn = np.roll(q, 1) / np.linalg.norm(q)
        np.testing.assert_allclose(Pose((0, 0, 0), turn).rotation, X[0, :3, :3], atol=1e-6)
    assert ("shapes", "vertex_positions") in found
    assert len(found["0", "strips"][0].to_pylist()) == 11


def test_depth_is_the_distance_along_the_axis():
    """A box before the camera, whose face is flat, and the floor, whose depth is that of the ray that meets it."""
    b = la.MechanismBuilder("block")
    b.body("block", mass=1.0, inertia=0.1, shapes=Box((1.0, 4.0, 4.0), pose=(0, 0, 2.0)))
    b.fixed("hold", "world", "block")
    b.add_shape("world", Plane())
    level = Camera((0.0, 0.0, 2.0), distance=5.0, azimuth=0.0, elevation=0.0)
    depth = la.view.depth_image(b.build(), width=64, height=64, camera=level)
    np.testing.assert_allclose(depth[32, 32], 4.5, rtol=1e-6)
    above = Camera((0.0, 20.0, 0.0), distance=5.0, azimuth=0.3, elevation=0.8)
    depth = la.view.depth_image(b.build(), width=64, height=48, camera=above)
    right, up, back = above.axes()
    focal = 24.0 / math.tan(0.5 * above.field_of_view)
    i, j = np.mgrid[:48, :64]
    rays = -back + ((j + 0.5 - 32) / focal)[..., None] * right + ((24 - i - 0.5) / focal)[..., None] * up
    np.testing.assert_allclose(above.eye[2] + depth * rays[..., 2], 0.0, atol=1e-9)
    sky = Camera((0.0, 20.0, 3.0), distance=5.0, azimuth=0.3, elevation=-0.4)
    assert np.isinf(la.view.depth_image(b.build(), width=64, height=48, camera=sky)[0]).all()


def test_other_endings_and_places_are_refused(run, tmp_path):
    with pytest.raises(la.FormatError, match="mcap"):
        la.view.export_mcap(run, tmp_path / "run.bag")
    with pytest.raises(la.FormatError, match="does not exist"):
        la.view.rerun(run, tmp_path / "none" / "run.rrd")
