"""Contacts with planes as rows of a log, from the recorded impulses and positions of a run."""

from leastaction._jit import entry


@entry
def list_contacts(first, dt, lam, places, rows, frames, arms, bodies, out):
    """Write rows (step, -1, body, point, force on it, gap) of loaded contacts to `out`; returns how many.

    Args:
        first: number of the first step; dt: its length [s].
        lam: impulses at the ends of steps [N s], shape (steps, m).
        places: centres of the contact spheres at contact, and their gaps [m], shape (steps, n, 4).
        rows: index of the normal impulse, followed by two tangential ones, shape (n,).
        frames: normals and tangents, shape (n, 3, 3).
        arms: from the contact points to the centres [m], shape (n, 3).
        bodies: of the spheres, shape (n,).
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
