"""Dual numbers by complex arithmetic (complex-step differentiation): a + i SMALL da, whose squares of da underflow.

Complex arithmetic then is that of dual numbers, and numerical code yields its derivatives, exact to round-off.
"""

from leastaction._jit import inline
from leastaction.spatial import dot3
from leastaction.spatial import exponential as ex
from leastaction.spatial._series import jacobian_third_slopes

SMALL = 1e-30
"""Scale of imaginary parts."""


@inline
def dual3(a, da):
    """Dual vector a + i SMALL da."""
    return (complex(a[0], SMALL * da[0]), complex(a[1], SMALL * da[1]), complex(a[2], SMALL * da[2]))


@inline
def slope3(a):
    """Derivative part of a dual vector."""
    return (a[0].imag / SMALL, a[1].imag / SMALL, a[2].imag / SMALL)


@inline
def dual_coefficients(y, dy):
    """`spatial.exponential.coefficients` at y, and their changes along dy; eight numbers."""
    k = ex.coefficients(y)
    third, c_third = jacobian_third_slopes(dot3(y, y), k[2], k[3], k[4], k[5])
    b = k[0]
    # The slope of gs = -1/2 (bc b - bs^2) / b^2.
    curve = -0.5 * (third * b - k[4] * k[2] - 2.0 * (k[4] * b - k[2] * k[2]) * k[2] / b) / (b * b)
    n = SMALL * dot3(y, dy)
    first = (complex(k[0], n * k[2]), complex(k[1], n * k[3]), complex(k[2], n * k[4]), complex(k[3], n * k[5]))
    return first + (
        complex(k[4], n * third),
        complex(k[5], n * c_third),
        complex(k[6], n * k[7]),
        complex(k[7], n * curve),
    )
