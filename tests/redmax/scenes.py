"""The sample scenes of the reference implementation (sueda/redmax, MIT licence) as mechanisms, in cm, g, s."""

import json
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.mechanism import Inertia, Pose

DATA = Path(__file__).parents[1] / "data" / "redmax"


def load(number):
    """(mechanism, q, v, dt) of a scene; the frame of a body is that of its joint."""
    scene = json.loads((DATA / f"scene_{number:02d}.json").read_text())
    b = la.MechanismBuilder(scene["name"], gravity=scene["gravity"])
    in_joint = [Pose()]
    q, v = [], []
    for k, (joint, body) in enumerate(zip(scene["joints"], scene["bodies"], strict=True), 1):
        X = Pose.from_matrix(body["E0_joint_body"])
        in_joint.append(X)
        I = X.rotation @ np.diag(body["inertia_diag_IxIyIz_mmm"][:3]) @ X.rotation.T
        b.body(f"b{k}", inertia=Inertia(body["mass"], X.position, I))
        parent = f"b{joint['parent']}" if joint["parent"] else "world"
        kind = joint["class"].removeprefix("redmax.Joint").lower()
        placement = Pose.from_matrix(joint["E0_parentjoint_joint"])
        b.joint(f"j{k}", kind, parent, f"b{k}", axis=joint.get("axis"), pose=placement)
        if kind != "fixed":
            q += np.atleast_1d(joint["q0"]).tolist()
            v += np.atleast_1d(joint["qdot0"]).tolist()
    for k, force in enumerate(scene["forces"]):
        L = force["L"]
        ends = [(f"b{force[f'body{i}']}" if force[f"body{i}"] else "world") for i in (1, 2)]
        points = [in_joint[force[f"body{i}"]].apply(force[f"x_{i}"]) for i in (1, 2)]
        law = {"stiffness": force["stiffness"] / L, "damping": force["damping"] / L, "rest_length": L}
        b.spring(f"s{k}", (ends[0], points[0]), (ends[1], points[1]), **law)
    return b.build(), np.array(q), np.array(v), scene["h"]


def reference(number, method):
    """(t, T, V, q, v) of the reference's run."""
    rows = np.loadtxt(DATA / f"scene_{number:02d}_{method}.csv", delimiter=",", skiprows=1)
    n = (rows.shape[1] - 3) // 2
    return rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3 : 3 + n], rows[:, 3 + n :]
