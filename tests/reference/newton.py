"""Online Newton steps with forgetting, one dense row at a time, with P as a whole matrix.

It is in units of the columns, which follow their root mean squares.
"""

import numpy as np

FIRST_COLUMNS, OCCURRENCES, ROWS_BEFORE, MAX_INPUTS = 128, 3, 64, 50


class Newton:
    """A model in which all features have a row of P; those without a place only its diagonal."""

    def __init__(self, n, K, kind, *, forgetting, variance, places, fourier, numbers, bias=True):
        self.kind, self.gamma, self.variance, self.bias = kind, forgetting, variance, bias
        self.n, self.places, self.numbers, self.t = n, places, numbers, 0
        self.omega, self.phase = fourier
        self.F = len(self.phase)
        # features: the constant, φ, the columns
        self.W = np.zeros((1 + self.F + n, K))  # weights of the columns as they are
        self.P = np.zeros((1 + self.F + n,) * 2)
        self.P[: 1 + self.F, : 1 + self.F] = variance * np.eye(1 + self.F)
        self.full = [self.column(j) < 1 + self.F for j in range(-1 - self.F, n)]
        self.n_rows, self.square = np.zeros(n), np.zeros(n)
        self.positive, self.negative = np.zeros(n, bool), np.zeros(n, bool)
        self.inputs, self.taken = None, False
        self.owed = np.zeros(len(self.P))
        self.order = []  # columns with a place
        self.unit = np.ones(len(self.P))

    def column(self, j):
        return 1 + self.F + j

    def scale(self):
        with np.errstate(invalid="ignore"):
            s = np.sqrt(self.square / self.n_rows)
        return np.where(s > 0, s, 1.0)

    def phi(self, x):
        if not self.inputs or not self.F:
            return np.zeros(self.F)
        z, d = (x / self.scale())[self.inputs], len(self.inputs)
        return np.sqrt(2) * np.cos(self.omega[:, :d] @ z / np.sqrt(d) + self.phase)

    def scores(self, x):
        return self.W.T @ np.concatenate([[1.0], self.phi(x), x])

    def slopes(self, s, y):
        """The slopes of the loss, and its curvature."""
        if self.kind == "numbers":
            return s - y, 1.0
        if len(s) == 1:
            p = 1 / (1 + np.exp(-s))
            return p - y, max((p * (1 - p)).item(), 0.01)
        p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
        return p - np.eye(len(s))[y], max(0.5 * (p * (1 - p)).sum(), 0.01)

    def learn(self, x, y, weight):
        s = self.scores(x)
        if weight == 0:
            return s
        phi, before = self.phi(x), x
        self.t += 1
        x = np.array([v if not self.taken or j in self.inputs else 0.0 for j, v in enumerate(x)])
        seen = x != 0
        self.n_rows += seen
        self.square += x**2
        self.positive |= x > 0
        self.negative |= x < 0
        for j in np.flatnonzero(seen):
            c, scale = self.column(j), self.scale()[j]
            if self.n_rows[j] == 1:
                self.P[c, c], self.unit[c] = self.variance, scale
            if not self.full[c]:
                self.change_unit(c, scale)
            if self.unit[c] ** 2 >= 1.5 * scale**2:
                self.unit[c] = scale
            early = j < FIRST_COLUMNS or self.n_rows[j] >= OCCURRENCES
            if early and not self.full[c] and len(self.order) < self.places:
                self.full[c] = True
                self.order.append(j)
        for j in np.flatnonzero(seen):
            c, scale = self.column(j), self.scale()[j]
            if 1.5 * self.unit[c] ** 2 <= scale**2:
                self.change_unit(c, scale)
        slope, h = self.slopes(self.W.T @ np.concatenate([[1.0], phi, before]), y)
        f = np.concatenate([[float(self.bias)], phi, x]) / self.unit
        u, n = self.P @ f, f @ self.P @ f
        if n > 0:
            step = 1 / (1 / weight + h * n)
            self.W -= step * np.outer(u / self.unit, slope)
            shrunk = self.P - h * step * np.outer(u, u)
            full = np.array(self.full)
            both = np.outer(full, full) | np.eye(len(full), dtype=bool)
            self.P = np.where(both, shrunk, 0.0)
            self.forget(f)
        if self.t == ROWS_BEFORE:
            self.find_numbers()
        return s

    def change_unit(self, c, scale):
        """As if rows with a place had always had this unit: the precision of the start is in it."""
        known = np.flatnonzero(np.diag(self.P) > 0)
        ratio, at = self.unit[c] / scale, known.tolist().index(c)
        w = self.W[known] * self.unit[known, None]
        before = np.linalg.inv(self.P[np.ix_(known, known)])
        R = np.diag(np.where(known == c, ratio, 1.0))
        after = R @ before @ R
        after[at, at] += (1 - ratio**2) / self.variance
        self.P[np.ix_(known, known)] = np.linalg.inv(after)
        self.unit[c] = scale
        self.owed[c] *= ratio**2
        w = np.linalg.solve(after, R @ before @ w)
        self.W[known] = w / self.unit[known, None]

    def forget(self, f):
        """P^-1 <- G P^-1 G, and after some rows the share of the start."""
        gamma, variance, alone = self.gamma, self.variance, ~np.array(self.full)
        G = np.where(f != 0, gamma**-0.5, 1.0)
        self.P *= np.outer(G, G)
        here = np.flatnonzero((f != 0) & alone)
        self.P[here, here] = 1 / (1 / self.P[here, here] + (1 - gamma) / variance)
        self.owed = np.where((f != 0) & ~alone, gamma * self.owed + 1 - gamma, self.owed)
        if gamma < 1 and self.t % max(int(0.25 / (1 - gamma)), 1) == 0:
            kept = [*range(1 + self.F), *map(self.column, self.order)]
            inverse = np.linalg.inv(self.P[np.ix_(kept, kept)])
            inverse += np.diag(self.owed[kept]) / variance
            self.P[np.ix_(kept, kept)] = np.linalg.inv(inverse)
            self.owed[:] = 0.0

    def find_numbers(self):
        often = [j for j in self.order if 2 * self.n_rows[j] >= self.t]
        found = [j for j in often if self.positive[j] and self.negative[j]]
        self.inputs = found if len(found) <= MAX_INPUTS else []
        self.taken = self.numbers and len(found) <= MAX_INPUTS
        if self.taken:
            keep = [*range(1 + self.F), *map(self.column, self.inputs)]
            self.order = list(self.inputs)
            self.full = [r in keep for r in range(len(self.full))]
            self.P[:], self.owed[:] = 0.0, 0.0
            self.P[keep, keep] = self.variance
            scale = np.concatenate([np.ones(1 + self.F), self.scale()])
            self.unit[keep] = scale[keep]
            others = np.setdiff1d(np.arange(len(self.W)), keep)
            self.W[others] = 0.0
