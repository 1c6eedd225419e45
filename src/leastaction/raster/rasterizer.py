"""Compiled loops of the renderer: which triangle each pixel sees, and what colour that is.

A first pass keeps for every pixel the nearest triangle (a visibility buffer); the second one shades each pixel once.
Seen from the lamp, the first pass alone gives the map of shadows.
"""

import math

from leastaction._jit import entry, inline, routine
from leastaction.raster.arrays import Light, Seen, Triangles

GAMMA = 2.2


@inline
def _span(value, slope, low, high):
    """The part of [low, high] in which value + slope x is not negative."""
    if slope > 0.0:
        return max(low, -value / slope), high
    if slope < 0.0:
        return low, min(high, -value / slope)
    return (low, high) if value >= 0.0 else (low, low - 1.0)


@entry
def nearest(points, faces, near, index):
    """For each pixel the nearest triangle, where it is nearer than `near` already says.

    Args:
        points: x and y [pixels] and nearness (linear on the screen, larger is nearer) of the vertices, shape (n, 3);
            a nearness of zero or less hides the triangle.
        faces: indices of vertices, shape (m, 3).
        near: nearness of what is seen, shape (height, width); changed.
        index: number of the triangle seen, shape (height, width); changed.
    """
    height, width = near.shape
    for f in range(faces.shape[0]):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        ax, ay, aw = points[a, 0], points[a, 1], points[a, 2]
        bx, by, bw = points[b, 0], points[b, 1], points[b, 2]
        cx, cy, cw = points[c, 0], points[c, 1], points[c, 2]
        if min(aw, bw, cw) <= 0.0:
            continue
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        left, right = min(ax, bx, cx), max(ax, bx, cx)
        top, bottom = max(math.ceil(min(ay, by, cy) - 0.5), 0), min(math.floor(max(ay, by, cy) - 0.5), height - 1)
        scale = 1.0 / area
        # Barycentric coordinates change by these from pixel to pixel along a row.
        du, dv = (by - cy) * scale, (cy - ay) * scale
        dz = du * aw + dv * bw - (du + dv) * cw
        for i in range(top, bottom + 1):
            y = i + 0.5
            u = (bx * (cy - y) - cx * (by - y)) * scale
            v = (cx * (ay - y) - ax * (cy - y)) * scale
            low, high = _span(u, du, left, right)
            low, high = _span(v, dv, low, high)
            low, high = _span(1.0 - u - v, -du - dv, low, high)
            z = u * aw + v * bw + (1.0 - u - v) * cw
            # A little wider than it is, lest round-off leave gaps along common edges.
            for j in range(max(math.ceil(low - 0.5 - 1e-7), 0), min(math.floor(high - 0.5 + 1e-7), width - 1) + 1):
                here = z + dz * (j + 0.5)
                if here > near[i, j]:
                    near[i, j] = here
                    index[i, j] = f


@inline
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def _mix(a, b, s):
    return (a[0] + (b[0] - a[0]) * s, a[1] + (b[1] - a[1]) * s, a[2] + (b[2] - a[2]) * s)


@inline
def _unit(a):
    s = 1.0 / math.sqrt(_dot(a, a) + 1e-300)
    return (a[0] * s, a[1] * s, a[2] * s)


@routine
def _lit(p, light):
    """How much of the lamp a point sees, 0 to 1: the mean over 3 x 3 entries of the map of shadows."""
    lamp, shadow, bias = light.lamp, light.shadow, light.bias
    rows, columns = shadow.shape
    x = lamp[0, 0] * p[0] + lamp[0, 1] * p[1] + lamp[0, 2] * p[2] + lamp[0, 3]
    y = lamp[1, 0] * p[0] + lamp[1, 1] * p[1] + lamp[1, 2] * p[2] + lamp[1, 3]
    z = lamp[2, 0] * p[0] + lamp[2, 1] * p[1] + lamp[2, 2] * p[2] + lamp[2, 3]
    seen = 0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            i, j = math.floor(y) + di, math.floor(x) + dj
            # Zero: nothing between here and the lamp.
            if i < 0 or j < 0 or i >= rows or j >= columns or shadow[i, j] <= max(z + bias, 0.0):
                seen += 1
    return seen / 9.0


@routine
def _surface(albedo, n, view, light, lit):
    """Colour of a lit surface: sky and ground from all around, the lamp, a highlight; all linear."""
    sky = 0.5 * n[2] + 0.5
    lambert = max(_dot(n, light), 0.0) * lit
    half = _unit((light[0] + view[0], light[1] + view[1], light[2] + view[2]))
    shine = 0.22 * max(_dot(n, half), 0.0) ** 36 * lit
    rim = 0.10 * (1.0 - max(_dot(n, view), 0.0)) ** 4
    r = albedo[0] * (0.26 + 0.22 * sky + 0.80 * lambert) + shine + rim
    g = albedo[1] * (0.25 + 0.25 * sky + 0.77 * lambert) + shine + rim
    b = albedo[2] * (0.25 + 0.29 * sky + 0.72 * lambert) + shine + rim
    return (r, g, b)


@inline
def _backdrop(rise):
    """Colour of the sky, linear, for the z of a unit ray."""
    return _mix((0.86, 0.89, 0.92), (0.52, 0.63, 0.76), min(max(2.2 * rise, 0.0), 1.0))


@inline
def _line(x, cell, half_width, blur):
    """How much of a line of a grid a point covers, 0 to 1."""
    off = math.fabs(x / cell - math.floor(x / cell + 0.5)) * cell
    return min(max(0.5 + (half_width - off) / blur, 0.0), 1.0) * min(1.0, 2.0 * half_width / blur + 0.15)


@routine
def _floor(p, far, ray, light, lit):
    """Colour of the floor at p, `far` [m] from the camera."""
    cell = light.cell
    blur = far * light.pixel / max(math.fabs(ray[2]), 0.05) + 1e-12
    fine = max(_line(p[0], cell, 0.006 * cell, blur), _line(p[1], cell, 0.006 * cell, blur))
    wide = max(_line(p[0], 5.0 * cell, 0.012 * cell, blur), _line(p[1], 5.0 * cell, 0.012 * cell, blur))
    color = _mix((0.74, 0.76, 0.78), (0.50, 0.54, 0.58), max(0.45 * fine, 0.8 * wide))
    bright = 0.50 + 0.58 * light.direction[2] * lit
    color = (color[0] * bright, color[1] * bright, color[2] * (bright + 0.01))
    fade = math.exp(-((far / light.reach) ** 2))
    return _mix(_backdrop(0.0), color, fade)


@routine
def _material(x, y, f, triangles, light):
    """Colour, opacity and distance of the triangle f at a pixel."""
    points, faces, positions, normals, colors, face_color = triangles
    eye = light.eye
    a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
    ax, ay, bx, by = points[a, 0], points[a, 1], points[b, 0], points[b, 1]
    cx, cy = points[c, 0], points[c, 1]
    scale = 1.0 / ((bx - ax) * (cy - ay) - (by - ay) * (cx - ax))
    u = ((bx - x) * (cy - y) - (by - y) * (cx - x)) * scale * points[a, 2]
    v = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) * scale * points[b, 2]
    w = ((ax - x) * (by - y) - (ay - y) * (bx - x)) * scale * points[c, 2]
    s = 1.0 / (u + v + w)  # what is linear on the screen is divided by depth; this undoes it
    u, v, w = u * s, v * s, w * s
    p = (
        u * positions[a, 0] + v * positions[b, 0] + w * positions[c, 0],
        u * positions[a, 1] + v * positions[b, 1] + w * positions[c, 1],
        u * positions[a, 2] + v * positions[b, 2] + w * positions[c, 2],
    )
    n = _unit(
        (
            u * normals[a, 0] + v * normals[b, 0] + w * normals[c, 0],
            u * normals[a, 1] + v * normals[b, 1] + w * normals[c, 1],
            u * normals[a, 2] + v * normals[b, 2] + w * normals[c, 2],
        )
    )
    to_eye = (eye[0] - p[0], eye[1] - p[1], eye[2] - p[2])
    view = _unit(to_eye)
    if _dot(n, view) < 0.0:
        n = (-n[0], -n[1], -n[2])
    k = face_color[f]
    albedo = (colors[k, 0], colors[k, 1], colors[k, 2])
    color = _surface(albedo, n, view, light.direction, _lit(p, light))
    return color, colors[k, 3], math.sqrt(_dot(to_eye, to_eye))


@routine
def _samples(near, glass_near, smooth, row, column):
    """How many samples a pixel needs: one where it sees only the floor or the sky, which are smooth already."""
    for i in range(smooth * row, smooth * (row + 1)):
        for j in range(smooth * column, smooth * (column + 1)):
            if near[i, j] > 0.0 or glass_near[i, j] > 0.0:
                return smooth * smooth
    return 1


@entry
def shade(triangles, seen, light, rays, image):
    """Colour every pixel.

    Args:
        triangles, seen, light: plain tuples of `arrays.Triangles`, `Seen` and `Light`.
        rays: the ray of the pixel (0, 0), its change along a row and along a column, shape (3, 3).
        image: red, green, blue from 0 to 255 as screens show them, shape (height, width, 3); written. It has fewer
            pixels than `seen` has samples, each the mean of several.
    """
    triangles, seen, light = Triangles(*triangles), Seen(*seen), Light(*light)
    near, index, glass_near, glass_index = seen
    height, width = image.shape[0], image.shape[1]
    smooth = near.shape[0] // height
    eye, level = light.eye, light.floor
    for row in range(height):
        for column in range(width):
            sum = (0.0, 0.0, 0.0)
            samples = _samples(near, glass_near, smooth, row, column)
            for sample in range(samples):
                i, j = smooth * row + sample // smooth, smooth * column + sample % smooth
                y, x = i + 0.5, j + 0.5
                if samples == 1:
                    y, x = smooth * (row + 0.5), smooth * (column + 0.5)
                ray = _unit(
                    (
                        rays[0, 0] + x * rays[1, 0] + y * rays[2, 0],
                        rays[0, 1] + x * rays[1, 1] + y * rays[2, 1],
                        rays[0, 2] + x * rays[1, 2] + y * rays[2, 2],
                    )
                )
                color, far = (0.0, 0.0, 0.0), 1e30
                if near[i, j] > 0.0:
                    color, _, far = _material(x, y, index[i, j], triangles, light)
                below = (level - eye[2]) / ray[2] if (level - eye[2]) * ray[2] > 0.0 else 1e30
                if below < far:
                    far = below
                    p = (eye[0] + far * ray[0], eye[1] + far * ray[1], level)
                    color = _floor(p, far, ray, light, _lit(p, light))
                elif far >= 1e30:
                    color = _backdrop(ray[2])
                if glass_near[i, j] > near[i, j]:
                    own, opacity, away = _material(x, y, glass_index[i, j], triangles, light)
                    if away < far:
                        color = _mix(color, own, opacity)
                sum = (sum[0] + color[0], sum[1] + color[1], sum[2] + color[2])
            for k in range(3):
                mean = min(max(sum[k] / samples, 0.0), 1.0)
                image[row, column, k] = int(255.0 * mean ** (1.0 / GAMMA) + 0.5)
