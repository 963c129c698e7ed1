"""Random draws of labeled and unlabeled rows."""

import numpy as np

SCHEDULES = ("rounds", "half-labeled", "published", "uniform", "stream")
REGRESSION_SCHEDULES = ("alternating", "uniform", "stream")


def draw_rows(
    schedule: str,
    labeled: np.ndarray,
    unlabeled: np.ndarray,
    steps: int,
    random_state: np.random.RandomState,
) -> np.ndarray:
    """Return the row of each step, drawn uniformly and with replacement.

    "rounds", "alternating": labeled and unlabeled rows alternate.  "half-labeled": labeled rows in
    the first half, then both alternate (section 4 of the paper).  "published": the same as counted
    in the authors' published code, where step t, from 0 on, draws an unlabeled row if t > T/2 and t
    is even.  "uniform": any row (Algorithm 1).  Without unlabeled rows every step draws a labeled
    one.
    """
    if schedule == "uniform":
        rows = np.concatenate([labeled, unlabeled])
        rows.sort()
        return rows[random_state.randint(len(rows), size=steps)]
    draws = labeled[random_state.randint(len(labeled), size=steps)]
    if len(unlabeled):
        t = np.arange(steps)
        if schedule == "published":
            turn = (t > steps / 2) & (t % 2 == 0)
        else:
            half = 0 if schedule in ("rounds", "alternating") else steps // 2
            turn = (t >= half) & ((t - half) % 2 == 1)
        draws[turn] = unlabeled[random_state.randint(len(unlabeled), size=int(turn.sum()))]
    return draws
