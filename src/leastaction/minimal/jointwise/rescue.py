"""Steps that are too large for their first guess: Newton from many others, and the most plausible solution."""

from leastaction._jit import inline, routine
from leastaction.minimal.jointwise.newton import begin, conclude, newton_with
from leastaction.minimal.predict import constant_acceleration, constant_velocity, small_steps, start_velocity
from leastaction.spatial import dot, load6

ACCELERATING, IN_SMALL_STEPS, UNIFORM = range(3)
"""First guesses: `constant_acceleration`, `small_steps` and `constant_velocity` of `predict`."""

ATTEMPTS = (
    (UNIFORM, 0.3),
    (UNIFORM, 1.0),
    (IN_SMALL_STEPS, 0.5),
    (ACCELERATING, 1.0),
    (IN_SMALL_STEPS, 0.2),
    (UNIFORM, 0.1),
    (ACCELERATING, 0.2),
    (UNIFORM, 3.0),
    (IN_SMALL_STEPS, 1.5),
    (UNIFORM, 0.6),
    (IN_SMALL_STEPS, 0.1),
    (ACCELERATING, 3.0),
    (UNIFORM, 0.05),
    (IN_SMALL_STEPS, 0.8),
    (ACCELERATING, 0.1),
    (UNIFORM, 1.7),
    (IN_SMALL_STEPS, 3.0),
    (ACCELERATING, 0.05),
    (IN_SMALL_STEPS, 0.05),
    (UNIFORM, 0.45),
    (ACCELERATING, 0.7),
)
"""(first guess, cap of the Newton update [rad or m]) tried in turn, after the first guess of `rollout`."""

PLAUSIBLE, IMPLAUSIBLE = 0.05, 0.5
"""Shares of energy out of nowhere, see `balance`: a solution below the first is taken at once, the best of the others
after all guesses are tried; above the second it leaves a doubt."""


@routine
def kinetic_energy(native, guess, q, p):
    """Kinetic energy [J] of a state (q, p), by the velocity M^-1 p."""
    start_velocity(native, guess, q, p)
    energy = 0.0
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * guess.v[k]
    return energy


@routine
def work_of_forces(nodes, settings, points):
    """Work [J] of gravity, springs, dampers, drives and other forces over the step, by its quadrature."""
    pts, scr, rate, force = points.nodes, points.screws, points.rate, points.force
    w, dt = settings.rule.w, settings.dt
    total = 0.0
    for al in range(w.shape[0]):
        for i in range(nodes.shape[0]):
            # The impulse on the subtree, along its joint: over all joints that is the impulse on each body, along its
            # twist.
            G = load6(pts[al, i].G)
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                total += rate[al, k] * (w[al] * dt * force[al, k] + dot(load6(scr[al, k].S), G))
    return total


@inline
def balance(before, after, done):
    """How much of the kinetic energy of a step's end came from nowhere: 0 where it changed by the work done.

    Relative to what there was, before the step and in the work. The equations of a step that is too large have several
    solutions; those far from the motion show by this, at any order and whatever forces act: of a 32-link pendulum at
    random, with steps up to 0.06 s, solutions within 1 rad of the motion have at most 0.3, most others more than 1.
    """
    return abs(after - before - done) / (before + abs(done) + 1e-300)


def rescue_with(direction):
    """`rescue` with a way to solve for the Newton direction, one of `directions`."""
    newton = newton_with(direction)

    @routine
    def rescue(model, settings, data, u, states, momenta, doubt):
        """The step from row 0 of `states` and `momenta` to row 1; gives back (iterations, converged).

        A solution is taken at once if its energy is plausible, else the most plausible one of all guesses; where that
        is in doubt, `doubt` gets its (share, kinetic energies before and after, work), see `balance`.
        """
        native, guess, X = model.native, data.guess, data.points.X
        q, p = states[0], momenta[0]
        done = 0
        best, least = -1, 1e300
        before = kinetic_energy(native, guess, q, p)
        for turn in range(len(ATTEMPTS) + 1):
            # The last turn goes back to the best of the implausible solutions.
            attempt = turn if turn < len(ATTEMPTS) else best
            if attempt < 0:
                break
            way, cap = ATTEMPTS[attempt]
            if way == ACCELERATING:
                constant_acceleration(native, settings, guess, X, q, p, u[0])
            elif way == UNIFORM:
                constant_velocity(native, settings, guess, X, q, p)
            else:
                small_steps(native, settings, guess, X, q, p, u[0])
            begin(model.tree, settings, data, q, p)
            iterations, converged = newton(model.tree, settings, data, u, settings.max_iterations, cap)
            done += iterations
            if not converged:
                continue
            conclude(model.tree, settings, data, q, states[1], momenta[1])
            after = kinetic_energy(native, guess, states[1], momenta[1])
            supplied = work_of_forces(model.tree.nodes, settings, data.points)
            share = balance(before, after, supplied)
            if share <= PLAUSIBLE:
                return done, True
            if turn == len(ATTEMPTS):
                if share > IMPLAUSIBLE:
                    doubt[0], doubt[1], doubt[2], doubt[3] = share, before, after, supplied
                return done, True
            if share < least:
                best, least = attempt, share
        return done, False

    return rescue
