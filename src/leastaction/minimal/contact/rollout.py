"""Compiled time loop of `Minimal` for one robot."""

from leastaction._jit import entry, inline, routine
from leastaction.contact.clearance import Clearance
from leastaction.contact.solver.island_arrays import Islands
from leastaction.dynamics.arrays import ClosureModel
from leastaction.forces.arrays import named_forces, named_modes
from leastaction.minimal.contact.acceptance import know_start
from leastaction.minimal.contact.arrays import (
    BatchSettings,
    DetectedContacts,
    GroundRecord,
    RobotData,
    RobotModel,
    RobotShapes,
    Touch,
)
from leastaction.minimal.contact.detection.robot_contacts import centre, gap
from leastaction.minimal.contact.forces.spring_arrays import Pulls
from leastaction.minimal.contact.scratch_arrays import Between, Goals, Impacts, LockedJoints, MomentumPhase
from leastaction.minimal.contact.solver.joint_impacts import hit_alone
from leastaction.minimal.contact.solver.prescribed_joints import begin_goals, goals_of, keep_work, set_step_targets
from leastaction.minimal.contact.steps import apply_controls, begin, prepare, reset_energy, step


@inline
def named_shapes(shapes):
    """`RobotShapes` from its plain tuple, or None."""
    if shapes is None:
        return None
    return RobotShapes(*shapes)


@inline
def named_detected(found):
    """`DetectedContacts` from its plain tuple, or None."""
    if found is None:
        return None
    return DetectedContacts(*(found[:-3] + (Clearance(*found[-3]), Between(*found[-2]), Islands(*found[-1]))))


@inline
def named_pulling(forces):
    """`ForceModel` from its plain tuple, or None."""
    if forces is None:
        return None
    return named_forces(forces)


@inline
def named_pulls(pulls):
    """`Pulls` from its plain tuple, or None."""
    if pulls is None:
        return None
    return Pulls(*((pulls[0], named_modes(pulls[1])) + pulls[2:]))


@inline
def named_closure(closure):
    """`ClosureModel` from its plain tuple, or None."""
    if closure is None:
        return None
    return ClosureModel(closure[0], closure[1], closure[2])


@inline
def named_impacts(impacts):
    """`Impacts` from its plain tuple, or None."""
    if impacts is None:
        return None
    return Impacts(*impacts)


@inline
def named_joints(joints):
    """`LockedJoints` from its plain tuple."""
    return LockedJoints(*(joints[:-1] + (named_goals(joints[-1]),)))


@inline
def named_goals(goals):
    """`Goals` from its plain tuple, or None."""
    if goals is None:
        return None
    return Goals(*goals)


@inline
def named_touch(touch):
    """`Touch` from its plain tuple."""
    joints, impacts, phase, found, pulls = touch[-5:]
    own = named_joints(joints), named_impacts(impacts), MomentumPhase(*phase), named_detected(found), named_pulls(pulls)
    return Touch(*(touch[:-5] + own))


@routine
def log_has_room(found, done, dt):
    """Whether the log has room for a step; sets the number of the step in the log."""
    if found is None:
        return True
    now = found.now[0]
    now.step, now.dt = done, dt
    return now.written + 8 * found.contacts.shape[0] <= found.log.shape[0]


@routine
def is_at(data, q):
    """Whether the last step has placed the bodies of a robot at exactly q."""
    R, same = data.R[data.now[0]], False
    for i in range(min(R.shape[0], 1)):  # zero in new arrays
        for k in range(9):
            same = same or R[i, k] != 0.0
    for k in range(q.shape[0]):
        same = same and data.q0[k] == q[k]
    return same


@entry(nogil=True)
def hit_once(model, settings, data, touch, q, p, number):
    """One impact at the start of a step: updates p to the momenta after it; returns whether there is any.

    Args:
        model, settings, data, touch: as of `rollout`.
        number: of impacts before it, at the same positions.
    """
    model = named_model(model)
    touch, settings = named_touch(touch), BatchSettings(*settings)
    data = RobotData(*data, touch)  # pyright: ignore[reportCallIssue]
    for k in range(q.shape[0]):
        data.q0[k] = q[k]
    for k in range(p.shape[0]):
        data.p[k] = p[k]
    prepare(model, data)
    know_start(model, data, touch)
    begin(model, data, settings, settings.dt, False, False)
    if not hit_alone(model, data, touch, touch.impacts, settings, number):
        return False
    for k in range(p.shape[0]):
        p[k] = data.p[k]
    return True


@inline
def named_model(model):
    """`RobotModel` from its plain tuple."""
    shapes, forces, closure = model[-3:]
    own = named_shapes(shapes), named_pulling(forces), named_closure(closure)
    return RobotModel(*(model[:-3] + own))


@entry(nogil=True)
def rollout(model, settings, data, touch, u, record, going_on):
    """Steps from row 0 of a record; returns how many were done and whether the next one failed.

    Args:
        model, settings, data, touch: as plain tuples.
        u: controls, shape (steps, nu, 1).
        record: `GroundRecord` as a plain tuple; row 0 of q and p is filled.
        going_on: whether the first state was reached by a step.
    """
    touch = named_touch(touch)
    data = RobotData(*data, touch)  # pyright: ignore[reportCallIssue]
    return run(named_model(model), BatchSettings(*settings), data, touch, u, GroundRecord(*record), going_on)


@entry(nogil=True)
def rollout_with_shapes(model, settings, data, touch, u, record, going_on):
    """`rollout` of a robot with contact detection."""
    touch = named_touch(touch)
    data = RobotData(*data, touch)  # pyright: ignore[reportCallIssue]
    return run(named_model(model), BatchSettings(*settings), data, touch, u, GroundRecord(*record), going_on)


@routine
def run(model, settings, data, touch, u, record, going_on):
    """See `rollout`."""
    q0, p, memory = data.q0, data.p, record.memory
    stands = going_on and is_at(data, record.q[0])
    for k in range(q0.shape[0]):
        q0[k] = record.q[0, k]
    for k in range(p.shape[0]):
        if p[k] != record.p[0, k]:
            reset_energy(touch)
        p[k] = record.p[0, k]
    if not stands:
        prepare(model, data)
    begin_goals(goals_of(touch), record.goals[0], record.work[0], q0.shape[0])
    for done in range(u.shape[0]):
        if not log_has_room(touch.found, done, settings.dt):
            return done, 0
        apply_controls(model, data, u, done, 0, model.driven)
        set_step_targets(model, data, goals_of(touch), record.goals, done + 1)
        spent, count = step(model, data, settings, memory[0] == 1)
        if spent < 0:
            return done, 1
        memory[0] = count
        for k in range(p.shape[0]):
            record.p[done + 1, k] = p[k]
        for k in range(q0.shape[0]):
            record.q[done + 1, k] = q0[k]
        for k in range(record.impulses.shape[1]):
            record.impulses[done + 1, k] = touch.total[k]
        for c in range(record.places.shape[1]):
            x, place = centre(model.cones[c], data.R[data.now[0]], data.x[data.now[0]]), record.places[done + 1, c]
            place[0], place[1], place[2] = x
            place[3] = gap(model.cones[c], data.R[data.now[0]], data.x[data.now[0]])
        for k in range(record.elastic.shape[1]):
            record.elastic[done + 1, k] = touch.balance[0]["elastic"]
            if done == 0 and not going_on:
                record.elastic[0, k] = touch.balance[0]["elastic_start"]
        keep_work(goals_of(touch), record, done + 1)
        record.iterations[done + 1] = spent
        record.divided[done + 1] = count if count > 1 else 0
    return u.shape[0], 0
