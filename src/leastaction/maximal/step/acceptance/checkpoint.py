"""Checkpoint and rollback of a substep that is rejected after its momenta are solved.

The first phase does not change the start of a substep; its end and the second phase overwrite it. `keep_part` saves
that state before, and `roll_back` restores it, bit for bit, where the substep is rejected. Modes of one-sided forces,
drives of tendons and the turns of joints that tendons count follow from the joint positions and the controls; they are
evaluated anew at the start of each substep.
"""

from leastaction._jit import routine


@routine(allocates=False)
def keep_part(model, data, q):
    """Save what the end of a substep overwrites; q: joint positions at its start, shape (nq,)."""
    start = data.start
    copy_records(data.bodies, start.bodies)
    copy_records(data.rows, start.rows)
    copy_records(data.coordinates, start.coordinates)
    copy_paths(data, start, model.paths)
    copy_lengths(data, start, model.sprung)
    copy_rows(data.minus, start.minus)
    copy_rows(data.kicks[1], start.kicks)
    copy_records(data.past, start.past)
    copy_values(data.goals[0], start.goals)
    copy_values(q, start.q)


@routine(allocates=False)
def roll_back(model, data, q):
    """Restore what `keep_part` saved."""
    start = data.start
    copy_records(start.bodies, data.bodies)
    copy_records(start.rows, data.rows)
    copy_records(start.coordinates, data.coordinates)
    copy_paths(start, data, model.paths)
    copy_lengths(start, data, model.sprung)
    copy_rows(start.minus, data.minus)
    copy_rows(start.kicks, data.kicks[1])
    copy_records(start.past, data.past)
    copy_values(start.goals, data.goals[0])
    copy_values(start.q, q)


@routine(allocates=False)
def copy_paths(source, to, paths):
    """Copy the states of springs and cables; paths: those of the model, None compiles no code."""
    if paths is None or paths.shape[0] == 0:
        return
    copy_records(source.paths, to.paths)
    copy_records(source.points, to.points)


@routine(allocates=False)
def copy_lengths(source, to, sprung):
    """Copy the states of tendons and soft limits; sprung: those of the model, None compiles no code."""
    if sprung is None or sprung.shape[0] == 0:
        return
    copy_rows(source.lengths, to.lengths)
    copy_rows(source.stretches, to.stretches)
    copy_records(source.strings, to.strings)


@routine(allocates=False)
def copy_records(source, to):
    """Copy an array of records."""
    for i in range(source.shape[0]):
        to[i] = source[i]


@routine(allocates=False)
def copy_values(source, to):
    """Copy an array of numbers, shape (n,)."""
    for i in range(source.shape[0]):
        to[i] = source[i]


@routine(allocates=False)
def copy_rows(source, to):
    """Copy an array of numbers, shape (n, m)."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            to[i, j] = source[i, j]
