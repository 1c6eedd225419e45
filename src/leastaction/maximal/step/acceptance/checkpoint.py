"""Back to the start of a substep that is rejected after its momenta are solved.

The first phase leaves the start of a substep as it is. Its end and the second phase there overwrite it. So it is kept
before (`keep_part`) and brought back, to the last bit, where the substep is not accepted (`roll_back`). Modes of
one-sided forces, drives of tendons and the turns of joints that tendons count follow from the joint positions and the
controls; they are looked at anew where a substep begins.
"""

from leastaction._jit import routine


@routine(allocates=False)
def keep_part(model, data, q):
    """Keep what the end of a substep with the joint positions q (nq,) at its start overwrites."""
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
    """Bring all of it back."""
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
    """Copy what is known of springs and cables; paths: those of the model, None compiles nothing."""
    if paths is None or paths.shape[0] == 0:
        return
    copy_records(source.paths, to.paths)
    copy_records(source.points, to.points)


@routine(allocates=False)
def copy_lengths(source, to, sprung):
    """Copy what is known of tendons and soft limits; sprung: those of the model, None compiles nothing."""
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
    """Copy numbers, shape (n,)."""
    for i in range(source.shape[0]):
        to[i] = source[i]


@routine(allocates=False)
def copy_rows(source, to):
    """Copy numbers, shape (n, m)."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            to[i, j] = source[i, j]
