"""Kernels of sensors: the forces that they feel, and what they measure."""

import math

from leastaction._finite import is_finite
from leastaction._jit import entry, inline, routine
from leastaction.dynamics import recursions
from leastaction.dynamics.applied_forces import applied_forces
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.dynamics.entries import add_wrenches
from leastaction.forces.arrays import named_forces, named_modes
from leastaction.forces.tendons import tendon_forces
from leastaction.forces.tendons.tendon_lengths import length_and_rate
from leastaction.kinematics.closure_kernels import frame, twist_of
from leastaction.kinematics.sweeps import add_to
from leastaction.sensing.arrays import (
    ACCELEROMETER,
    ANGULAR_VELOCITY,
    CENTER_OF_MASS,
    FORCE,
    GYRO,
    JOINT_FORCE,
    JOINT_POSITION,
    JOINT_VELOCITY,
    LINEAR_VELOCITY,
    ORIENTATION,
    POSITION,
    RANGE,
    TORQUE,
    TOUCH,
    VELOCIMETER,
    SensedForces,
    SensorData,
    SensorModel,
)
from leastaction.sensing.rays import NONE, along, is_inside, local_ray
from leastaction.spatial import (
    ZERO3,
    ZERO6,
    add,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load6,
    load9,
    matmul,
    mattvec,
    matvec,
    quat_from_rotation,
    quat_log,
    scale,
    scale3,
    sub,
    sub3,
    transpose,
)


@entry
def forces_on_sensors(forces, gravity, data, bodies, state, contacts, known, wrenches):
    """What acts at a state, and how it accelerates the links; False where accelerations are not finite.

    Args:
        forces, gravity: of the mechanism.
        data: `SensedForces`.
        bodies: `SENSED_BODY` records.
        state: (q, v, u), u the controls that act.
        contacts: rows (two bodies, point, force on the second, ...), shape (n, 8) or more.
        known: whether the accelerations `data.acc` are given, rather than those of the tree under these forces.
        wrenches: whether the wrenches of the links are wanted, too; where accelerations are known they are there.
    """
    wanted = known, wrenches
    return _forces_on_sensors(named_forces(forces), gravity, named_sensed(*data), bodies, state, contacts, wanted)


@inline
def named_sensed(modes, *others):
    """`SensedForces` of plain tuples."""
    return SensedForces(named_modes(modes), *others)


@routine
def _forces_on_sensors(forces, gravity, data, bodies, state, contacts, wanted):
    (q, v, u), (known, wrenches) = state, wanted
    nodes, links, external, acc = forces.nodes, data.links, data.external, data.acc
    applied_forces(forces, data, q, v, u)
    for i in range(external.shape[0]):
        for c in range(6):
            data.own[i, c] = external[i, c]
    along_joints(forces.tendons, data, data.own)
    for r in range(contacts.shape[0]):
        push_contact(contacts[r], bodies, external)
    model = DynamicsModel(nodes, forces.dofs, gravity)
    work = DynamicsData(links, data.screws, external)
    if not known:
        recursions.accelerations(model, work, v, data.tau, acc)
        finite = True
        for k in range(acc.shape[0]):
            finite = finite and is_finite(acc[k])
        if not finite:
            return False
    if known or wrenches:
        along_joints(forces.tendons, data, external)
        recursions.required_forces(model, work, v, acc, data.required)
    drives_of_tendons(forces, data, v)
    return True


@inline
def along_joints(records, data, external):
    """Take from the wrenches on the nodes what tendons and drives exert along joints: these transmit it."""
    if records is None:
        return
    links, items = data.links, data.modes.items
    for i in range(records.shape[0]):
        tendon = records[i]
        length, rate = length_and_rate(tendon, items, links)
        force = tendon_forces.tension(tendon, data.modes.tendons[i], data.modes.pull[i], length, rate)
        for k in range(tendon.first, tendon.first + tendon.count):
            if items[k].iq >= 0:
                tendon_forces.push_along(items[k], links, force, external)


@inline
def push_contact(row, bodies, external):
    """Add the wrenches of a contact to those of the nodes."""
    f = (row[5], row[6], row[7])
    W = (cross((row[2], row[3], row[4]), f), f)
    first, second = int(row[0]), int(row[1])
    if first >= 0 and bodies[first].node >= 0:
        add_to(external[bodies[first].node], scale(-1.0, W))
    if second >= 0 and bodies[second].node >= 0:
        add_to(external[bodies[second].node], W)


@routine
def drives_of_tendons(forces, data, v):
    """Generalised forces of what drives tendons, of servos with force ranges and of muscles."""
    for k in range(v.shape[0]):
        data.along_tendons[k] = 0.0
    _drives_of_tendons(forces.tendons, forces, data)


@inline
def _drives_of_tendons(records, forces, data):
    if records is None:
        return
    links, items, pulls = data.links, data.modes.items, data.pulls
    for i in range(pulls.shape[0]):
        for c in range(6):
            pulls[i, c] = 0.0
    for i in range(records.shape[0]):
        if records[i].driven != 0:
            length, rate = length_and_rate(records[i], items, links)
            force = tendon_forces.drive_law(records[i], data.modes.pull[i], length, rate)[0]
            force = min(max(force, records[i].weakest), records[i].strongest)
            tendon_forces.push(records[i], items, links, force, pulls)
    add_wrenches(forces.nodes, data.screws, pulls, data.along_tendons)


# ------------------------------------------------------------------ what they measure


@entry
def is_beyond(q, at, lower, upper):
    """Whether a coordinate is below its lower bound or above its upper one."""
    found = False
    for k in range(at.shape[0]):
        x = q[at[k]]
        found = found or x < lower[k] or x > upper[k]
    return found


@entry
def read_sensors(model, data, q, v, u, contacts, out):
    """Readings of all sensors, one after another in `out`; -1, or the number of one without a reading.

    Poses and twists are there, for those that depend on forces `forces_on_sensors` too.
    """
    return _read_sensors(SensorModel(*model), SensorData(*data), q, v, u, contacts, out)


@routine
def _read_sensors(model, data, q, v, u, contacts, out):
    for k in range(model.sensors.shape[0]):
        sensor = model.sensors[k]
        own = out[sensor.first : sensor.first + sensor.count]
        if sensor.kind == JOINT_POSITION:
            own[0] = q[sensor.iq]
        elif sensor.kind == JOINT_VELOCITY:
            own[0] = v[sensor.iv]
        elif sensor.kind == JOINT_FORCE:
            own[0] = joint_force(model, data, sensor, q, v, u)
        elif not read_frame(model, data, sensor, contacts, own):
            return k
        if sensor.cutoff > 0.0:
            for c in range(sensor.count):
                own[c] = min(max(own[c], -sensor.cutoff), sensor.cutoff)
    return -1


@routine
def joint_force(model, data, sensor, q, v, u):
    """Force of all motors and servos of a joint with one axis, or about an axis of a ball joint."""
    k = sensor.iv
    force = data.along_tendons[k]
    for j in range(u.shape[0]):
        force += model.drives[j, k] * u[j]
    stiffness, damping, pull, turning = model.feedback[0], model.feedback[1], model.feedback[2], model.feedback[3]
    x = 0.0
    if sensor.ball < 0:
        x = q[sensor.iq] if stiffness[k] != 0.0 else 0.0
    elif turning[k] != 0.0:
        i = sensor.ball
        x = quat_log((q[i], q[i + 1], q[i + 2], q[i + 3]))[sensor.iq]
    return force + pull[k] - (stiffness[k] + turning[k]) * x - damping[k] * v[k]


@inline
def place(links, node, R, p):
    """Pose in the world of a frame with the pose (R, p) in a node."""
    Rn, pn = frame(links, node)
    return matmul(Rn, R), add3(pn, matvec(Rn, p))


@inline
def motion_of(links, node, x):
    """Angular velocity of a node and velocity of its point x."""
    w, v = twist_of(links, node)
    return w, add3(v, cross(w, x))


@inline
def store(out, x):
    """Write three numbers."""
    out[0], out[1], out[2] = x


@routine
def read_frame(model, data, sensor, contacts, out):
    """A sensor on a frame; False where it has no reading."""
    links = data.links
    R, x = place(links, sensor.node, load9(sensor.R), load3(sensor.p))
    kind = sensor.kind
    if kind == TOUCH:
        out[0] = touch(model, sensor, R, x, contacts)
    elif kind == RANGE:
        out[0] = range_along(model, data, sensor, x, (R[2], R[5], R[8]))
    elif kind == CENTER_OF_MASS:
        store(out, center_of_mass(model, data, sensor, x))
    elif kind == ACCELEROMETER:
        a = scale3(-1.0, load3(model.gravity))
        if sensor.node >= 0:
            link = links[sensor.node]
            W, A = load6(link.v), load6(link.a)
            a = add3(add3(A[1], cross(A[0], x)), cross(W[0], add3(W[1], cross(W[0], x))))
        store(out, mattvec(R, a))
    elif kind in (FORCE, TORQUE):
        known, F = carried_wrench(model, data, sensor, contacts)
        moment = sub3(F[0], cross(x, F[1]))
        store(out, mattvec(R, F[1] if kind == FORCE else moment))
        return known
    else:
        read_motion(data, sensor, R, x, out)
    return True


@routine
def read_motion(data, sensor, R, x, out):
    """Pose or velocity of a frame, as another frame sees it or in its own directions."""
    links, kind = data.links, sensor.kind
    S, y = place(links, sensor.seen_from, load9(sensor.seen_R), load3(sensor.seen_p))
    w, v = motion_of(links, sensor.node, x)
    w0, v0 = motion_of(links, sensor.seen_from, y)
    if kind == POSITION:
        store(out, mattvec(S, sub3(x, y)))
    elif kind == ORIENTATION:
        out[0], out[1], out[2], out[3] = quat_from_rotation(matmul(transpose(S), R))
    elif kind == LINEAR_VELOCITY:
        store(out, mattvec(S, sub3(sub3(v, v0), cross(w0, sub3(x, y)))))
    elif kind == ANGULAR_VELOCITY:
        store(out, mattvec(S, sub3(w, w0)))
    elif kind == VELOCIMETER:
        store(out, mattvec(R, v))
    elif kind == GYRO:
        store(out, mattvec(R, w))


@inline
def body_pose(model, links, i):
    """Pose of a body in the world."""
    if i < 0:
        return frame(links, i)
    return place(links, model.bodies[i].node, load9(model.bodies[i].R), load3(model.bodies[i].p))


@routine
def center_of_mass(model, data, sensor, x):
    """Of a body and all that it carries; of what has no mass the frame's origin x."""
    total, mean = 0.0, ZERO3
    for i in range(max(sensor.body, 0), sensor.last):
        R, p = body_pose(model, data.links, i)
        body = model.bodies[i]
        total, mean = total + body.mass, axpy3(body.mass, add3(p, matvec(R, load3(body.com))), mean)
    return scale3(1.0 / total, mean) if total > 0.0 else x


@routine
def range_along(model, data, sensor, x, d):
    """Distance from x along d to the next shape of another body; -1 where there is none."""
    nearest, body = NONE, -2
    R, p = frame(data.links, -1)
    for i in range(model.rays):
        shape = model.shapes[i]
        if shape.body == sensor.body:
            continue
        if shape.body != body:
            body = shape.body
            R, p = body_pose(model, data.links, body)
        own, ahead = local_ray(shape, R, p, x, d)
        nearest = min(nearest, along(shape, model.triangles, own, ahead))
    return nearest if nearest < NONE else -1.0


@routine
def touch(model, sensor, R, x, contacts):
    """Sum of the normal forces of contacts of the sensor's body within its zone."""
    total = 0.0
    for r in range(contacts.shape[0]):
        row = contacts[r]
        first, second = int(row[0]), int(row[1])
        if first != sensor.body and second != sensor.body:
            continue
        point = (row[2], row[3], row[4])
        if sensor.zone < 0 or is_inside(model.shapes[sensor.zone], R, x, point):
            other = second if first == sensor.body else first
            total += normal_force(model.planes, other, point, (row[5], row[6], row[7]))
    return total


@routine
def normal_force(planes, other, point, f):
    """Part of a contact force along the normal; where that is not a plane's, the whole force."""
    if other >= 0 or planes.shape[0] == 0:
        return math.sqrt(dot3(f, f))
    near, force = NONE, 0.0
    for k in range(planes.shape[0]):
        n = load3(planes[k, 1])
        gap = abs(dot3(n, sub3(point, load3(planes[k, 0]))))
        if gap < near:
            near, force = gap, abs(dot3(n, f))
    return force


@routine
def carried_wrench(model, data, sensor, contacts):
    """Wrench about the world's origin that holds a body and all that it carries; whether it is known.

    A body that is welded to its parent shares a node with it, whose wrenches it does not share: that of its own weight
    and motion is worked out, springs and drives on the node hide it.
    """
    links = data.links
    if sensor.welded == 0:
        return True, load6(links[sensor.node].f)
    for c in range(6):
        if data.own[sensor.node, c] != 0.0:
            return False, ZERO6
    F = ZERO6
    V, A = load6(links[sensor.node].v), load6(links[sensor.node].a)
    for i in range(sensor.body, sensor.last):
        body = model.bodies[i]
        if body.node != sensor.node:
            if model.bodies[body.parent].node == sensor.node:  # a joint begins here, and its node has the rest
                F = add(F, load6(links[body.node].f))
            continue
        R, p = body_pose(model, links, i)
        c = add3(p, matvec(R, load3(body.com)))
        own = load9(body.inertia)
        w, alpha = mattvec(R, V[0]), mattvec(R, A[0])
        torque = matvec(R, add3(matvec(own, alpha), cross(w, matvec(own, w))))
        a = add3(add3(A[1], cross(A[0], c)), cross(V[0], add3(V[1], cross(V[0], c))))
        f = scale3(body.mass, a)
        F = add(F, (add3(torque, cross(c, f)), f))
    for r in range(contacts.shape[0]):
        row = contacts[r]
        f = (row[5], row[6], row[7])
        W = (cross((row[2], row[3], row[4]), f), f)
        for side in range(2):
            k = int(row[side])
            if sensor.body <= k < sensor.last and model.bodies[k].node == sensor.node:
                F = sub(F, scale(1.0 if side == 1 else -1.0, W))
    return True, F
