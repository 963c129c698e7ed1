"""The section of docs/reproduction.md on the tests of `compare`: what they declare, by simulation.

python benchmarks/reproduction.py --only coverage
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from crossview.comparing.answer import follow
from crossview.comparing.comparison import ComparisonRow, Followed
from crossview.scoring.significance import (
    SIGNIFICANT,
    Posterior,
    correlated_t_posterior,
    holm,
    holm_of_pairs,
)
from harness import table
from simulated import differences, folds_to_follow, scores_of_folds, stream

DRAWS = 500
MODELS = 10
ROPE, SURE = 0.01, 0.95

# metric, rows, repeats, lead that the last table gives to one model
FOLDS = [
    ("accuracy", 200, 1, 0.15),
    ("accuracy", 1000, 1, 0.08),
    ("roc_auc", 300, 1, 0.12),
    ("f1", 300, 1, 0.15),
    ("f1", 300, 3, 0.15),
]
# metric, rows, correlation of successive errors of a model, lead
STREAMS = [
    ("accuracy", 300, 0.0, 0.5),
    ("accuracy", 2000, 0.0, 0.3),
    ("f1", 1000, 0.0, 0.4),
    ("roc_auc", 1000, 0.0, 0.3),
    ("log_loss", 1000, 0.0, 0.2),
    ("rmse", 1000, 0.0, 0.05),
    ("f1", 2000, 0.95, 0.4),
    ("f1", 20_000, 0.95, 0.2),
]
# metric, rows, repeats, signals of the ten models: equal ones, or from one to the other
FOLLOWED = [
    ("accuracy", 200, 1, (0.3, 0.3)),
    ("accuracy", 200, 1, (0.2, 0.35)),
    ("accuracy", 1000, 1, (0.3, 0.3)),
    ("accuracy", 1000, 1, (0.2, 0.35)),
    ("roc_auc", 300, 1, (0.2, 0.35)),
    ("f1", 300, 1, (0.2, 0.35)),
    ("f1", 300, 3, (0.2, 0.35)),
]


def say(*words: object) -> None:
    print(*words, file=sys.stderr, flush=True)


def percent(values: list) -> str:
    return f"{100.0 * float(np.mean(values)):.1f} %"


def different(difference: Posterior) -> bool:
    """Whether the posterior says better or worse by more than the rope."""
    areas = difference.areas(ROPE)
    return max(areas.worse, areas.better) >= SURE


def holds(difference: Posterior, truth: float) -> bool:
    """Whether the interval contains the true difference."""
    low, high = difference.interval()
    return low <= truth <= high


def of_equals(draw: Callable[[], list[list[Posterior]]]) -> list[str]:
    """Return the cells on how often equal models are declared different."""
    two, rope, nine, pairs, alone, covered = [], [], [], [], [], []
    for _ in range(DRAWS):
        found = draw()
        first = found[0][1]
        two.append(first.p < SIGNIFICANT)
        rope.append(different(first))
        covered.append(holds(first, 0.0))
        best = int(np.argmax([row[0].location for row in found]))
        others = [m for m in range(MODELS) if m != best]
        p = np.array([[one.p for one in row] for row in found])
        nine.append(min(holm(p[best, others].tolist())) < SIGNIFICANT)
        pairs.append(holm_of_pairs(p)[best, others].min() < SIGNIFICANT)
        alone.append([found[m][best].areas(ROPE).worse >= SURE for m in others])
    cells = [two, rope, nine, pairs, np.any(alone, axis=1), np.mean(alone, axis=1), covered]
    return [percent(cell) for cell in cells]


def fold_draw(rng: np.random.Generator, metric: str, n: int, repeats: int) -> Callable:
    """Return a function that draws equal models: the posteriors of their differences."""

    def draw() -> list[list[Posterior]]:
        scores = scores_of_folds(rng, metric, n, MODELS, repeats=repeats).T
        return [[correlated_t_posterior(a - b, 1 / 5) for b in scores] for a in scores]

    return draw


def stream_draw(rng: np.random.Generator, metric: str, n: int, drift: float) -> Callable:
    """Return a function that draws equal models: the posteriors of their differences."""
    return lambda: differences(metric, stream(rng, metric, n, MODELS, drift=drift))


def of_a_lead(found: list[Posterior], truth: float) -> list[str]:
    """Return the cells on a model that is better by the truth."""
    return [
        f"{truth:.4f}",
        percent([one.p < SIGNIFICANT for one in found]),
        percent([one.areas(ROPE).better >= SURE for one in found]),
        percent([holds(one, truth) for one in found]),
    ]


def of_following(
    rng: np.random.Generator, metric: str, n: int, repeats: int, signals: np.ndarray
) -> list[str]:
    """Return the cells on following the answer, and on believing the best row."""
    followed, best = [], []
    for _ in range(DRAWS):
        inner, scores, truth = folds_to_follow(rng, metric, n, signals, repeats=repeats)
        effort = rng.permutation(MODELS)
        rows = [
            ComparisonRow(
                *(str(m), "simulated"),
                effort=int(effort[m]),
                inner=inner[:, m].tolist(),
                scores=scores[:, m].tolist(),
            )
            for m in range(MODELS)
        ]
        found = follow(metric, rows, ROPE, 1 / 5)
        assert isinstance(found, Followed)
        true = truth[range(len(truth)), [int(m) for m in found.models]].mean()
        followed.append((found.value, true, *found.interval))
        m = scores.mean(axis=0).argmax()
        interval = correlated_t_posterior(scores[:, m], 1 / 5).interval()
        best.append((scores[:, m].mean(), truth[:, m].mean(), *interval))
    cells = []
    for value, true, low, high in (np.transpose(followed), np.transpose(best)):
        truth = true.mean()
        cells += [f"{value.mean():.4f}", f"{truth:.4f}", percent((low <= truth) & (truth <= high))]
    return cells


def section(names: list[str]) -> str:
    """Return the section; it needs no data set."""
    rng = np.random.default_rng(0)
    equal, leads, following = [], [], []
    for metric, n, repeats, lead in FOLDS:
        name = f"{5 * repeats} folds, {metric}, {n:,} rows"
        cells = of_equals(fold_draw(rng, metric, n, repeats))
        equal.append([name, *cells])
        say(*equal[-1])
        scores = [
            scores_of_folds(rng, metric, n, 2, repeats=repeats, lead=lead) for _ in range(DRAWS)
        ]
        d = [one[:, 0] - one[:, 1] for one in scores]
        found = [correlated_t_posterior(one, 1 / 5) for one in d]
        leads.append([name, *of_a_lead(found, float(np.mean(d)))])
        say(*leads[-1])
    for metric, n, drift, lead in STREAMS:
        name = f"stream, {metric}, {n:,} rows" + f", correlation {drift:g}" * (drift > 0)
        cells = of_equals(stream_draw(rng, metric, n, drift))
        equal.append([name, *cells])
        say(*equal[-1])
        found = [
            differences(metric, stream(rng, metric, n, 2, drift=drift, lead=lead))[0][1]
            for _ in range(DRAWS)
        ]
        truth = float(np.mean([one.location for one in found]))
        leads.append([name, *of_a_lead(found, truth)])
        say(*leads[-1])
    for metric, n, repeats, (low, high) in FOLLOWED:
        kind = "equal" if low == high else "unlike"
        name = f"{5 * repeats} folds, {metric}, {n:,} rows, {kind} models"
        signals = np.linspace(low, high, MODELS)
        following.append([name, *of_following(rng, metric, n, repeats, signals)])
        say(*following[-1])
    parts = [table(EQUAL, equal), LEADS, table(LEAD, leads), FOLLOWING, table(FOLLOW, following)]
    return "\n\n".join([HEAD, *parts, SEEN])


EQUAL = ["comparison", "two: p < .05", "two: P ≥ .95", "ten: Holm, 9 tests",
         "ten: Holm, 45 pairs", "ten: some P ≥ .95", "ten: each P ≥ .95", "interval"]  # fmt: skip
LEAD = ["comparison", "true lead", "p < .05", "P(better) ≥ .95", "interval"]
FOLLOW = ["comparison", "following", "true", "interval", "best row", "true", "interval"]

HEAD = f"""## What the tests of compare declare

How often are equal models declared different, how often is a difference found, and how often is the
true difference in its interval?

Command: `python benchmarks/reproduction.py --only coverage`

Simulated models, of which the truth is known; {DRAWS} draws of each line, so that a share has a
standard error of 1 %. *Folds*: least squares, each model on five columns of its own, all of the
same distribution; posteriors of the correlated t-test. *Streams*: the scores of each model are a
common part and noise of its own; posteriors of the jackknife over blocks. With "correlation", the
noise of a model follows that of the row before.

Equal models, {MODELS} of them. *Two*: the first two; p of the test of no difference, and P, the
posterior probability that one is better by more than the rope of {ROPE}. *Ten*: the best of the
draw against the nine others, by p below 0.05 after Holm's adjustment for the nine tests (what
`compare` does by folds) and for all 45 pairs (what it does on a stream); and by P(worse): for some
of the nine, and for each of them on average. *Interval*: the 95 % interval of the first two
contains 0."""

LEADS = """Now one of two models is better by the true lead, the mean over the draws. How often
is that found, and is the true lead in the interval?"""

FOLLOWING = """Is `compare` right about what following its answer gives? The ten models are those of
the folds above: equal ones, or each with a stronger signal than the one before. In each training
part a model is chosen as `compare` does: the cheapest of those within the rope of the best, on the
held-out rows of three inner folds; which model is cheap is drawn at random. The distribution of the
rows is known, so the true value of each fitted model is computed. *Following*: the mean over the
draws. *True*: that of the true values of the same models. *Interval*: how often the 95 % interval
contains the latter. *Best row*: the same of the model with the highest mean over the folds, which
is chosen by the rows that score it."""

SEEN = """Findings:

- Of two equal models, p is below 0.05 in at most 5 % of the draws, up to the noise of the draws
  where successive errors are correlated by 0.95; nor is P 0.95 more often.
- Of ten equal models, a stream has one with a p below 0.05 in more than a tenth of the draws where
  p is adjusted for the nine tests against the best, which chance favors. Adjusted for all pairs, in
  at most 5 %. The t-test of folds is conservative, and keeps to 5 % with nine tests.
- P(worse) is about one pair. Of ten equal models with few rows, some model has a P(worse) of 0.95
  from the best of the draw in a fifth to over half of the draws. So read the adjusted p where many
  models are compared, and P(worse) of a model for what it costs to take that one.
- The intervals hold the true difference in nine of ten draws or more, those of folds more often
  than they promise: these folds are correlated less than n_test / n.
- 15 folds in place of 5 double the power: five differences leave four degrees of freedom.
- Following the answer gives what the table says, up to the noise of the draws (a standard error is
  at most 0.002), and the interval contains it in 95 to 97 % of them. The mean of the best row is
  too high in all lines: by 0.02 to 0.05, by 0.01 among unlike models with 1,000 rows. Intervals of
  five folds are so wide that they mostly contain the truth even so."""
