"""Runs of the robots of a batch: many steps of one robot, with given controls or those of a policy."""

import math

from leastaction._jit import routine
from leastaction.minimal.contact.joint_momenta import momenta, velocities
from leastaction.minimal.contact.saved_state import keep, recall
from leastaction.minimal.contact.steps import apply_controls, drive, prepare, reset_contacts, step

WORK = 256
"""Largest mean number of Newton iterations per step of a run; a robot beyond it fails, lest it block all others."""

AHEAD = 64
"""Number of additional steps whose iterations a run may use in advance."""


UNSOLVED, WORKED, CONTROLS, STATE = range(1, 5)
"""Reasons for the failure of a robot."""

REASONS = {
    UNSOLVED: "Newton did not converge in parts of it, to dt / {finest} or to where round-off is all that is left",
    WORKED: f"the steps so far took more than {WORK} Newton iterations each in the mean",
    CONTROLS: "its controls hold a number that is not finite",
    STATE: "it was put where a number is not finite or a quaternion no unit",
}
"""Their messages."""


@routine
def given_forces(model, data, settings, batch, done, total, robot):
    """Set the generalised forces of the controls in the batch."""
    apply_controls(model, data, batch.u, done, robot, model.driven)


def policy_forces(policy):
    """Make a function that sets the generalised forces of the controls u that a policy(t, q, v, own, u) writes."""

    @routine
    def ask(model, data, settings, batch, done, total, robot):
        velocities(model, data, data.p, data.dx)
        own = batch.policy[:, min(robot, batch.policy.shape[1] - 1)]
        policy((total + done) * settings.dt, data.q0, data.dx, own, data.u)
        drive(model, data, model.limited)

    return ask


@routine
def start(model, data, batch, robot):
    """Start a run from row 0 of the batch."""
    for k in range(data.q0.shape[0]):
        data.q0[k] = batch.q[0, k, robot]
    prepare(model, data)
    for k in range(data.p.shape[0]):
        data.v_last[k] = batch.v[k, robot]
        data.v_older[k] = data.v_last[k]
        data.p[k] = batch.p[0, k, robot]
    reset_contacts(data.touch)


@routine
def place(model, data, settings, batch, robot):
    """Set robots that are marked by -1 steps to row 0 with the velocities of the batch: momenta, no steps done."""
    if batch.memory[0, robot] >= 0.0:
        return
    start(model, data, batch, robot)
    momenta(model, data, data.v_last, data.p)
    for row in range(batch.p.shape[0]):
        for k in range(data.q0.shape[0]):
            batch.q[row, k, robot] = data.q0[k]
        for k in range(data.p.shape[0]):
            batch.p[row, k, robot] = data.p[k]
    batch.failed[robot] = -1
    batch.memory[0, robot] = 0.0


@routine
def write_velocity(model, data, touch, batch, robot):
    """Write the velocities at the end of a run to `batch.v`; with contacts, those of the last energy balance."""
    if touch is None:
        velocities(model, data, data.p, data.dx)
        for k in range(data.p.shape[0]):
            batch.v[k, robot] = data.dx[k]
    else:
        for k in range(data.p.shape[0]):
            batch.v[k, robot] = touch.v[k]


def run_with(controls):
    """Make the run kernel with the controls of `given_forces` or `policy_forces`."""

    @routine
    def run(model, data, settings, batch, robot):
        """Run all steps of one robot, from row 0 of the batch's arrays or from its memory; see `arrays.Batch`."""
        q0, total, last = data.q0, 0, 0
        if settings.keeps and batch.failed[robot] >= 0:
            return
        if settings.keeps and batch.memory[0, robot] > 0.0:
            total, last = int(batch.memory[0, robot]), int(batch.memory[1, robot])
            recall(model, data, data.touch, batch.memory, robot)
        else:
            start(model, data, batch, robot)
        batch.failed[robot] = -1
        iterations, parts, steps, every = 0, 0, settings.steps, settings.every
        # A single call of `step`, because a GPU's compiler inlines it.
        for done in range(steps):
            controls(model, data, settings, batch, done, total, robot)
            spent, count = step(model, data, settings, last == 1)
            if spent < 0 or iterations + spent > WORK * (done + AHEAD):
                batch.failed[robot] = done
                batch.why[robot] = UNSOLVED if spent < 0 else WORKED
                break
            iterations += spent
            parts += count
            last = count
            if (done + 1) % every == 0:
                row = (done + 1) // every
                for k in range(q0.shape[0]):
                    batch.q[row, k, robot] = q0[k]
                for k in range(data.p.shape[0]):
                    batch.p[row, k, robot] = data.p[k]
        if batch.failed[robot] >= 0:
            blank(batch, batch.failed[robot] // every + 1, settings.keeps, robot)
        elif settings.keeps:
            keep(data, data.touch, batch.memory, robot, total + steps, last)
            for k in range(data.p.shape[0]):
                batch.p[batch.q.shape[0] - 1, k, robot] = data.p[k]
            write_velocity(model, data, data.touch, batch, robot)
        batch.iterations[robot] = iterations
        batch.parts[robot] = parts

    return run


@routine
def blank(batch, first, keeps, robot):
    """Write NaN to rows from `first` on, and to the velocities of continued runs: a failed robot has no state."""
    if keeps:
        for k in range(batch.v.shape[0]):
            batch.v[k, robot] = math.nan
    for row in range(first, batch.q.shape[0]):
        for k in range(batch.q.shape[1]):
            batch.q[row, k, robot] = math.nan
        for k in range(batch.p.shape[1]):
            batch.p[row, k, robot] = math.nan
