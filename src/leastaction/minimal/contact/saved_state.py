"""State of a robot saved between calls of a kernel."""

from leastaction._jit import routine
from leastaction.minimal.contact.steps import prepare, reset_contacts


@routine
def keep(data, touch, memory, robot, total, parts):
    """Save the state of a run in a column of `memory`; see `arrays.memory_size`."""
    memory[0, robot], memory[1, robot] = total, parts
    at, nq, nv = 2, data.q0.shape[0], data.p.shape[0]
    for k in range(nq):
        memory[at + k, robot] = data.q0[k]
    at += nq
    for k in range(nv):
        memory[at + k, robot] = data.p[k]
        memory[at + nv + k, robot] = data.v_last[k]
        memory[at + 2 * nv + k, robot] = data.v_older[k]
    at += 3 * nv
    if touch is not None:
        for k in range(nv):
            memory[at + k, robot] = touch.kick[k]
        for k in range(touch.lam.shape[0]):
            memory[at + nv + k, robot] = touch.lam[k]


@routine
def recall(model, data, touch, memory, robot):
    """Restore the state that `keep` has saved."""
    at, nq, nv = 2, data.q0.shape[0], data.p.shape[0]
    for k in range(nq):
        data.q0[k] = memory[at + k, robot]
    at += nq
    for k in range(nv):
        data.p[k] = memory[at + k, robot]
        data.v_last[k] = memory[at + nv + k, robot]
        data.v_older[k] = memory[at + 2 * nv + k, robot]
    at += 3 * nv
    prepare(model, data)
    reset_contacts(touch)
    if touch is not None:
        for k in range(nv):
            touch.kick[k] = memory[at + k, robot]
        for k in range(touch.lam.shape[0]):
            touch.lam[k] = memory[at + nv + k, robot]
