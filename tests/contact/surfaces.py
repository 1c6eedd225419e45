"""The surface of a height field in NumPy, written apart from the kernels: heights and distances."""

import numpy as np


class Surface:
    """Triangles over a grid about the origin, each cell split from (i, j) to (i + 1, j + 1), constant beyond it."""

    def __init__(self, heights, spacing, beyond=4):
        self.heights, self.spacing = heights, spacing
        nx, ny = heights.shape
        i, j = np.meshgrid(np.arange(-beyond, nx + beyond), np.arange(-beyond, ny + beyond), indexing="ij")
        P = np.stack([(i - (nx - 1) / 2) * spacing, (j - (ny - 1) / 2) * spacing, self._at(i, j)], axis=-1)
        a, b, c, d = P[:-1, :-1], P[1:, :-1], P[1:, 1:], P[:-1, 1:]
        self.triangles = np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])

    def _at(self, i, j):
        nx, ny = self.heights.shape
        return self.heights[np.clip(i, 0, nx - 1), np.clip(j, 0, ny - 1)]

    def height(self, x, y):
        """Of the surface at x, y (any shape)."""
        nx, ny = self.heights.shape
        gx, gy = np.asarray(x) / self.spacing + (nx - 1) / 2, np.asarray(y) / self.spacing + (ny - 1) / 2
        i, j = np.floor(gx).astype(int), np.floor(gy).astype(int)
        fx, fy = gx - i, gy - j
        middle = np.where(fx > fy, self._at(i + 1, j), self._at(i, j + 1))
        low = self._at(i, j)
        return low + np.minimum(fx, fy) * (self._at(i + 1, j + 1) - middle) + np.maximum(fx, fy) * (middle - low)

    def distance(self, x):
        """Of a point (3) from the nearest triangle: its face, where the point is over it, or its sides."""
        a, b, c = self.triangles.transpose(1, 0, 2)
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n, axis=1, keepdims=True)
        over, sides = np.ones(len(a), bool), np.full(len(a), np.inf)
        for p, q in ((a, b), (b, c), (c, a)):
            d = q - p
            over &= (np.cross(d, x - p) * n).sum(axis=1) > 0.0
            t = np.clip(((x - p) * d).sum(axis=1) / (d * d).sum(axis=1), 0.0, 1.0)
            sides = np.minimum(sides, np.linalg.norm(x - p - t[:, None] * d, axis=1))
        return np.where(over, np.abs(((x - a) * n).sum(axis=1)), sides).min()

    def drop(self, x, radius):
        """The ball about x (3), from above, moved down until it touches: its centre."""
        x = np.array(x, float)
        gap = self.distance(x) - radius
        while gap > 1e-7:
            x[2] -= gap
            gap = self.distance(x) - radius
        return x
