"""Sueda 2021, Sect. 3: a gradient by the adjoint method beside finite differences."""

import numpy as np

import leastaction as la
from benchmarks import timing
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.starts import bow
from leastaction.derivatives import gradient

LINKS, COUNTS, FEW = 10, (20, 50, 100, 200, 500), (20, 100)
DT = 0.005
METHODS = {"BDF1": la.BDF(order=1), "BDF2": la.BDF(order=2), "SDIRK2": la.SDIRK2()}
TRIED = 6

NOTES = f"""{LINKS} links in a curved initial posture, steps of {DT} s; the gradient of a sum of all positions, with \
random weights, by all controls ({LINKS} a step). Time of the gradient including the forward run, over that of the \
run. Central differences take two runs for each control; their time is extrapolated from that of one run. Agreement: \
with central differences for {TRIED} of the controls."""


def agreement(robot, method, controls, weights, slope):
    """Largest difference from central differences at some controls, relative to the largest of these."""
    rng, found, step = np.random.default_rng(1), [], 1e-4

    def value(u):
        return float(
            (la.simulate(robot, bow(LINKS), dt=DT, steps=len(u), controls=u, integrator=method).q * weights).sum()
        )

    for _ in range(TRIED):
        place = rng.integers(len(controls) // 2), rng.integers(LINKS)
        both = []
        for sign in (1.0, -1.0):
            u = controls.copy()
            u[place] += sign * step
            both.append(value(u))
        found.append(((both[0] - both[1]) / (2.0 * step), slope[place]))
    a, b = np.array(found).T
    return float(np.abs(a - b).max() / np.abs(a).max())


def run(progress, quick=False) -> Report:
    """All methods and lengths."""
    counts = FEW if quick else COUNTS
    progress.total(len(METHODS) * len(counts))
    robot = la.robots.pendulum(LINKS)
    sheet = Sheet(
        "Gradients",
        ["method", "steps", "controls", "run [ms]", "with gradient / run", "differences / run", "agreement"],
    )
    measures, lines, worst, off = [], {}, 0.0, 0.0
    for name, method in METHODS.items():
        for count in counts:
            progress.next(f"{name}, {count} steps")
            rng = np.random.default_rng(0)
            controls, weights = rng.normal(size=(count, LINKS)), rng.normal(size=(count + 1, LINKS))

            def simulate(count=count, controls=controls, method=method):
                return la.simulate(robot, bow(LINKS), dt=DT, steps=count, controls=controls, integrator=method)

            motion = simulate()
            both = timing.in_turns(
                {"run": simulate, "gradient": lambda m=motion, w=weights: gradient(m, w, None, ["controls"])}, 7
            )
            slope = np.asarray(gradient(motion, weights, None, ["controls"])["controls"]).reshape(count, LINKS)
            ratio = Measure(
                f"{name}, {count} steps: with gradient / run",
                "ratio",
                [1.0 + b / a for a, b in zip(both["run"], both["gradient"], strict=True)],
            )
            measures.append(ratio)
            same = agreement(robot, method, controls, weights, slope)
            worst, off = max(worst, ratio.median), max(off, same)
            run_ms = 1e3 * float(np.median(both["run"]))
            sheet.rows.append([name, count, count * LINKS, run_ms, ratio.median, 2 * count * LINKS, same])
            lines.setdefault(name, []).append((count * LINKS, ratio.median))
            progress.done()
    plot = Plot(
        "cost of a gradient",
        "controls",
        "time / time of a run",
        {m: tuple(zip(*c, strict=True)) for m, c in lines.items()}
        | {"differences": ([c * LINKS for c in counts], [2 * c * LINKS for c in counts])},
        "xy",
    )
    claim = judged(
        "Sueda 2021, Sect. 3.5",
        "The adjoint method solves one transposed linear system a step for the gradient by all parameters; "
        "differences take runs for each.",
        f"at most {worst:.2g} runs with the run itself, for up to {LINKS * counts[-1]} controls; within "
        f"{off:.0e} of differences.",
        worst < 5.0 and off < 1e-5,
        "It costs more.",
    )
    requirements = [
        Requirement("run and gradient / run", worst, 2.5),
        Requirement("difference from central differences", off, 1e-5),
    ]
    return Report("Gradients by the adjoint method", NOTES, [sheet], requirements, [claim], measures, [plot], [0, 1])
