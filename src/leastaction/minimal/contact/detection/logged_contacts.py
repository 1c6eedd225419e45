"""Contacts with planes as rows of a log, from the impulses and places that a run has recorded."""

from leastaction._jit import entry


@entry
def list_contacts(first, dt, lam, places, rows, frames, arms, bodies, out):
    """Rows (step, -1, body, point, force on it, gap) of contacts that push, into `out`; returns how many.

    Args:
        first: number of the first step; dt: its length [s].
        lam: impulses at the ends of steps [N s], shape (steps, m).
        places: centres of balls as they touch [m], and their gaps, shape (steps, n, 4).
        rows: where the impulse along the normal is, two tangents after it, shape (n,).
        frames: normals and tangents, shape (n, 3, 3).
        arms: from the points that touch to the centres [m], shape (n, 3).
        bodies: that the balls are on, shape (n,).
    """
    count = 0
    for step in range(places.shape[0]):
        for c in range(rows.shape[0]):
            at = rows[c]
            if lam[step, at] > 0.0:
                row = out[count]
                row[0], row[1], row[2], row[9] = first + step, -1.0, bodies[c], places[step, c, 3]
                for k in range(3):
                    row[3 + k] = places[step, c, k] - arms[c, k]
                    force = lam[step, at] * frames[c, 0, k]
                    force += lam[step, at + 1] * frames[c, 1, k] + lam[step, at + 2] * frames[c, 2, k]
                    row[6 + k] = force / dt
                count += 1
    return count
