"""Springs, cables and tendons over a step: tensions along lengths, by a discrete gradient.

The tension T over a step is the mean of the tensions at all lengths from the start l0 to the end l1, so that
T (l1 - l0) is the difference of the energies (Gonzalez 1996); dampers resist the mean rate. A straight segment with the
vectors d0 and d1 between its points at both ends of the step pulls along

    c = (d0 + d1) / (|d0| + |d1|),    c . (d1 - d0) = |d1| - |d0|,

the same at both ends; other lengths, such as joint angles and wrapped paths, pull along their gradients there. The
generalised forces are averaged over both ends (`mean_along`).
"""

from leastaction._jit import inline, routine
from leastaction.forces import isotropic_springs
from leastaction.forces.points import path_point, pull
from leastaction.forces.tendons import cable_paths, tendon_forces
from leastaction.forces.tendons.cable_paths import direction, mean_tension, size
from leastaction.forces.tendons.tendon_lengths import measure
from leastaction.forces.tendons.tendon_records import SEGMENT
from leastaction.kinematics.closure_kernels import frame
from leastaction.kinematics.sweeps import FREE, add_to
from leastaction.minimal.contact.row_vec6 import accumulate, six
from leastaction.minimal.vec6 import times
from leastaction.spatial import (
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattmul,
    mattvec,
    matvec,
    neg3,
    scale,
    scale3,
    sub3,
)


@inline
def ends_of(item, links):
    """World positions of the two points of a straight segment [m]."""
    Ra, pa = frame(links, item.other)
    Rb, pb = frame(links, item.node)
    return add3(pa, matvec(Ra, load3(item.pa))), add3(pb, matvec(Rb, load3(item.pb)))


@inline
def mean_direction(d0, d1):
    """Direction c of the head of the file."""
    return direction(add3(d0, d1), size(d0) + size(d1))


@routine
def tendon_length(tendon, items, q, links):
    """Length of a tendon [m or rad] at joint positions q (nq,) and body poses `links`."""
    length = tendon.offset
    for k in range(tendon.first, tendon.first + tendon.count):
        length += items[k].weight * (q[items[k].iq] if items[k].iq >= 0 else measure(items[k], links)[0])
    return length


@inline
def is_along_joint(tendon, items):
    """Whether the length of a tendon is the position of one joint, as for servos."""
    return tendon.count == 1 and items[tendon.first].iq >= 0


@routine
def path_length(path, points, links):
    """Length of a path [m]."""
    length = 0.0
    x, _ = path_point(points[path.first], links)
    for k in range(path.first + 1, path.first + path.count):
        y, _ = path_point(points[k], links)
        length += size(sub3(y, x))
        x = y
    return length


@routine
def push_tendon(tendon, items, links, force, external):
    """Add to `external`, shape (2, bodies, 6), the wrenches at both ends of a force that lengthens a tendon."""
    for k in range(tendon.first, tendon.first + tendon.count):
        item = items[k]
        f = force * item.weight
        if item.kind == SEGMENT:
            (xa, xb), (ya, yb) = ends_of(item, links[0]), ends_of(item, links[1])
            c = scale3(f, mean_direction(sub3(xb, xa), sub3(yb, ya)))
            for end in range(2):
                pull(external[end], item.node, xb if end == 0 else yb, c)
                pull(external[end], item.other, xa if end == 0 else ya, neg3(c))
        else:
            for end in range(2):
                _, W = measure(item, links[end])
                if item.node >= 0:
                    add_to(external[end, item.node], scale(f, W))
                if item.other >= 0:
                    add_to(external[end, item.other], scale(-f, W))


@routine
def push_path(path, points, links, force, external):
    """`push_tendon` of a path."""
    for k in range(path.first + 1, path.first + path.count):
        a, b = points[k - 1], points[k]
        xa, xb = path_point(a, links[0])[0], path_point(b, links[0])[0]
        ya, yb = path_point(a, links[1])[0], path_point(b, links[1])[0]
        c = scale3(force, mean_direction(sub3(xb, xa), sub3(yb, ya)))
        for end in range(2):
            pull(external[end], b.node, xb if end == 0 else yb, c)
            pull(external[end], a.node, xa if end == 0 else ya, neg3(c))


@routine
def push_vector(path, points, links, f, external):
    """Add the wrenches of a repulsive vector force f between the two points of an isotropic spring."""
    a, b = points[path.first], points[path.first + 1]
    for end in range(2):
        pull(external[end], a.node, path_point(a, links[end])[0], neg3(f))
        pull(external[end], b.node, path_point(b, links[end])[0], f)


@routine
def tendon_tension(model, data, pulls, k, dt):
    """Mean tension of tendon k over the step, its derivative by the end length, and the change of length."""
    tendon, items, links = model.forces.tendons[k], pulls.modes.items, pulls.links
    a, b = tendon_length(tendon, items, data.q0, links[0]), tendon_length(tendon, items, data.q1, links[1])
    force, _, slope, _ = tendon_forces.step_tension(tendon, pulls.modes.pull[0, k, 0], a, b, dt)
    return force, slope, b - a


@routine
def path_tension(model, pulls, k, dt):
    """`tendon_tension` of path k, which is not isotropic."""
    path, points = model.forces.paths[k], model.forces.points
    a, b = path_length(path, points, pulls.links[0]), path_length(path, points, pulls.links[1])
    force, _, slope = mean_tension(path, a, b, dt)
    return force, slope, b - a


@routine
def vector_between(path, points, links):
    """Vector from the first to the second point of an isotropic spring [m]."""
    return sub3(path_point(points[path.first + 1], links)[0], path_point(points[path.first], links)[0])


@routine
def pull_lengths(model, data, pulls, dt):
    """Add the wrenches of all tendons and paths at both ends to `external`, and those along single joints to the
    impulses and slopes of these; returns their work over the step [J]."""
    forces, items, work = model.forces, pulls.modes.items, 0.0
    for k in range(forces.tendons.shape[0]):
        force, slope, longer = tendon_tension(model, data, pulls, k, dt)
        work -= force * longer
        if is_along_joint(forces.tendons[k], items):
            item = items[forces.tendons[k].first]
            pulls.start[item.iv] -= 0.5 * dt * force * item.weight
            pulls.end[item.iv] -= 0.5 * dt * force * item.weight
            pulls.slope[item.iv] += 0.5 * dt * slope * item.weight * item.weight
        else:
            push_tendon(forces.tendons[k], items, pulls.links, -force, pulls.external)
    for k in range(forces.paths.shape[0]):
        path = forces.paths[k]
        if path.isotropic != 0:
            d0 = vector_between(path, forces.points, pulls.links[0])
            d1 = vector_between(path, forces.points, pulls.links[1])
            change = sub3(d1, d0)
            f = axpy3(path.damping / dt, change, scale3(0.5 * path.stiffness, add3(d0, d1)))
            work -= dot3(f, change)
            push_vector(path, forces.points, pulls.links, neg3(f), pulls.external)
        else:
            force, _, longer = path_tension(model, pulls, k, dt)
            work -= force * longer
            push_path(path, forces.points, pulls.links, -force, pulls.external)
    return work


@routine
def push_unit(model, pulls, cone):
    """Add to `external` the wrenches at both ends of a unit force along the tendon or path of a tie."""
    forces, k = model.forces, cone.tie
    if k < forces.tendons.shape[0]:
        push_tendon(forces.tendons[k], pulls.modes.items, pulls.links, 1.0, pulls.external)
        return
    path = forces.paths[k - forces.tendons.shape[0]]
    if path.isotropic != 0:
        axis = (1.0 if cone.axis == 0 else 0.0, 1.0 if cone.axis == 1 else 0.0, 1.0 if cone.axis == 2 else 0.0)
        push_vector(path, forces.points, pulls.links, axis, pulls.external)
    else:
        push_path(path, forces.points, pulls.links, 1.0, pulls.external)


@routine
def gradient_at_end(model, pulls, cone, out):
    """Add to `out` (bodies, 6) the gradient of the length of such a tie by the end twists of bodies."""
    forces, k, links = model.forces, cone.tie, pulls.links[1]
    if k < forces.tendons.shape[0]:
        tendon_forces.push(forces.tendons[k], pulls.modes.items, links, 1.0, out)
        return
    path = forces.paths[k - forces.tendons.shape[0]]
    if path.isotropic != 0:
        isotropic_springs.push_along(path, forces.points, links, cone.axis, out)
    else:
        cable_paths.push(path, forces.points, links, -1.0, out)


@inline
def half_tangent(R0, R1):
    """tan(a / 2) n of the rotation between two frames, with angle a and axis n."""
    D = mattmul(R0, R1)
    k = 1.0 / max(1.0 + D[0] + D[4] + D[8], 1e-6)
    return (k * (D[7] - D[5]), k * (D[2] - D[6]), k * (D[3] - D[1]))


@inline
def mean_torque(t, one, two):
    """Torque a in the directions of a body that satisfies R0 a + R1 a = R0 one + R1 two; t: see `half_tangent`."""
    return scale3(0.5, add3(add3(one, two), cross(t, sub3(two, one))))


@inline
def three(S_, c, F):
    """Products of three axes with a wrench."""
    return times(six(S_[c]), F), times(six(S_[c + 1]), F), times(six(S_[c + 2]), F)


@routine
def mean_along(model, data, external, factor, first, last):
    """Add to `first` and `last` (nv,) the averaged generalised impulses of wrenches at both ends of the step.

    Stiff springs change momenta by much in each half of a step, and both changes must have the same energy. So a joint
    with one axis gets the mean of both ends at either end, a ball joint the same torque in the directions of its child,
    and a free joint the same torque about the centre of mass of its body, in body directions, and the same force in
    the directions of the joint. The kinetic energy of a single body then changes by the work of the forces, with an
    error of second order in the half-step angle; the sum over both ends, hence total momentum, is that of the wrenches.

    Args:
        external: wrenches about the world's origin, shape (2, bodies, 6); overwritten.
        factor: of all wrenches.
    """
    nodes, S0_, S1_ = model.nodes, data.S[data.now[0]], data.S[1 - data.now[0]]
    for i in range(nodes.shape[0] - 1, -1, -1):
        node, F, E, n = nodes[i], six(external[0, i]), six(external[1, i]), nodes[i].iv
        if node.nv == 1:
            both = 0.5 * factor * (times(six(S0_[n]), F) + times(six(S1_[n]), E))
            first[n] += both
            last[n] += both
        elif node.nv > 1:
            R0, R1 = load9(data.R[data.now[0]][i]), load9(data.R[1 - data.now[0]][i])
            t, u, v = half_tangent(R0, R1), three(S0_, n, F), three(S1_, n, E)
            a = mean_torque(t, u, v)
            if node.kind == FREE:
                com = load3(node.com)
                f, g = three(S0_, n + 3, F), three(S1_, n + 3, E)
                a = mean_torque(t, sub3(u, cross(com, f)), sub3(v, cross(com, g)))
                both3 = scale3(0.5, add3(matvec(R0, f), matvec(R1, g)))
                f, g = mattvec(R0, both3), mattvec(R1, both3)
                u, v = add3(a, cross(com, f)), add3(a, cross(com, g))
                for c in range(3):
                    first[n + c] += factor * u[c]
                    first[n + 3 + c] += factor * f[c]
                    last[n + c] += factor * v[c]
                    last[n + 3 + c] += factor * g[c]
            else:
                for c in range(3):
                    first[n + c] += factor * a[c]
                    last[n + c] += factor * a[c]
        if node.parent >= 0:
            accumulate(external[0, node.parent], 0, F)
            accumulate(external[1, node.parent], 0, E)
