"""The part of the package cyipopt that is used, on IPOPT's C interface in CasADi's wheel.

Where cyipopt is not installed this tells whether the adapter keeps to its documented calls and to IPOPT's conventions.
"""

import ctypes as c
from pathlib import Path

import numpy as np

NUMBERS, COUNTS = c.POINTER(c.c_double), c.POINTER(c.c_int)
COST = c.CFUNCTYPE(c.c_bool, c.c_int, NUMBERS, c.c_bool, NUMBERS, c.c_void_p)
ROWS = c.CFUNCTYPE(c.c_bool, c.c_int, NUMBERS, c.c_bool, c.c_int, NUMBERS, c.c_void_p)
JACOBIAN = c.CFUNCTYPE(c.c_bool, c.c_int, NUMBERS, c.c_bool, c.c_int, c.c_int, COUNTS, COUNTS, NUMBERS, c.c_void_p)
HESSIAN = c.CFUNCTYPE(
    c.c_bool,
    *(c.c_int, NUMBERS, c.c_bool, c.c_double, c.c_int, NUMBERS, c.c_bool),
    *(c.c_int, COUNTS, COUNTS, NUMBERS, c.c_void_p),
)
WATCH = c.CFUNCTYPE(c.c_bool, c.c_int, c.c_int, *[c.c_double] * 8, c.c_int, c.c_void_p)


def _library():
    import casadi

    return c.CDLL(str(Path(casadi.__file__).parent / "libipopt.so.3"))


def _address(a):
    return a.ctypes.data_as(NUMBERS)


class Problem:
    """cyipopt.Problem."""

    def __init__(self, n, m, problem_obj, lb, ub, cl, cu):
        self.n, self.m, self.calls, self.lib = n, m, problem_obj, _library()
        self.structures = [problem_obj.jacobianstructure()]
        self.exact = hasattr(problem_obj, "hessian")
        self.structures.append(problem_obj.hessianstructure() if self.exact else ([], []))
        lb, ub, cl, cu = (np.clip(np.array(x, float), -2e19, 2e19) for x in (lb, ub, cl, cu))
        self.lib.CreateIpoptProblem.restype = c.c_void_p
        self.kept = (COST(self._cost), ROWS(self._rows), COST(self._gradient), JACOBIAN(self._jacobian))
        self.kept += (HESSIAN(self._hessian), WATCH(self._watch))
        nonzeros = [len(rows) for rows, _ in self.structures]
        bounds = (n, _address(lb), _address(ub), m, _address(cl), _address(cu))
        self.handle = c.c_void_p(self.lib.CreateIpoptProblem(*bounds, *nonzeros, 0, *self.kept[:5]))
        self.lib.SetIntermediateCallback(self.handle, self.kept[5])
        if not self.exact:
            self.add_option("hessian_approximation", "limited-memory")

    def add_option(self, name, value):
        """Refuses what IPOPT does not know, by a TypeError as cyipopt does."""
        name = name.encode()
        if isinstance(value, str):
            known = self.lib.AddIpoptStrOption(self.handle, name, value.encode())
        elif isinstance(value, float):
            known = self.lib.AddIpoptNumOption(self.handle, name, c.c_double(value))
        else:
            known = self.lib.AddIpoptIntOption(self.handle, name, int(value))
        if not known & 1:
            raise TypeError("Error while assigning an option")

    def solve(self, x, lagrange=(), zl=(), zu=()):
        """Gives x and what cyipopt calls info."""
        x = np.array(x, float)
        g, f = np.zeros(self.m), c.c_double()
        rows, low, high = (
            np.array(a, float) if len(a) else np.zeros(size)
            for a, size in ((lagrange, self.m), (zl, self.n), (zu, self.n))
        )
        out = [_address(a) for a in (rows, low, high)]
        status = self.lib.IpoptSolve(self.handle, _address(x), _address(g), c.byref(f), *out, None)
        self.lib.FreeIpoptProblem(self.handle)
        return x, {"status": status, "mult_g": rows, "mult_x_L": low, "mult_x_U": high, "obj_val": f.value, "g": g}

    def get_current_iterate(self):
        """A mapping, within `intermediate` alone."""
        x, g = np.zeros(self.n), np.zeros(self.m)
        no = c.c_bool(False)
        if (
            not self.lib.GetIpoptCurrentIterate(
                self.handle, no, self.n, _address(x), None, None, self.m, _address(g), None
            )
            & 1
        ):
            return None
        return {"x": x, "g": g}

    # ------------------------------------------------------------------ what IPOPT asks

    def _x(self, x):
        return np.ctypeslib.as_array(x, (self.n,))

    def _cost(self, n, x, new, out, _):
        out[0] = self.calls.objective(self._x(x))
        return bool(np.isfinite(out[0]))

    def _rows(self, n, x, new, m, out, _):
        np.ctypeslib.as_array(out, (m,))[:] = self.calls.constraints(self._x(x))
        return True

    def _gradient(self, n, x, new, out, _):
        np.ctypeslib.as_array(out, (n,))[:] = self.calls.gradient(self._x(x))
        return True

    def _fill(self, which, count, rows, columns, out, values):
        if out:
            np.ctypeslib.as_array(out, (count,))[:] = values()
        else:
            for given, numbers in zip((rows, columns), self.structures[which], strict=True):
                np.ctypeslib.as_array(given, (count,))[:] = numbers
        return True

    def _jacobian(self, n, x, new, m, count, rows, columns, out, _):
        return self._fill(0, count, rows, columns, out, lambda: self.calls.jacobian(self._x(x)))

    def _hessian(self, n, x, new, weight, m, y, new_y, count, rows, columns, out, _):
        if not self.exact:
            return False
        given = lambda: self.calls.hessian(self._x(x), np.ctypeslib.as_array(y, (m,)), weight)  # noqa: E731
        return self._fill(1, count, rows, columns, out, given)

    def _watch(self, mode, number, *numbers):
        return bool(self.calls.intermediate(mode, number, *numbers[:-1]))
