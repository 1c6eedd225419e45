"""Runs of one robot on planes: the compiled loop of `Grounded`."""

from leastaction._jit import entry
from leastaction.minimal.lanes.arrays import BatchSettings, GroundRecord, Lane, LaneModel, Touch
from leastaction.minimal.lanes.contacts import centre, gap
from leastaction.minimal.lanes.steps import apply_controls, prepare, step


@entry(nogil=True)
def rollout(model, settings, lane, touch, u, record, going_on):
    """Steps from row 0 of a record; gives back how many were done.

    Args:
        model, settings, lane, touch: as plain tuples.
        u: controls, shape (steps, nu, 1).
        record: `GroundRecord` as a plain tuple; row 0 of q and `before` is filled.
        going_on: whether the first state was reached by a step, so that half of its impulses belong to it.
    """
    model, settings, touch, record = LaneModel(*model), BatchSettings(*settings), Touch(*touch), GroundRecord(*record)
    lane = Lane(*lane, touch)  # pyright: ignore[reportCallIssue]
    q0, p, memory = lane.q0, lane.p, record.memory
    for k in range(q0.shape[0]):
        q0[k] = record.q[0, k]
    for k in range(p.shape[0]):
        p[k] = record.before[0, k]
    prepare(model, lane)
    for done in range(u.shape[0]):
        apply_controls(model, lane, u, done, 0, model.driven)
        spent, count = step(model, lane, settings, memory[0] == 1)
        if spent < 0:
            return done
        memory[0] = count
        for k in range(p.shape[0]):
            if done > 0 or going_on:
                record.p[done, k] = record.before[done, k] + 0.5 * touch.first[k]
            # What the momentum will be if contacts push on as they did; the step after knows.
            record.before[done + 1, k] = p[k]
            record.p[done + 1, k] = p[k] + 0.5 * touch.first[k]
        for k in range(q0.shape[0]):
            record.q[done + 1, k] = q0[k]
        for k in range(touch.total.shape[0]):
            record.impulses[done + 1, k] = touch.total[k]
        for c in range(record.places.shape[1]):
            x, place = centre(model.cones[c], lane.R[lane.now[0]], lane.x[lane.now[0]]), record.places[done + 1, c]
            place[0], place[1], place[2] = x
            place[3] = gap(model.cones[c], lane.R[lane.now[0]], lane.x[lane.now[0]])
        record.iterations[done + 1] = spent
        record.divided[done + 1] = count if count > 1 else 0
    return u.shape[0]
