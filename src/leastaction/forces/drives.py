"""Control forces: on a degree of freedom, or as a wrench fixed to a node, optionally with a reaction on another one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline, routine
from leastaction.forces.points import Frames, zeroed
from leastaction.forces.tendons.tendon_records import tendon_of_control
from leastaction.kinematics.sweeps import add_to
from leastaction.mechanism import Mechanism
from leastaction.mechanism.drives.actuators import JointActuator
from leastaction.mechanism.pose import Pose
from leastaction.spatial import add3, cross, cross_force, dot, load3, load6, load9, matvec, neg, scale3, sub

DRIVE = np.dtype(
    [
        ("dof", "i8"),  # degree of freedom, or reduced coordinate, with the force gear * u; or -1
        ("node", "i8"),  # else: node with the wrench u * wrench in its frame ...
        ("other", "i8"),  # ... and the node with the reaction, -1 for none
        ("tendon", "i8"),  # or tendon with the force gear * u, counted from one; 0 for none
        ("gear", "f8"),
        ("wrench", "f8", 6),
    ],
    align=True,
)
"""One control."""


def compiled(mechanism: Mechanism, frames: Frames, split: Sequence[tuple[int, int]] = ()) -> Any:
    """`DRIVE` records, one per actuator; without actuators one per degree of freedom.

    `split`: (first degree of freedom, last node) of the free joints that consist of several nodes; forces on them are
    wrenches in the child's frame.
    """
    drives = zeroed(mechanism.nu, DRIVE)
    drives.other = -1
    if not mechanism.actuators:
        drives.dof, drives.gear = np.arange(mechanism.nv), 1.0
    of_tendons = tendon_of_control(mechanism)
    for k, (record, a) in enumerate(zip(drives, mechanism.actuators, strict=False)):
        if k in of_tendons and isinstance(a, JointActuator):
            record.dof, record.node, record.tendon, record.gear = -1, -1, of_tendons[k], a.push
            continue
        if isinstance(a, JointActuator):
            record.dof, record.gear = mechanism.velocity_index(a.coordinate), a.push
            continue
        record.dof = -1
        record.node, record.wrench = node_wrench(frames[a.body], a.wrench)
    for drive in drives:
        for iv, node in split:
            if iv <= drive.dof < iv + 6:
                drive.wrench[drive.dof - iv] = drive.gear
                drive.node, drive.dof = node, -1
                break
    return drives


def node_wrench(frame: tuple[int, Pose], wrench: Any) -> tuple[int, NDArray[np.float64]]:
    """Node of a body, and a wrench in the body's frame transformed to the node's frame."""
    node, X = frame
    force = X.rotation @ np.array(wrench[3:])
    return node, np.concatenate([X.rotation @ np.array(wrench[:3]) + np.cross(X.position, force), force])


@inline
def drive_wrench(drive, u, link):
    """World wrench for the control u of a drive that acts on a node with the pose in `link`."""
    R, p = load9(link.R), load3(link.p)
    F = load6(drive.wrench)
    force = scale3(u, matvec(R, F[1]))
    return (add3(scale3(u, matvec(R, F[0])), cross(p, force)), force)


@inline
def pushes_node(drive):
    """Whether the drive acts on a node; one on a body welded to the world has no effect."""
    return drive.dof < 0 and drive.node >= 0


@routine
def joint_forces(drives, u, scale, tau):
    """Add `scale` times the generalised forces of the controls u (nu,) to tau."""
    for k in range(drives.shape[0]):
        if drives[k].dof >= 0:
            tau[drives[k].dof] += scale * (drives[k].gear * u[k])


@routine
def any_wrenches(drives, u):
    """Whether any nonzero control acts on a node."""
    found = False
    for k in range(drives.shape[0]):
        found = found or (pushes_node(drives[k]) and u[k] != 0.0)
    return found


@inline
def _add_pair(out, drive, F):
    """Add the wrench F to the drive's node and -F to the node with the reaction."""
    add_to(out[drive.node], F)
    if drive.other >= 0:
        add_to(out[drive.other], neg(F))


@routine
def wrenches(drives, links, u, external):
    """Add the world wrenches of the controls to `external`, shape (nodes, 6)."""
    for k in range(drives.shape[0]):
        if pushes_node(drives[k]) and u[k] != 0.0:
            _add_pair(external, drives[k], drive_wrench(drives[k], u[k], links[drives[k].node]))


@routine
def slopes(drives, links, u, T, out):
    """Add the directional derivatives of the wrenches (JVP): each wrench moves with its node."""
    for k in range(drives.shape[0]):
        drive = drives[k]
        if pushes_node(drive) and u[k] != 0.0:
            _add_pair(out, drive, cross_force(load6(T[drive.node]), drive_wrench(drive, u[k], links[drive.node])))


@inline
def _virtual_twist(drive, cot):
    W = load6(cot[drive.node].W)
    return sub(W, load6(cot[drive.other].W)) if drive.other >= 0 else W


@routine
def cotangents(drives, links, u, cot, GT):
    """Reverse mode (VJP) by the poses of the nodes."""
    for k in range(drives.shape[0]):
        drive = drives[k]
        if pushes_node(drive) and u[k] != 0.0:
            F = drive_wrench(drive, u[k], links[drive.node])
            add_to(GT[drive.node], neg(cross_force(_virtual_twist(drive, cot), F)))


@routine
def control_cotangents(drives, links, cot, z, bu):
    """Add to bu (nu,) the gradients by the controls; z: virtual velocities of the degrees of freedom."""
    for k in range(drives.shape[0]):
        drive = drives[k]
        if drive.dof >= 0:
            bu[k] += drive.gear * z[drive.dof]
        elif drive.node >= 0:
            bu[k] += dot(_virtual_twist(drive, cot), drive_wrench(drive, 1.0, links[drive.node]))
