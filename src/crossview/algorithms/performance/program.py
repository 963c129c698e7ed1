"""The quadratic program over some cuts, by an active-set method.

    max  delta·alpha - ½ alpha'G alpha,   alpha >= 0,  sum alpha <= C

or, with xi free, sum alpha = C.  If only the *members* have a multiplier above 0, theirs are
``G^-1 (delta - xi 1)``, with xi = 0 or the sum C.  A cut with ``delta - G alpha > xi`` joins them;
one whose multiplier falls to 0 on the way leaves.  Both update a Cholesky factor of the members' G,
at a cost of the square of their number, and the next program begins with the members of the last.

The factor is that of ``G + tau 11'``, which is regular as long as no member is a weighted mean of
others (P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 1976): with
``total`` the sum of alpha, the multipliers are ``(G + tau 11')^-1 (delta - (xi - tau total) 1)``.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import njit, njit_reordering

# excess of a slack over xi, relative to the largest slack, at which a cut joins the members
SLACK_TOL = 1e-9
# least square of a pivot, relative to G's diagonal: cuts may depend linearly on each other
SMALLEST_PIVOT = 1e-12
# ``1 - tau 1'(G + tau 11')^-1 1``, which is 0 if they do, below this
SMALLEST_REGULAR = 1e-13
# tau, relative to G's first entry, and steps in which a program may be solved
TAU, MAX_STEPS = 1e-3, 1000


class Members(NamedTuple):
    """The first so many entries and rows are in use."""

    cuts: np.ndarray  # which ones
    L: np.ndarray  # the factor of their G + tau 11'
    tau: float


class ActiveSet:
    """The solution of a program to which cuts are added, and its members."""

    def __init__(self) -> None:
        self.n_members, self.tau = 0, 0.0
        self.alpha: np.ndarray = np.zeros(0)
        self.members: np.ndarray = np.zeros(0, dtype=np.int64)
        self.L: np.ndarray = np.zeros((0, 0))

    def solve(
        self, G: np.ndarray, delta: np.ndarray, C: float, *, free: bool = False
    ) -> np.ndarray:
        """Return alpha; only cuts that are no members may have changed since the last call.

        G may have room for more cuts than delta.  ``free`` says whether xi may be negative.
        """
        n = len(delta)
        if not n:
            return self.alpha
        if (more := n - len(self.members)) > 0:
            more = max(more, len(self.members))  # twice the room
            self.alpha = np.pad(self.alpha, (0, more))
            self.members = np.pad(self.members, (0, more))
            self.L = np.pad(self.L, (0, more))
        alpha = self.alpha[:n]
        self.tau = self.tau or TAU * float(G[0, 0]) or 1.0
        total = alpha.sum()
        if total > C or (free and total > 0.0):  # of another price
            alpha *= C / total
        members = Members(self.members, self.L, self.tau)
        self.n_members = solve_program(G, delta, C, alpha, members, self.n_members, free)
        return alpha

    def closest(self, products: np.ndarray) -> np.ndarray:
        """Return the coefficients with which the members come close to a cut, in H^-1.

        ``products`` are those of the cut with the members.
        """
        x = products + self.tau
        solve_forward(self.L, self.n_members, x)
        solve_backward(self.L, self.n_members, x)
        return x


@njit_reordering
def solve_program(G, delta, C, alpha, active, k, free):
    """Change alpha to the solution, and the k members; return their number."""
    members, L, tau = active
    n = len(delta)
    closed = np.zeros(n, dtype=np.bool_)  # members, and what left as soon as it had joined
    closed[members[:k]] = True
    tol = SLACK_TOL * np.abs(delta).max()
    joined = -1
    for _ in range(MAX_STEPS):
        # 1. the solution if no other cut had a multiplier, of whatever sign
        beta, ones = delta[members[:k]], np.ones(k)
        for b in (beta, ones):
            solve_forward(L, k, b)
            solve_backward(L, k, b)
        xi = 0.0
        if k > 0:
            xi = (beta.sum() - C) / ones.sum() + tau * C
            total = C
            if xi < 0.0 and not free:
                # a member that is a multiple of others has to leave: any sum below 0 leads there
                regular = 1.0 - tau * ones.sum()
                xi, total = 0.0, beta.sum() / regular if regular > SMALLEST_REGULAR else -C
            beta -= (xi - tau * total) * ones
        # 2. the way there, as far as all multipliers are positive
        step, leaving = 1.0, -1
        for a in range(k):
            now = alpha[members[a]]
            if beta[a] <= 0.0 and now <= step * (now - beta[a]):
                step, leaving = now / max(now - beta[a], np.finfo(np.float64).tiny), a
        for a in range(k):
            i = members[a]
            alpha[i] = max(0.0, alpha[i] + step * (beta[a] - alpha[i]))
        alpha *= min(1.0, C / max(C, alpha.sum()))  # of rounding
        if leaving >= 0:
            i = members[leaving]
            alpha[i] = 0.0
            closed[i] = i == joined and step == 0.0
            remove_member(L, members, k, leaving)
            k -= 1
            continue
        # 3. the most violated of the other cuts
        joined, worst = -1, -np.inf if free and k == 0 else tol
        for i in range(n):
            if not closed[i]:
                slack = delta[i] - xi
                for a in range(n):
                    slack -= G[i, a] * alpha[a]
                if slack > worst:
                    joined, worst = i, slack
        if joined < 0:
            break
        append_member(L, members, k, G, tau, joined)
        closed[joined] = True
        k += 1
    return k


@njit_reordering
def solve_forward(L, k, x):
    """x <- L^-1 x."""
    for i in range(k):
        total = x[i]
        for j in range(i):
            total -= L[i, j] * x[j]
        x[i] = total / L[i, i]


@njit_reordering
def solve_backward(L, k, x):
    """x <- L'^-1 x."""
    for i in range(k - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]


@njit_reordering
def append_member(L, members, k, G, tau, i):
    """Make i the last member."""
    members[k] = i
    row = L[k]
    for a in range(k):
        row[a] = G[i, members[a]] + tau
    solve_forward(L, k, row)
    square = G[i, i] + tau
    for a in range(k):
        square -= row[a] * row[a]
    row[k] = np.sqrt(max(square, SMALLEST_PIVOT * (G[i, i] + tau)))


@njit
def remove_member(L, members, k, a):
    """Remove the member at a; rotations make L triangular again."""
    for b in range(a, k - 1):
        members[b] = members[b + 1]
        L[b, : b + 2] = L[b + 1, : b + 2]
    for b in range(a, k - 1):
        x, y = L[b, b], L[b, b + 1]
        r = np.hypot(x, y)
        c, s = x / r, y / r
        for i in range(b, k - 1):
            x, y = L[i, b], L[i, b + 1]
            L[i, b], L[i, b + 1] = c * x + s * y, c * y - s * x
