"""PAM, AROW, CW, SCW and SOP one row at a time, with the covariance as a matrix."""

import numpy as np
from scipy.stats import norm


def step(rule, m, n, C=1.0, r=1.0, phi=None):
    """P and the factor beta of S <- S - beta S x x' S, as the papers write them."""
    if rule in ("PAM", "PAM-I", "PAM-II"):  # Nguyen et al. 2011, equations 8 and 9
        loss = max(0.0, 1.0 - m)
        P = {"PAM": loss / n, "PAM-I": min(C, loss / n), "PAM-II": loss / (n + 1 / (2 * C))}[rule]
        return P, 1 / (1 + n) if loss > 0 else 0.0
    if rule == "AROW":  # Crammer et al. 2009, figure 1
        beta = 1 / (n + r)
        return max(0.0, 1 - m) * beta, beta if m < 1 else 0.0
    if rule == "CW-variance":  # Dredze et al. 2008, lemma 1 and equation 17
        b = 1 + 2 * phi * m
        P = max(0.0, (-b + np.sqrt(b**2 - 8 * phi * (m - phi * n))) / (4 * phi * n))
        return P, 2 * P * phi / (1 + 2 * P * phi * n)
    # Crammer et al. 2008 and Wang et al. 2012, propositions 1 and 2
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    if rule == "SCW-II":
        k = n + 1 / (2 * C)
        g = phi * np.sqrt(phi**2 * m**2 * n**2 + 4 * k * n * (k + n * phi**2))
        P = max(0.0, (-(2 * m * k + phi**2 * m * n) + g) / (2 * (k**2 + k * n * phi**2)))
    else:
        root = np.sqrt(m**2 * phi**4 / 4 + n * phi**2 * zeta)
        P = max(0.0, (-m * psi + root) / (n * zeta))
        if rule == "SCW-I":
            P = min(C, P)
    u = 0.25 * (-P * n * phi + np.sqrt(P**2 * n**2 * phi**2 + 4 * n)) ** 2
    return P, P * phi / (np.sqrt(u) + n * P * phi)


class Geometry:
    """S of one view as a matrix, in one of the forms, with the features in front."""

    def __init__(self, form, size, scale=1.0, rank=None, scaling=0.0, forgetting=1.0):
        self.form, self.rank, self.forgetting = form, rank, forgetting
        self.S = scale * np.eye(size)
        if scaling:
            self.S[-1, -1] *= scaling**2  # the intercept
        self.most, self.constants = np.diag(self.S), int(scaling > 0)
        self.rest = np.linalg.inv(self.S)  # low-rank: the diagonal of S^-1 ...
        self.kept = []  # ... and what is added to it

    def gain(self, rho, x):
        """S^-1 <- S^-1 + rho x x', as far as the form goes."""
        if rho == 0:
            return
        S, n = self.S, x @ self.S @ x
        if self.form == "full":
            self.S = np.linalg.inv(np.linalg.inv(S) + rho * np.outer(x, x))
        elif self.form == "precision":
            self.S = np.diag(1 / (1 / np.diag(S) + rho * x**2))
        elif self.form == "covariance":
            whole = S - rho * np.outer(S @ x, S @ x) / (1 + rho * n)
            self.S = np.diag(np.diag(whole))
        else:
            self.kept.append((rho, x))
            self.S = np.linalg.inv(self.rest + sum(w * np.outer(b, b) for w, b in self.kept))

    def forget(self, x):
        """D <- min(D / forgetting, most), where S = T D T' with the constant in front."""
        if self.form != "full":
            grown = np.minimum(np.diag(self.S) / self.forgetting, self.most)
            self.S = np.diag(np.where(x != 0, grown, np.diag(self.S)))
            return
        order = np.roll(np.arange(len(self.S)), self.constants)[::-1]
        L = np.linalg.cholesky(self.S[np.ix_(order, order)])
        T, D = L / np.diag(L), np.diag(L) ** 2
        self.S[np.ix_(order, order)] = (
            T * np.minimum(D / self.forgetting, np.maximum(D, self.most[order]))
        ) @ T.T

    def make_room(self):
        """Where as many rows are kept as may be, the older half goes into the diagonal."""
        if self.form == "low-rank" and len(self.kept) == self.rank:
            older = (self.rank + 1) // 2
            for weight, row in self.kept[:older]:
                self.rest = self.rest + weight * np.diag(row**2)
            self.kept = self.kept[older:]
            self.S = np.linalg.inv(self.rest + sum(w * np.outer(b, b) for w, b in self.kept))


def learn(
    X, y, rule, form="full", C=1.0, r=1.0, confidence=0.7, rank=None, scale=1.0, scaling=1.0,
    weights=None, average=False, forgetting=1.0,
):  # fmt: skip
    """Weights, intercepts, the scores before each row, and S, for labels 0 .. K - 1."""
    X = np.asarray(X, dtype=float)
    if scaling:
        X = np.hstack([X, np.ones((len(X), 1))])
    K = int(np.max(y)) + 1
    several = K > 2
    W = np.zeros((K if several else 1, X.shape[1]))
    V = W.copy()  # SOP's sums
    G = Geometry(form, X.shape[1], scale, rank, scaling, forgetting)
    phi = norm.ppf(confidence)
    weights = np.ones(len(X)) if weights is None else weights
    history, scores = [], []
    for x, label, weight in zip(X, y, weights, strict=True):
        scores.append((np.mean(history, axis=0) if average and history else W) @ x)
        if weight == 0 or not (x[:-1] if scaling else x).any():
            continue
        s = W @ x
        if several:
            wrong = max((k for k in range(K) if k != label), key=lambda k: (s[k], -k))
            m, direction = s[label] - s[wrong], np.zeros(K)
            direction[label], direction[wrong] = 1.0, -1.0
        else:
            direction = np.array([1.0 if label == 1 else -1.0])
            m = direction[0] * s[0]
        times = 2 if several else 1

        needed = {"SOP": np.inf, "CW-variance": phi * times * (x @ G.S @ x)}.get(rule, 1.0)
        if rule in ("CW-stdev", "SCW-I", "SCW-II"):
            needed = phi * np.sqrt(times * (x @ G.S @ x))
        if m >= needed - 1e-12 * abs(needed):  # all but rounding is reached
            history.append(W)
            continue

        def steps(times=times, x=x, m=m, weight=weight):
            n = times * (x @ G.S @ x)
            if rule == "SOP":
                return 0.0, weight if m <= 0 else 0.0
            P, beta = step(rule, m, n, C=C * weight, r=r / weight, phi=phi)
            rho = beta / (1 - beta * n) if beta else 0.0
            if rule.startswith("PAM"):
                rho *= weight
            if rule == "AROW":
                rho = weight / r if beta else 0.0
            if "CW" in rule:
                rho *= times
            return P, rho

        if steps()[1] > 0:
            G.make_room()  # the step is found in the geometry that there is then
        P, rho = steps()
        if rule == "SOP":
            if rho > 0:
                if form == "low-rank":  # making room changes S, and w = S v says what v is
                    V = np.linalg.solve(G.S, W.T).T
                V = V + weight * np.outer(direction, x)
                G.gain(rho, x)
                W = V @ G.S
        else:
            W = W + P * np.outer(direction, G.S @ x)
            G.gain(rho, x)
            if rho > 0 and forgetting < 1:
                G.forget(x)
        history.append(W)
    if average:
        W = np.mean(history, axis=0)
    scores = np.array(scores)
    if not several:
        scores = scores[:, 0]
    if scaling:
        return W[:, :-1], W[:, -1], scores, G.S
    return W, np.zeros(len(W)), scores, G.S
