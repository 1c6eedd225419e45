"""`leastaction inspect`."""

from __future__ import annotations

import math
import warnings
from typing import Any

from leastaction.cli._app import verb
from leastaction.cli._model import Floating, ModelArgument, Parameters, find_model
from leastaction.cli._show import AsJson, compiling, console, print_json

STEEPEST = 1e4
"""Ratio of masses on one joint above which a remark is made."""

MOST_TURNS = 4.0
"""Turns of a hinge to a limit above which a remark is made: degrees read as radians."""


@verb(
    "inspect double_pendulum",
    "inspect pendulum --set links=5",
    "inspect my_robot.urdf --floating",
    "inspect atlas --json",
)
def inspect(
    model: ModelArgument, parameters: Parameters = None, floating: Floating = False, as_json: AsJson = False
) -> None:
    """Show a robot: tree, masses, joints, loops, oddities."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = find_model(model, parameters, floating)
    robot = start.robot
    with compiling():
        remarks = [str(warning.message) for warning in caught] + _remarks(robot)
        freedom = _degrees_of_freedom(robot, start.q)
    if as_json:
        print_json(_facts(robot) | {"degrees_of_freedom": freedom, "warnings": remarks})
        return
    screen = console()
    screen.print(robot)
    if freedom < robot.nv:
        screen.print(
            f"degrees of freedom: {freedom}, of nv = {robot.nv} the loops and couplings take {robot.nv - freedom}"
        )
    for remark in remarks:
        screen.print(f"warning: {remark}", style="yellow")


def _degrees_of_freedom(robot: Any, q: Any) -> int:
    """What loops and couplings leave of nv, at the start."""
    if robot.is_tree and not robot.couplings:
        return robot.nv
    import numpy as np

    import leastaction as la

    _, A = la.dynamics.loop_jacobian(robot, la.dynamics.close_loops(robot, q))
    return robot.nv - int(np.linalg.matrix_rank(A, tol=1e-8))


def _facts(robot: Any) -> dict[str, Any]:
    joints = [
        {
            "name": joint.name,
            "kind": joint.kind,
            "parent": joint.parent,
            "child": joint.child,
            "coordinates": list(joint.coordinate_names()),
            "lower": list(joint.lower),
            "upper": list(joint.upper),
            "damping": list(joint.damping),
        }
        for joint in (*robot.joints, *robot.loops)
    ]
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "nu": robot.nu,
        "mass": robot.total_mass,
        "gravity": list(robot.gravity),
        "bodies": [{"name": body.name, "mass": body.inertia.mass} for body in robot.bodies],
        "joints": joints[: len(robot.joints)],
        "loops": joints[len(robot.joints) :],
        "couplings": [coupling.name for coupling in robot.couplings],
        "springs": [spring.name for spring in (*robot.springs, *robot.cables)],
        "tendons": [tendon.name for tendon in robot.tendons],
        "actuators": [actuator.name for actuator in robot.actuators],
        "contacts": [contact.name for contact in robot.contacts],
        "frames": [frame.name for frame in robot.frames],
        "sensors": [sensor.name for sensor in robot.sensors],
    }


def _remarks(robot: Any) -> list[str]:
    """What is allowed, but often a mistake in a file."""
    remarks = []
    welded: list[bool] = []
    for joint, parent in zip(robot.joints, robot.parents, strict=True):
        welded.append(joint.kind == "fixed" and (parent < 0 or welded[parent]))
    pairs = zip(robot.bodies, welded, strict=True)
    massless = [body.name for body, fixed in pairs if body.inertia.mass == 0.0 and not fixed]
    if massless:
        more = f" and {len(massless) - 3} more" if len(massless) > 3 else ""
        remarks.append(f"without mass: {', '.join(massless[:3])}{more}")
    mass = [body.inertia.mass for body in robot.bodies]
    for i, parent in enumerate(robot.parents):
        if parent >= 0 and min(mass[i], mass[parent]) > 0.0:
            ratio = max(mass[i], mass[parent]) / min(mass[i], mass[parent])
            if ratio > STEEPEST:
                names = f"{robot.bodies[parent].name} and {robot.bodies[i].name}"
                remarks.append(f"masses of {names} differ by a factor of {ratio:.1g}")
    limited = [j.name for j in robot.joints if any(x > -float("inf") for x in j.lower)]
    if limited:
        which = f"joint {limited[0]} has limits" if len(limited) == 1 else f"{len(limited)} joints have limits"
        remarks.append(f"{which}, which act with minimal, maximal, constrained-euler and staggered-projections only")
    for joint in robot.joints:
        bounds = [abs(x) for x in (*joint.lower, *joint.upper) if abs(x) < float("inf")]
        if joint.kind == "revolute" and bounds and max(bounds) > MOST_TURNS * 2.0 * math.pi:
            turns = max(bounds) / (2.0 * math.pi)
            remarks.append(f"limits of joint {joint.name} are {turns:.3g} turns away; angles are radians, not degrees")
    if not robot.is_tree:
        from leastaction.dynamics.loops import violation

        gap = float(violation(robot, robot.home()[None])[0])
        if gap > 1e-9:
            remarks.append(f"loops are open by {gap:.2g} m or rad at its home; runs from there close them")
    return remarks
