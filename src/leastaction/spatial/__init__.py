"""Spatial algebra: rotations, poses, twists, wrenches and inertias as pure functions on plain tuples.

==================  =========================================  ==========================================
thing               tuple                                      notes
==================  =========================================  ==========================================
vector              ``(x, y, z)``                              SI units
twist               ``(omega, v)``, two vectors                angular first [rad/s, m/s]
wrench              ``(tau, f)``, two vectors                  angular first [N m, N]
rotation, matrix    9 numbers, row-major                       child to parent
quaternion          ``(w, x, y, z)``                           scalar first, Hamilton, local to world
pose                ``(R, p)``, rotation and position          child frame in parent frame [m]
symmetric matrix    ``(xx, xy, xz, yy, yz, zz)``               the matrix's own entries
spatial inertia     ``(m, h, I)``, h = m com, I symmetric      about the frame's origin [kg, kg m, kg m^2]
exponential block   ``(J, Q)``, two matrices                   the 6 x 6 matrix [[J, 0], [Q, J]]
==================  =========================================  ==========================================

The functions are for compiled code, on the CPU or in a CUDA kernel: inlined, allocating nothing. Python may
call them too: each is compiled at its first call (some 0.1 s), and a call takes some 50 us after, arguments checked.
To step through them, set ``NUMBA_DISABLE_JIT=1``. Pass floats: integers are another type, compiled anew.
"""

from leastaction.spatial._argument_checks import guard
from leastaction.spatial.arrays import (
    add6_at,
    load3,
    load4,
    load6,
    load6_at,
    load9,
    load_inertia,
    load_sym,
    store3,
    store4,
    store6,
    store6_at,
    store9,
    store_inertia,
    store_sym,
)
from leastaction.spatial.quaternion import (
    QUAT_ID,
    quat_conj,
    quat_exp,
    quat_from_rotation,
    quat_log,
    quat_mul,
    quat_normalize,
    quat_rotate,
    quat_to_rotation,
)
from leastaction.spatial.se3 import (
    IDENTITY,
    Ad,
    Ad_inv,
    act,
    block_apply,
    block_apply_transposed,
    coAd,
    coAd_inv,
    compose,
    inverse,
    se3_exp,
    se3_left_jacobian,
    se3_left_jacobian_inv,
    se3_log,
    se3_right_jacobian,
    se3_right_jacobian_inv,
)
from leastaction.spatial.so3 import (
    EYE,
    axis_rotation,
    column,
    hat,
    left_jacobian,
    left_jacobian_dot,
    left_jacobian_inv,
    matmul,
    matmult,
    mattmul,
    mattvec,
    matvec,
    right_jacobian,
    right_jacobian_dot,
    right_jacobian_inv,
    rot_exp,
    rot_log,
    transpose,
    vee,
)
from leastaction.spatial.spatial_inertia import (
    add_inertia,
    gravity_wrench,
    inertia_from_com,
    inertia_transform,
    kinetic,
    momentum,
    rotate_sym,
    symvec,
    world_inertia,
)
from leastaction.spatial.twist import (
    ZERO6,
    ad,
    add,
    axpy,
    coad,
    cross_force,
    cross_motion,
    dot,
    neg,
    scale,
    sub,
)
from leastaction.spatial.vec3 import (
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    neg3,
    norm3,
    scale3,
    sub3,
)

__all__ = [
    "EYE",
    "IDENTITY",
    "QUAT_ID",
    "ZERO3",
    "ZERO6",
    "Ad",
    "Ad_inv",
    "act",
    "ad",
    "add",
    "add3",
    "add6_at",
    "add_inertia",
    "axis_rotation",
    "axpy",
    "axpy3",
    "block_apply",
    "block_apply_transposed",
    "coAd",
    "coAd_inv",
    "coad",
    "column",
    "compose",
    "cross",
    "cross_force",
    "cross_motion",
    "dot",
    "dot3",
    "gravity_wrench",
    "hat",
    "inertia_from_com",
    "inertia_transform",
    "inverse",
    "kinetic",
    "left_jacobian",
    "left_jacobian_dot",
    "left_jacobian_inv",
    "load3",
    "load4",
    "load6",
    "load6_at",
    "load9",
    "load_inertia",
    "load_sym",
    "matmul",
    "matmult",
    "mattmul",
    "mattvec",
    "matvec",
    "momentum",
    "neg",
    "neg3",
    "norm3",
    "quat_conj",
    "quat_exp",
    "quat_from_rotation",
    "quat_log",
    "quat_mul",
    "quat_normalize",
    "quat_rotate",
    "quat_to_rotation",
    "right_jacobian",
    "right_jacobian_dot",
    "right_jacobian_inv",
    "rot_exp",
    "rot_log",
    "rotate_sym",
    "scale",
    "scale3",
    "se3_exp",
    "se3_left_jacobian",
    "se3_left_jacobian_inv",
    "se3_log",
    "se3_right_jacobian",
    "se3_right_jacobian_inv",
    "store3",
    "store4",
    "store6",
    "store6_at",
    "store9",
    "store_inertia",
    "store_sym",
    "sub",
    "sub3",
    "symvec",
    "transpose",
    "vee",
    "world_inertia",
]

for _name in __all__:
    if callable(globals()[_name]):
        guard(globals()[_name])


def __dir__() -> list[str]:
    return [*__all__]
