"""Copying of derivative blocks of one step into those of all steps."""

from leastaction._jit import routine


@routine
def copy_blocks(D, C, D_out, C_out):
    """Copy the blocks of one step; controls belong to the control points, or to one point for all rows.

    D: by the control points, shape (s + 1, nv, s + 1, nv). C: by the controls of the same point, (s + 1, nv, nu); it
    becomes (s + 1, nv, nodes, nu), whose other entries are unchanged.
    """
    nodes = C_out.shape[2]
    for chi in range(D.shape[0]):
        for i in range(D.shape[1]):
            for other in range(D.shape[2]):
                for j in range(D.shape[3]):
                    D_out[chi, i, other, j] = D[chi, i, other, j]
            for k in range(C.shape[2]):
                C_out[chi, i, chi if nodes > 1 else 0, k] = C[chi, i, k]
