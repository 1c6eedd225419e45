"""What CasADi's solvers call: our own compiled functions, on CasADi's own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from leastaction.optimize.solvers.ipopt import Called


def sparsity(ca: Any, pattern: Any) -> Any:
    """A `Pattern` as CasADi's."""
    rows, columns = pattern.shape
    return ca.Sparsity(rows, columns, pattern.indptr.tolist(), pattern.indices.tolist())


def callback_class(ca: Any) -> Any:
    """`Callback`, derived from CasADi's class of that name."""

    class Callback(ca.Callback):
        """A function that reads and writes CasADi's own memory; `slopes`: its derivative, a callback like this one."""

        def __init__(
            self, name: str, run: Called, inputs: Any, outputs: Any, function: Any, slopes: Any = None
        ) -> None:
            ca.Callback.__init__(self)
            self.run, self.inputs, self.outputs, self.function, self.slopes = run, inputs, outputs, function, slopes
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.inputs)

        def get_n_out(self) -> int:
            return len(self.outputs)

        def get_sparsity_in(self, i: int) -> Any:
            return self.inputs[i]

        def get_sparsity_out(self, i: int) -> Any:
            return self.outputs[i]

        def has_jacobian(self) -> bool:
            return self.slopes is not None

        def get_jacobian(self, *_: Any) -> Any:
            return self.slopes

        def has_eval_buffer(self) -> bool:
            return True

        def eval_buffer(self, arg: Any, res: Any) -> int:
            given = [None if x is None else np.frombuffer(x) for x in arg]
            out = [None if x is None else np.frombuffer(x) for x in res]
            try:
                self.function(given, out)
            except BaseException as error:
                self.run.error = self.run.error or error
                for values in out:
                    if values is not None:
                        values[:] = np.nan
            return 0

    return Callback


def watch_class(ca: Any) -> Any:
    """`Watch`, derived from CasADi's callbacks."""

    class Watch(ca.Callback):
        """Called after each iteration."""

        def __init__(self, name: str, run: Called, n: int, m: int) -> None:
            ca.Callback.__init__(self)
            self.run = run
            self.sizes = {"x": n, "lam_x": n, "g": m, "lam_g": m, "f": 1}
            self.names = [ca.nlpsol_out(i) for i in range(ca.nlpsol_n_out())]
            self.construct(name, {})

        def get_n_in(self) -> int:
            return len(self.names)

        def get_n_out(self) -> int:
            return 1

        def get_sparsity_in(self, i: int) -> Any:
            return ca.Sparsity.dense(self.sizes.get(self.names[i], 0), 1)

        def eval(self, arg: Any) -> list[int]:
            x, f, g = (np.array(arg[self.names.index(name)]).ravel() for name in ("x", "f", "g"))
            try:
                self.run.note(float(f[0]), x, g)
                return [int(self.run.error is not None or self.run.stalls())]
            except BaseException as error:
                self.run.error = self.run.error or error
                return [1]

    return Watch
