"""Why absolute disagreement is not solved by coordinate ascent: sweeps it needs, a table.

python benchmarks/coordinate_ascent.py
"""

import numpy as np

from crossview._jit import njit
from harness import table

MOST = 20_000


@njit
def sweeps(gamma, C, m, n):
    """Sweeps of coordinate ascent on the dual (PA-I) until nothing moves a margin by 1e-14."""
    V = m.shape[0]
    P, edges, tau = np.zeros(V), np.zeros((V, V)), 0.0
    for sweep in range(MOST):
        new = min(max(tau + (1.0 - (m + P * n).mean()) * V * V / n.sum(), 0.0), C)
        P += (new - tau) / V
        moved = abs(new - tau) * n.max() / V
        tau = new
        for v in range(V):
            for u in range(v):
                gap = m[u] + P[u] * n[u] - m[v] - P[v] * n[v]
                edge = min(max(edges[u, v] + gap / (n[u] + n[v]), -gamma), gamma)
                change = edge - edges[u, v]
                edges[u, v] = edge
                P[u] -= change
                P[v] += change
                moved = max(moved, abs(change) * max(n[u], n[v]))
        if moved <= 1e-14:
            return sweep + 1
    return MOST


def main() -> str:
    rng = np.random.default_rng(0)
    rows = []
    for V in (3, 5, 8):
        for decades in (0, 4):
            counts = []
            for _ in range(600):
                m = rng.normal(size=V) * rng.choice([0.3, 1.0, 3.0])
                m -= max(0.0, m.mean() - 1) + 0.01
                n = 10.0 ** (rng.uniform(-decades / 2, decades / 2, size=V)) * rng.uniform(1, 3, V)
                counts.append(sweeps(10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2, 1), m, n))
            quantiles = np.percentile(counts, [50, 75, 90, 95, 99])
            rows.append([str(V), str(decades), *(f"{q:,.0f}" for q in quantiles)])
    return table(["views", "decades of norms", "median", "75 %", "90 %", "95 %", "99 %"], rows)


if __name__ == "__main__":
    print(main())
