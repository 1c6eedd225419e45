"""`batch.Simulator`: many robots that are advanced a few steps at a time, for policies and learning."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from leastaction.actuation.controls import refuse_names
from leastaction.batch.arrays import is_there
from leastaction.batch.batch_simulate import (
    checked_parameters,
    checked_states,
    default_on,
    mechanisms_of,
    number_type,
)
from leastaction.batch.gpu_initial_states import moved_starts
from leastaction.errors import ConvergenceError, IntegratorError, MechanismError
from leastaction.initial_state.initial_motions import checked_names, motion_at
from leastaction.initial_state.start import checked_integrator, first_state
from leastaction.initial_state.unsupported_features import warn_of_ignored
from leastaction.integration.default import announce
from leastaction.integration.integrators import Integrator
from leastaction.integration.settings import is_count
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, real_array, shown
from leastaction.simulation.energy_monitor import WarnOnce
from leastaction.simulation.simulator import Simulator as One
from leastaction.simulation.simulator_state import not_set
from leastaction.typing import DeviceArrayLike, FloatArray, Motions, Parameters, Positions, Velocities
from leastaction.warn import Gathered


class Simulator:
    """Robots of one kind that go on step by step, on all cores or on a GPU.

    On a GPU states stay there: `q`, `p`, `v` are arrays of the GPU that PyTorch, JAX and CuPy take without a copy, and
    `step` and `reset` take theirs.

    Example:
        >>> sim = la.batch.Simulator(la.robots.cart_pole(), 1024, dt=0.01, device="cuda")
        >>> sim.reset(q, v)
        >>> for _ in range(100):
        ...     sim.step(policy(torch.as_tensor(sim.q), torch.as_tensor(sim.v)))

    Args:
        mechanism: the robot.
        robots: how many.
        dt: time step [s].
        integrator: default what `leastaction.batch.simulate` takes; on a GPU `Galerkin(order=2)` or `Minimal()`.
        parameters: values by name, as in `leastaction.batch.simulate`.
        device: "cpu" or "cuda".
        dtype: numpy.float64, or on a GPU numpy.float32.
        workers: threads on the CPU; default all cores.

    Raises:
        IntegratorError: what the device cannot run, sizes that do not fit, no GPU.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        robots: int,
        *,
        dt: float = 0.01,
        integrator: Integrator | None = None,
        parameters: Parameters | None = None,
        device: str = "cpu",
        dtype: DTypeLike = np.float64,
        workers: int | None = None,
    ) -> None:
        if not isinstance(mechanism, Mechanism):
            raise MechanismError(f"batch.Simulator needs a Mechanism, got {mechanism!r}")
        if not is_count(robots):
            raise IntegratorError(f"robots must be a whole number of at least 1, got {shown(robots)}")
        choice(device, ("cpu", "cuda"), "device", IntegratorError)
        if workers is not None and not is_count(workers):
            raise IntegratorError(f"workers must be a whole number of at least 1, got {shown(workers)}")
        self.mechanism, self.robots, self.dt, self.device = mechanism, robots, dt, device
        if integrator is None:
            integrator, why = default_on(mechanism, device)
            announce(mechanism, integrator, why)
        self.integrator = checked_integrator(integrator)
        self._stepper = self.integrator.prepare(mechanism, dt)
        warn_of_ignored(self._stepper)
        names = checked_parameters(parameters)
        for name, values in names.items():
            if len(values) != robots:
                raise IntegratorError(f"parameters: {name!r} has values for {len(values)} robots of {robots}")
        own, number = mechanisms_of(mechanism, names, robots), number_type(dtype)
        if device == "cuda":
            from leastaction.batch.gpu_stepping import SteppingGpuBatch

            self._robots: Any = SteppingGpuBatch(mechanism, self.integrator, dt, robots, number, own)
        elif number != np.float64:
            raise IntegratorError(f"dtype {number.name} needs device='cuda'; the CPU computes with float64")
        else:
            self._robots = _Cores(own or (mechanism,) * robots, self.integrator, dt, workers)
        self.reset()

    def reset(
        self,
        q: Positions | DeviceArrayLike | None = None,
        v: Velocities | DeviceArrayLike | None = None,
        which: ArrayLike | DeviceArrayLike | None = None,
    ) -> None:
        """Put robots somewhere, at the start of a run.

        Args:
            q: positions, shape (nq,) for all or (robots, nq); default the home of the mechanism.
            v: velocities, shape (nv,) or (robots, nv); default rest.
            which: numbers of the robots that q and v are of, or True for these and False for others, shape (robots,);
                default all. On a GPU also such a mask there, with q and v of all robots or of one for all: nothing is
                copied or waited for then, and states on the GPU are taken as they are, but for those that are none,
                whose robots fail.

        Raises:
            MechanismError: for a bad state; names the robot. None has been put elsewhere then.
        """
        if self.device == "cuda" and is_there(which):
            self._place_where(which, q, v)
            return
        chosen = np.arange(self.robots) if which is None else _chosen(which, self.robots)
        if len(chosen) == 0:
            return
        if self.device == "cuda" and (is_there(q) or is_there(v)):
            self._place_there(chosen, q, v)
            return
        count, states = checked_states(self.mechanism, q, v, {"which": chosen})
        assert count == len(chosen)
        starts = moved_starts(self._stepper, states[0]) if self.device == "cuda" else states[0]
        self._robots.place(chosen, starts, states[1])

    def _place_there(self, chosen: NDArray[np.int64], q: Any, v: Any) -> None:
        """`reset` to states of which at least one array is on the GPU, as they are: no joint is moved within limits."""
        m, given = self.mechanism, {}
        for name, value, size in (("q", q, m.nq), ("v", v, m.nv)):
            if is_there(value):
                wanted, got = (len(chosen), size), tuple(value.shape)
                if got != wanted:
                    raise MechanismError(f"{name}: expected shape {wanted} of an array on the GPU, got {got}")
                given[name] = value
        here_q, here_v = (None if name in given else value for name, value in (("q", q), ("v", v)))
        _, (host_q, host_v) = checked_states(m, here_q, here_v, {"which": chosen})
        states = given.get("q", host_q), given.get("v", host_v)
        self._robots.check_states(chosen, *states)
        self._robots.place(chosen, *states)

    def _place_where(self, mask: Any, q: Any, v: Any) -> None:
        """`reset` of robots for which a mask on the GPU holds."""
        m, given = self.mechanism, []
        if tuple(mask.shape) != (self.robots,) or "bool" not in str(mask.dtype):
            expected = f"True or False for each of the {self.robots} robots, shape ({self.robots},)"
            raise IntegratorError(f"which: expected {expected}, got {mask.dtype} of shape {tuple(mask.shape)}")
        for name, value, size, default in (("q", q, m.nq, m.home()), ("v", v, m.nv, np.zeros(m.nv))):
            own = default if value is None else value if is_there(value) else real_array(value)
            if own is None or tuple(own.shape) not in ((size,), (1, size), (self.robots, size)):
                expected = f"({size},) or ({self.robots}, {size})"
                got = shown(value) if own is None else own.shape
                raise MechanismError(f"{name}: expected shape {expected}, got {got}")
            given.append(own.reshape(-1, size))
        if not is_there(q):
            given[0] = moved_starts(self._stepper, given[0])
        self._robots.place_where(mask, *given)

    def step(
        self, u: ArrayLike | DeviceArrayLike | None = None, steps: int = 1, motions: Motions | None = None
    ) -> None:
        """Advance all robots.

        A robot whose step has no solution stays failed, with NaN for its state, until it is reset; the others go on.
        On a GPU nothing is waited for, so that PyTorch can capture steps in a graph of CUDA; controls that are there
        are not looked at beforehand, and a robot whose own are not finite fails.

        Args:
            u: controls held over the steps, shape (nu,) for all or (robots, nu); default zero.
            steps: how many.
            motions: where prescribed ones of all robots are at the end of a single step, by name, as for
                `leastaction.Simulator.step`; on the CPU.

        Raises:
            IntegratorError: for controls of other shapes, or on this side that are not finite; names the robot. None
                has moved then.
        """
        nu = self.mechanism.nu
        if motions is not None:
            for name, value in checked_names(self.mechanism, motions).items():
                motion_at(self.mechanism, name, value, 0.0)
            if self.device == "cuda":
                raise IntegratorError("motions: prescribed ones need device='cpu'")
            if steps != 1:
                raise IntegratorError(f"motions are of one step, so steps must be 1, got {shown(steps)}")
        if not is_count(steps):
            raise IntegratorError(f"steps must be a whole number of at least 1, got {shown(steps)}")
        if self.device == "cuda" and is_there(u):
            shape = tuple(getattr(u, "shape", ()))
            if shape != (self.robots, nu):
                raise IntegratorError(f"controls: expected shape ({self.robots}, {nu}), got {shape}")
            self._robots.step(u, steps)
            return
        refuse_names(self.mechanism, u)
        a = real_array(np.zeros(nu) if u is None else u)
        if a is None or a.shape not in ((nu,), (self.robots, nu)):
            got = shown(u) if a is None else a.shape
            raise IntegratorError(f"controls: expected shape ({nu},) or ({self.robots}, {nu}), got {got}")
        if not np.isfinite(a).all():
            who = "" if a.ndim == 1 else f"robot {np.flatnonzero(~np.isfinite(a).all(axis=1))[0]} has "
            raise IntegratorError(f"controls: {who or 'there is '}a number that is not finite")
        options = {} if motions is None else {"motions": motions}
        self._robots.step(np.broadcast_to(a, (self.robots, nu)), steps, **options)

    @property
    def q(self) -> Any:
        """Joint positions [rad or m], shape (robots, nq)."""
        return self._robots.q

    @q.setter
    def q(self, value: Any) -> None:
        raise not_set("q")

    @property
    def v(self) -> Any:
        """Joint velocities [rad/s or m/s], shape (robots, nv)."""
        return self._robots.v

    @v.setter
    def v(self, value: Any) -> None:
        raise not_set("v")

    @property
    def p(self) -> Any:
        """Momenta, shape (robots, nv)."""
        return self._robots.p

    @p.setter
    def p(self, value: Any) -> None:
        raise not_set("p")

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which robots have failed since their last reset, shape (robots,)."""
        return self._robots.failed

    @property
    def reasons(self) -> dict[int, str]:
        """Why robots have failed, by robot."""
        return self._robots.reasons

    @property
    def device_failed(self) -> Any:
        """-1 for each robot that goes on, shape (robots,): on a GPU an array there."""
        return self._robots.failed_there

    def __reduce__(self) -> Any:
        raise IntegratorError("a batch.Simulator cannot be copied or pickled: keep q and v, and reset another to them")

    def __repr__(self) -> str:
        return f"<batch.Simulator of {self.robots} {self.mechanism.name!r} with {self.integrator} on {self.device}>"


class _Cores:
    """The robots on the CPU: a `leastaction.Simulator` for each, in threads."""

    def __init__(self, mechanisms: Any, integrator: Integrator, dt: float, workers: int | None) -> None:
        once = WarnOnce()
        with Gathered().of(0):  # not given: the batch says it once, of the mechanism and of its home
            self.sims = [One(m, integrator, dt, once=once) for m in mechanisms]
        self.failed = np.zeros(len(self.sims), bool)
        self.reasons: dict[int, str] = {}
        count = workers or os.cpu_count() or 1
        self.pool = ThreadPoolExecutor(count)
        self.parts = np.array_split(np.arange(len(self.sims)), min(4 * count, len(self.sims)))

    def place(self, which: Any, q: Any, v: Any) -> None:
        gathered, firsts = Gathered(), []
        with gathered.of(0):
            for k, one_q, one_v in zip(which.tolist(), q, v, strict=True):  # all, before any is put there
                gathered.turn_to(k)
                try:
                    firsts.append(first_state(self.sims[k]._stepper, one_q, one_v, None, False))
                except MechanismError as error:
                    raise MechanismError(f"robot {k}: {error}") from None
            for k, first in zip(which.tolist(), firsts, strict=True):
                gathered.turn_to(k)
                self.sims[k]._start_at(first, 0.0, self.sims[k]._actuation.start(None))
                self.failed[k] = False
                self.reasons.pop(k, None)
        gathered.give()

    def step(self, u: FloatArray, steps: int, motions: Motions | None = None) -> None:
        gathered = Gathered()

        def part(robots: Any) -> None:
            with gathered.of(0):
                for k in robots.tolist():
                    gathered.turn_to(k)
                    try:
                        for _ in range(0 if self.failed[k] else steps):
                            self.sims[k].step(u[k], motions)
                    except ConvergenceError as error:
                        self.failed[k], self.reasons[k] = True, str(error)

        list(self.pool.map(part, self.parts))
        gathered.give()

    @property
    def failed_there(self) -> NDArray[np.int64]:
        return np.where(self.failed, 0, -1)

    def _all(self, name: str) -> Any:
        out = np.stack([getattr(sim, name) for sim in self.sims])
        out[self.failed] = np.nan
        return out

    @property
    def q(self) -> Any:
        return self._all("q")

    @property
    def v(self) -> Any:
        return self._all("v")

    @property
    def p(self) -> Any:
        return self._all("p")


def _chosen(which: Any, robots: int) -> NDArray[np.int64]:
    """Numbers of robots, each once."""
    a = np.asarray(which)
    if a.dtype == bool:
        if a.shape != (robots,):
            expected = f"True or False for each of the {robots} robots, shape ({robots},)"
            raise IntegratorError(f"which: expected {expected}, got shape {a.shape}")
        a = np.flatnonzero(a)
    wrong = a.ndim != 1 or (a.size > 0 and not np.issubdtype(a.dtype, np.integer))
    if wrong or (a.size > 0 and (a.min() < 0 or a.max() >= robots)) or len(np.unique(a)) != len(a):
        raise IntegratorError(f"which: expected different numbers of robots below {robots}, got {shown(which)}")
    return a.astype(np.int64)
