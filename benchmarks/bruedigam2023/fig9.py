"""Brüdigam 2023, Fig. 9 b to d: factor and solve on ladder, net and crystal graphs, beside LAPACK and SuperLU."""

from functools import partial

import numba
import numpy as np
import scipy.sparse as sp
from scipy.linalg import lapack
from scipy.sparse.linalg import splu
from threadpoolctl import threadpool_limits

from benchmarks import peers
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction.linalg.graph import graph_factorization as graph_kernels
from leastaction.maximal import GraphLDU
from tests.maximal.saddle_points import grid, mechanism, random_blocks

SHAPES = {
    "ladder": [(2, k) for k in (2, 5, 10, 25, 50, 100)],
    "net": [(k, k) for k in (2, 4, 6, 8, 10, 14)],
    "crystal": [(k, k, k) for k in (2, 3, 4, 5, 6)],
}
SHORT = {"ladder": [(2, 5), (2, 50)], "net": [(4, 4), (8, 8)], "crystal": [(3, 3, 3), (4, 4, 4)]}
CHAINS = ((32, 3), (32, 5))
BLOCK = 6

NOTES = """Time to factor and solve once, best of 25, one thread. Nodes have 6 rows, blocks are full and unsymmetric. \
Ours in a compiled loop, including copying the matrix; the elimination order is computed once in advance, since the \
graph of a mechanism is constant. Dense: LAPACK's dgesv. SuperLU: SciPy's splu and solve, the better of its orders \
COLAMD and MMD_AT_PLUS_A, which it computes every time. Chains: 32 bodies of 6 rows, and joints of 3 or 5 rows without \
diagonal blocks of their own."""


# Not kept on disk: what benchmarks keep is not made anew after an edit in maximal/.
@numba.njit
def ours_loop(count, plan, factors, original, tolerance, rhs, x):
    for _ in range(count):
        for i in range(original.shape[0]):
            factors.values[i] = original[i]
        for i in range(rhs.shape[0]):
            x[i] = rhs[i]
        graph_kernels.factorize(plan, factors, tolerance)
        graph_kernels.solve(plan, factors, x)


def contenders(ldu, blocks, A, rhs):
    """What each does `count` times: ours, LAPACK, SuperLU in its two orders."""
    x = np.zeros_like(rhs)
    state = ldu.plan, ldu.factors, ldu.assemble(blocks), ldu.tolerance
    fortran, sparse = np.asfortranarray(A), sp.csc_matrix(A)

    def ours(count):
        ours_loop(count, *state, rhs, x)

    def lapack_dense(count):
        for _ in range(count):
            lapack.dgesv(fortran, rhs)

    def superlu(order, count):
        for _ in range(count):
            splu(sparse, permc_spec=order).solve(rhs)

    ours(1)
    assert np.abs(A @ x - rhs).max() < 1e-9 * np.abs(A).sum(axis=1).max() * np.abs(x).max()
    return ours, lapack_dense, partial(superlu, "COLAMD"), partial(superlu, "MMD_AT_PLUS_A")


def race(sizes, edges, blocks, constraint=None, turns=5):
    """Our factorisation, and seconds of it, of LAPACK and of SuperLU; in turns, so that all meet the same load."""
    ldu = GraphLDU(sizes, edges, constraint=constraint)
    A = dense(ldu, blocks)
    runners = contenders(ldu, blocks, A, np.random.default_rng(1).normal(size=len(A)))
    times = [[peers.best(runner, repeats=5, least=0.002) for runner in runners] for _ in range(turns)]
    ours, lapack_dense, *superlu = np.min(times, axis=0)
    return ldu, float(ours), float(lapack_dense), float(min(superlu))


def dense(ldu, blocks):
    A = np.zeros((ldu.rows[-1], ldu.rows[-1]))
    for (i, j), block in blocks.items():
        A[ldu.rows[i] : ldu.rows[i + 1], ldu.rows[j] : ldu.rows[j + 1]] = block
    return A


def verdicts(times):
    """Sparse beats dense but on crystals, where the advantage shrinks."""
    for letter, (name, rows) in zip("bcd", times.items(), strict=True):
        gains = [t[2] / t[1] for t in rows]
        yield judged(
            f"Brüdigam 2023, Fig. 9 {letter}",
            {
                "ladder": "On ladders the sparse solver beats the dense one, often by two orders of magnitude.",
                "net": "On nets the sparse solver beats the dense one.",
                "crystal": "On crystals the advantage shrinks, and with 216 nodes the dense solver is slightly faster.",
            }[name],
            f"{gains[0]:.2g} times faster than LAPACK with {rows[0][0]} nodes, {gains[-1]:.3g} times with "
            f"{rows[-1][0]}; "
            f"{rows[-1][3] / rows[-1][1]:.2g} times faster than SuperLU there.",
            min(gains) > 1.0,
            "LAPACK's dense solver is faster.",
            better=name == "crystal" and min(gains) > 1.0,
        )


def run(progress, quick=False) -> Report:
    """Time all graphs."""
    report = Report("Fig. 9 b to d: linear systems on graphs", NOTES)
    graphs = SHORT if quick else SHAPES
    progress.total(sum(map(len, graphs.values())) + len(CHAINS))
    columns = ["graph", "nodes", "fill", "Mflop", "ours [µs]", "dense [µs]", "SuperLU [µs]"]
    sheet = Sheet("Factor and solve", [*columns, "/ dense", "/ SuperLU"])
    times: dict[str, list] = {}
    rng = np.random.default_rng(0)

    def add(name, *system):
        progress.next(name)
        ldu, ours, lapack_time, superlu = race(*system, turns=2 if quick else 5)
        facts = [name, len(ldu.sizes), ldu.fill_in, 1e-6 * ldu.flops]
        ratios = ours / lapack_time, ours / superlu
        sheet.rows.append([*facts, *(1e6 * t for t in (ours, lapack_time, superlu)), *ratios])
        progress.done()
        return len(ldu.sizes), ours, lapack_time, superlu

    with threadpool_limits(1):
        for name, shapes in graphs.items():
            for shape in shapes:
                nodes, edges = grid(*shape)
                sizes = [BLOCK] * nodes
                times.setdefault(name, []).append(
                    add(f"{name} {'×'.join(map(str, shape))}", sizes, edges, random_blocks(sizes, edges, rng))
                )
        for bodies, rows in CHAINS:
            joints = [(i, i + 1) for i in range(bodies - 1)]
            sizes, edges, constraint, blocks = mechanism(joints, bodies, (rows,), rng, world=[0])
            add(f"chain, {rows}-row joints", sizes, edges, blocks, constraint)
    report.sheets = [sheet]
    report.claims = list(verdicts(times))
    for name, rows in times.items():
        nodes, *seconds = np.array(rows).T
        lines = {
            who: (nodes, 1e6 * t) for who, t in zip(("graph LDU", "LAPACK, dense", "SuperLU"), seconds, strict=True)
        }
        report.plots.append(Plot(name, "nodes of 6 rows", "factor and solve [µs]", lines, "xy"))
        report.measures += [Measure(f"{name}, {t[0]} nodes: ours / LAPACK", "ratio", [t[1] / t[2]]) for t in rows]
    report.requirements = [
        Requirement(f"{name}: worst of ours / {peer}", max(t[1] / t[k] for t in rows), 1.0)
        for name, rows in times.items()
        for k, peer in ((2, "LAPACK dense"), (3, "SuperLU"))
    ]
    return report
