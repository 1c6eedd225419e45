"""Entry points of the variational integrators, one per way to solve for the Newton direction."""

from leastaction._jit import entry
from leastaction.minimal import directions, newton, quasi_newton


@entry
def rollout_recursive(
    model, forces, free, rule, work, var, solver, classical, U, dt, settings, split, dx, history, Q, P, its
):
    """Steps with the O(n) recursion."""
    return newton.rollout(
        directions.recursive,
        model,
        forces,
        free,
        rule,
        work,
        var,
        solver,
        classical,
        U,
        dt,
        settings,
        split,
        dx,
        history,
        Q,
        P,
        its,
    )


@entry
def rollout_sparse(
    model, forces, free, rule, work, var, solver, classical, U, dt, settings, split, dx, history, Q, P, its
):
    """Steps with the tree-sparse factorisation."""
    return newton.rollout(
        directions.tree_sparse,
        model,
        forces,
        free,
        rule,
        work,
        var,
        solver,
        classical,
        U,
        dt,
        settings,
        split,
        dx,
        history,
        Q,
        P,
        its,
    )


@entry
def rollout_dense(
    model, forces, free, rule, work, var, solver, classical, U, dt, settings, split, dx, history, Q, P, its
):
    """Steps with LAPACK."""
    return newton.rollout(
        directions.dense,
        model,
        forces,
        free,
        rule,
        work,
        var,
        solver,
        classical,
        U,
        dt,
        settings,
        split,
        dx,
        history,
        Q,
        P,
        its,
    )


@entry
def rollout_quasi(
    model, forces, free, rule, work, var, solver, classical, U, dt, settings, split, dx, history, Q, P, its
):
    """Steps with the quasi-Newton method."""
    return quasi_newton.rollout(
        quasi_newton.direction,
        model,
        forces,
        free,
        rule,
        work,
        var,
        solver,
        classical,
        U,
        dt,
        settings,
        split,
        dx,
        history,
        Q,
        P,
        its,
    )
