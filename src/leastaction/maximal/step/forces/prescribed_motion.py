"""Prescribed motions within a step: values and rates at its ends."""

from leastaction._jit import inline, routine
from leastaction.maximal.maximal_records import VALUE
from leastaction.maximal.step.joint_rows import is_coupling
from leastaction.spatial import quat_normalize, quat_to_rotation


@routine(allocates=False)
def set_goals(model, goals, row, last, share):
    """Write the prescribed values at a fraction of a step, interpolated between two rows of the record.

    Values and positions are interpolated linearly, quaternions linearly with normalisation.

    Args:
        goals: output, one row of `MaximalData.goals`.
        row, last: rows of `MaximalRecord.goals` at the start and end of the step.
        share: 0 at the start of the step, 1 at its end.
    """
    for k in range(model.goals.shape[0]):
        goal = model.goals[k]
        i, j = goal.at, goal.first
        if goal.kind == VALUE:
            for c in range(2):
                goals[i + c] = mixed(row, last, j + c, share, 1.0)
            continue
        for c in range(3):
            goals[i + 9 + c] = mixed(row, last, j + c, share, 1.0)
        dot = 0.0
        for c in range(3, 7):
            dot += row[j + c] * last[j + c]
        sign = -1.0 if dot < 0.0 else 1.0
        a, b = mixed(row, last, j + 3, share, sign), mixed(row, last, j + 4, share, sign)
        c, d = mixed(row, last, j + 5, share, sign), mixed(row, last, j + 6, share, sign)
        R = quat_to_rotation(quat_normalize((a, b, c, d)))
        for m in range(9):
            goals[i + m] = R[m]
        for m in range(6):
            goals[i + 12 + m] = mixed(row, last, j + 7 + m, share, 1.0)


@inline
def mixed(row, last, k, share, sign):
    """Entry k interpolated between two rows; sign: of the second."""
    return (1.0 - share) * row[k] + sign * share * last[k]


@routine(allocates=False)
def pass_goals(goals):
    """Copy the prescribed values at the end of a step to the start of the next."""
    for k in range(goals.shape[1]):
        goals[0, k] = goals[1, k]


@inline
def goal_rate(row, s, goals):
    """Prescribed rate of a row, with the row's gradient at the time of `goals`."""
    if is_coupling(row):
        return goals[row.goal + 1]
    rate = 0.0
    for c in range(6):
        rate += s.wb[c] * goals[row.goal + 12 + c]
    return rate
