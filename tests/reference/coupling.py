"""Coupled passive-aggressive steps, by a general-purpose optimizer and as printed."""

import itertools

import numpy as np
from scipy.optimize import lsq_linear, minimize
from scipy.special import softmax

from reference.intercept import Variance


def objective(P, m, n, C, gamma, coupling, slack, beta=1.0):
    """The step's own problem in the P_v: the paper's section 3.3, views weighted by beta."""
    P, m, n = map(np.asarray, (P, m, n))
    s = m + P * n
    value = 0.5 * np.sum(P**2 * n)
    for u, v in itertools.combinations(range(len(m)), 2):
        value += gamma * (abs(s[u] - s[v]) if coupling == "absolute" else 0.5 * (s[u] - s[v]) ** 2)
    loss = max(0.0, 1.0 - np.mean(beta * s))
    if slack == "PA":
        return value + (1e12 if loss > 1e-9 else 0.0)
    return value + C * (loss if slack == "PA-I" else loss**2)


def best_step(m, n, C, gamma, coupling, slack, beta=1.0):
    """The minimizer, by a general-purpose optimizer of scipy."""
    solve = {"absolute": _best_absolute, "squared": _best_squared}[coupling]
    m, n = np.asarray(m, float), np.asarray(n, float)
    return solve(m, n, C, gamma, slack, beta * np.ones(len(m)))


def _best_absolute(m, n, C, gamma, slack, beta):
    """The dual is a least-squares problem in a box.

    Over tau and one edge a pair, P = B q: maximize tau - sum_v (m_v P_v + n_v P_v² / 2)
    [- tau² / (4C)].  Edges cancel in sum_v P_v = tau mean beta, so this is to minimize
    |diag(sqrt n) B q - (1 / mean beta - m) / sqrt n|².
    """
    B = dual_basis(len(m), beta)
    A, d = np.sqrt(n)[:, None] * B, (1 / beta.mean() - m) / np.sqrt(n)
    if slack == "PA-II":
        A, d = np.vstack([A, np.eye(1, B.shape[1]) / np.sqrt(2 * C)]), np.append(d, 0.0)
    low = np.array([0.0] + [-gamma] * (B.shape[1] - 1))
    high = np.array([C if slack == "PA-I" else np.inf] + [gamma] * (B.shape[1] - 1))
    return B @ lsq_linear(A, d, (low, high), method="bvls", tol=1e-15, max_iter=1000).x


def _best_squared(m, n, C, gamma, slack, beta):
    """In z_v = sqrt(n_v) P_v and the loss e, by SLSQP."""
    V, root = len(m), np.sqrt(n)
    pairs = list(itertools.combinations(range(V), 2))

    def f(q):
        s = m + root * q[:V]
        value = 0.5 * q[:V] @ q[:V] + 0.5 * gamma * sum((s[u] - s[v]) ** 2 for u, v in pairs)
        return value + {"PA": 0.0, "PA-I": C * q[-1], "PA-II": C * q[-1] ** 2}[slack]

    def gradient(q):
        s = m + root * q[:V]
        z = q[:V] + gamma * root * (V * s - s.sum())
        return np.append(z, {"PA": 0.0, "PA-I": C, "PA-II": 2 * C * q[-1]}[slack])

    # mean beta s + e >= 1, and e >= 0 (PA: e = 0)
    A = np.vstack([np.append(beta * root / V, 1.0), np.eye(1, V + 1, V), -np.eye(1, V + 1, V)])
    b = np.array([1 - np.mean(beta * m), 0.0, 0.0])
    if slack != "PA":
        A, b = A[:2], b[:2]
    result = minimize(
        f,
        np.append(np.zeros(V), max(0.0, b[0])),
        jac=gradient,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda q: A @ q - b, "jac": lambda q: A},
        options={"maxiter": 2000, "ftol": 1e-16},
    )
    return result.x[:V] / root


def dual_basis(V, beta=1.0):
    """B with P = B q, q = (tau, one edge a pair): beta tau / V - edges leaving + edges entering."""
    pairs = list(itertools.combinations(range(V), 2))
    B = np.zeros((V, 1 + len(pairs)))
    B[:, 0] = beta / V
    for k, (u, v) in enumerate(pairs):
        B[u, 1 + k], B[v, 1 + k] = -1.0, 1.0
    return B


def forward(m, n, C, gamma, coupling, slack):
    """The best P >= 0 of the dual, and its value, by a quadratic program over tau and the edges.

    Each pair has an edge; in the dual of the absolute disagreement it is at most gamma, and in that
    of the squared one it costs its square / (2 gamma).
    """
    V = len(m)
    B = dual_basis(V)
    E = B.shape[1] - 1
    H = B.T @ np.diag(n) @ B
    H[0, 0] += 1 / (2 * C) if slack == "PA-II" else 0.0
    if coupling == "squared":
        H[1:, 1:] += np.eye(E) / gamma
    linear = B.T @ (1 - m)
    low = np.array([0.0] + [-gamma if coupling == "absolute" else -np.inf] * E)
    high = np.array(
        [C if slack == "PA-I" else np.inf] + [gamma if coupling == "absolute" else np.inf] * E
    )
    # the active sets of P >= 0 and of the box, by SLSQP in units that make H well conditioned
    unit = 1 / np.sqrt(np.diag(H))
    result = minimize(
        lambda q: 0.5 * (q * unit) @ H @ (q * unit) - linear @ (q * unit),
        np.zeros(1 + E),
        jac=lambda q: unit * (H @ (q * unit) - linear),
        method="SLSQP",
        bounds=list(zip(low / unit, high / unit, strict=True)),
        constraints={"type": "ineq", "fun": lambda q: B @ (q * unit), "jac": lambda q: B * unit},
        options={"maxiter": 2000, "ftol": 1e-15},
    )
    return B @ (result.x * unit), -result.fun


def dual_of_steps(P, m, n, C, gamma, coupling, slack):
    """The dual's value at the steps P: tau is their sum, and the edges the cheapest."""
    V, tau = len(m), P.sum()
    value = np.sum((1 - m) * P - 0.5 * n * P**2)
    value -= tau**2 / (4 * C) if slack == "PA-II" else 0.0
    if coupling == "squared":  # edges of the complete graph: (P_u - P_v) / V
        value -= np.sum((P - tau / V) ** 2) / V / (2 * gamma)
    return value


def published(m, n, C, gamma):
    """Algorithm 1 of Nguyen, Chang and Hui 2012, line by line."""
    mA, mB = m
    nA, nB = n
    loss = max(0.0, 1 - 0.5 * (mA + mB))
    if loss == 0:
        return 0.0, 0.0
    lA, lB = 1 - mA, 1 - mB
    alpha = max(0, min(gamma, 0.5 * (gamma + (lB / nB - lA / nA) / (nA + nB))))
    beta = max(0, min(gamma, 0.5 * (gamma - (lB / nB - lA / nA) / (nA + nB))))
    tau = min(C, ((alpha - beta) * (nA - nB) + 2 * loss) / (nA + nB))
    return -(alpha - beta - 0.5 * tau), -(beta - alpha - 0.5 * tau)


def pa(m, n, C, variant):
    loss = max(0.0, 1 - m)
    return {"PA": loss / n, "PA-I": min(C, loss / n), "PA-II": loss / (n + 1 / (2 * C))}[variant]


def squared(m, n, C, gamma, variant, beta=1.0):
    """Squared disagreement: the stationarity conditions as one linear system.

    With tau given, P_v = beta_v tau / V - gamma sum_u (s_v - s_u); the margin
    constraint (or its price) then gives tau.  s = m + diag(n) P.
    """
    m, n = np.asarray(m, float), np.asarray(n, float)
    V = len(m)
    L = V * np.eye(V) - np.ones((V, V))
    M = np.eye(V) + gamma * L @ np.diag(n)
    at_zero = np.linalg.solve(M, -gamma * L @ m)  # P for tau = 0
    slope = np.linalg.solve(M, beta * np.ones(V) / V)  # dP / dtau
    gap = 1 - np.mean(beta * (m + n * at_zero))  # the loss left where tau = 0
    rate = np.mean(beta * n * slope)
    tau = {
        "PA": gap / rate,
        "PA-I": min(C, gap / rate),
        "PA-II": gap / (rate + 1 / (2 * C)),
    }[variant]
    return at_zero + max(0.0, tau) * slope


class ViewWeights:
    """Exponentiated gradient on the joint loss, in the scalar form of its equations."""

    def __init__(self, V):
        self.beta, self.G, self.A = np.ones(V), np.zeros(V), 0.0

    def learn(self, margins, weight=1.0):
        """Learn from the margins of the present views, a dict."""
        beta, V = self.beta, len(self.beta)
        if np.mean([beta[v] * m for v, m in margins.items()]) >= 1:
            return
        middle = np.average([*margins.values()], weights=beta[[*margins]])
        g = {v: weight * (middle - m) for v, m in margins.items()}
        for v in g:
            self.G[v] += g[v]
        self.A += max(abs(one) for one in g.values()) ** 2
        eta = np.sqrt(np.log(V) / (1 + self.A))
        self.beta = 0.1 + 0.9 * V * softmax(-eta * self.G)


def learn(
    blocks, y, solve, present=None, C=1.0, scaling=1.0,
    independent=False, geometry=None, learned=False,
):  # fmt: skip
    """The whole learner on dense views: ``solve(m, n, C)`` gives the steps of the present ones.

    With ``learned`` it is ``solve(m, n, C, beta)``, and the joint score is that of `ViewWeights`.

    ``blocks`` is a list of (rows, columns) arrays, ``y`` holds 0 .. K - 1;
    ``geometry(size)`` makes the covariance of a view (`reference.second_order.Geometry`).
    Returns one weight matrix a view (intercept last), times beta, and the joint scores.
    """
    used = [(B != 0).any(axis=1) for B in blocks]
    if scaling:
        blocks = [np.hstack([B, np.ones((len(B), 1))]) for B in blocks]
    K = int(np.max(y)) + 1
    W = [np.zeros((1 if K == 2 else K, B.shape[1])) for B in blocks]
    G = [geometry(B.shape[1], scaling=scaling) if geometry else None for B in blocks]
    variances = [Variance(scaling) for _ in blocks]
    views, scores = ViewWeights(len(blocks)), []

    def through(v, x):
        return variances[v].direction(x) if G[v] is None else G[v].S @ x

    for i, label in enumerate(y):
        here = [v for v, B in enumerate(blocks) if present is None or present[i][v]]
        is_empty = not any(used[v][i] for v in here)
        if not is_empty:
            here = [v for v in here if used[v][i]]
        own = {v: W[v] @ blocks[v][i] for v in here}
        joint = sum((views.beta[v] * s for v, s in own.items()), np.zeros(len(W[0])))
        scores.append(joint if independent else joint / max(len(here), 1))
        if is_empty:
            continue
        if K == 2:
            sign = 1.0 if label == 1 else -1.0
            m = [sign * own[v][0] for v in here]
            times = 1
        else:

            def worst(s, label=label):
                return max((k for k in range(K) if k != label), key=lambda k: (s[k], -k))

            rival = {v: worst(own[v] if independent else joint) for v in here}
            m = [own[v][label] - own[v][rival[v]] for v in here]
            times = 2
        beta = views.beta[here]
        moving = [a < 1 - 1e-12 if independent else np.mean(beta * m) < 1 - 1e-12 for a in m]
        for v, moves in zip(here, moving, strict=True):
            if moves and G[v] is not None:
                G[v].make_room()
        directions = [through(v, blocks[v][i]) for v in here]
        n = [times * blocks[v][i] @ g for v, g in zip(here, directions, strict=True)]
        if learned:
            rival_of_all = worst(joint) if K > 2 else 0
            views.learn(
                {v: sign * s[0] if K == 2 else s[label] - s[rival_of_all] for v, s in own.items()}
            )
        if not any(moving):
            continue
        steps = solve(m, n, C, beta) if learned else solve(m, n, C)
        for v, P, moves, g in zip(here, steps, moving, directions, strict=True):
            x = blocks[v][i]
            if K == 2:
                W[v][0] += sign * P * g
            else:
                W[v][label] += P * g
                W[v][rival[v]] -= P * g
            if moves and G[v] is not None:
                G[v].gain(1.0, x)
    scores = np.array(scores)
    W = [b * w for b, w in zip(views.beta, W, strict=True)]
    return W, scores[:, 0] if K == 2 else scores


def absolute(m, n, C, gamma, variant, beta=1.0):
    """Absolute disagreement, exactly: every active set of the dual's box, one after the other.

    Dual variables tau in [0, C] and one edge a pair in [-gamma, gamma] are each
    at their lower end, at their upper end or free; the free ones solve a linear
    system.  Of all candidates inside the box the one with the best value wins.
    Only for a few views: 3^(1 + pairs) linear systems.
    """
    m, n = np.asarray(m, float), np.asarray(n, float)
    B = dual_basis(len(m), beta)
    # value(q) = g·q - q'Hq / 2
    H = B.T @ np.diag(n) @ B
    g = -B.T @ m
    g[0] += 1.0
    if variant == "PA-II":
        H[0, 0] += 1 / (2 * C)
    low = np.array([0.0] + [-gamma] * (B.shape[1] - 1))
    high = np.array([C if variant == "PA-I" else np.inf] + [gamma] * (B.shape[1] - 1))
    best, value = None, -np.inf
    for state in itertools.product("lhf", repeat=len(low)):
        free = np.array([s == "f" for s in state])
        q = np.where([s == "l" for s in state], low, high)
        if not np.isfinite(q[~free]).all():
            continue
        q[free] = 0.0
        if free.any():
            q[free] = np.linalg.lstsq(
                H[np.ix_(free, free)], g[free] - H[np.ix_(free, ~free)] @ q[~free], rcond=None
            )[0]
        if (q < low - 1e-12).any() or (q > high + 1e-12).any():
            continue
        this = g @ q - 0.5 * q @ H @ q
        if this > value:
            best, value = q, this
    return B @ best
