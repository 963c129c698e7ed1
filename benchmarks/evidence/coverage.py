"""What the tests of `compare` declare, by simulation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.evidence.simulated import differences, scores_of_folds, stream
from benchmarks.harness import Table, benchmark, size, span
from crossview.scoring.significance import (
    SIGNIFICANT,
    Posterior,
    correlated_t_posterior,
    holm,
    holm_of_pairs,
)

DRAWS = size(500, 5)
MODELS = 10
ROPE, SURE = 0.01, 0.95
# metric, rows, repeats, lead that the second table gives to one model
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
HOLDS = "interval"
TWO, NINE, PAIRS, SOME = (
    *("two: p < .05", "ten: Holm, 9 tests", "ten: Holm, 45 pairs", "ten: some P ≥ .95"),
)
EQUAL = ["equal models", TWO, "two: P ≥ .95", NINE, PAIRS, SOME, "ten: each P ≥ .95", HOLDS]
LEAD = ["one model better", "true lead", "p < .05", "P(better) ≥ .95", HOLDS]


def percent(values: list) -> str:
    return f"{100.0 * float(np.mean(values)):.1f} %"


def holds(difference: Posterior, truth: float) -> bool:
    """Whether the interval contains the true difference."""
    low, high = difference.interval()
    return low <= truth <= high


def of_equals(draw: Callable[[], list[list[Posterior]]]) -> list[str]:
    """Return the cells on how often equal models are declared different."""
    cells: list[list] = [[] for _ in EQUAL[1:]]
    for _ in range(DRAWS):
        found = draw()
        first, best = found[0][1], int(np.argmax([row[0].location for row in found]))
        areas, others = first.areas(ROPE), [m for m in range(MODELS) if m != best]
        p = np.array([[one.p for one in row] for row in found])
        sure = [found[m][best].areas(ROPE).worse >= SURE for m in others]
        values = (
            first.p < SIGNIFICANT,
            max(areas.worse, areas.better) >= SURE,
            min(holm(p[best, others].tolist())) < SIGNIFICANT,
            holm_of_pairs(p)[best, others].min() < SIGNIFICANT,
            any(sure),
            np.mean(sure),
            holds(first, 0.0),
        )
        for cell, value in zip(cells, values, strict=True):
            cell.append(value)
    return [percent(cell) for cell in cells]


def of_a_lead(found: list[Posterior], truth: float) -> list[str]:
    """Return the cells on a model that is better by the truth."""
    return [
        f"{truth:.4f}",
        percent([one.p < SIGNIFICANT for one in found]),
        percent([one.areas(ROPE).better >= SURE for one in found]),
        percent([holds(one, truth) for one in found]),
    ]


def findings(tables: list[Table]) -> list[str]:
    """Say what the shares of the three tables are, folds and streams apart."""
    equal, lead = tables

    def both(table: Table, column: str) -> str:
        values = table.column(column)
        parts = {
            "folds": [v for name, v in values.items() if not name.startswith("stream")],
            "streams": [v for name, v in values.items() if name.startswith("stream")],
        }
        return " and ".join(f"{span(v)} % by {kind}" for kind, v in parts.items())

    power = lead.column("p < .05")
    return [
        f"Of two equal models, p is below .05 in {both(equal, TWO)} of the draws.",
        f"Of ten equal models, one has a p below .05 in {both(equal, NINE)} where it is "
        "adjusted for the nine tests against the best, which chance favors, and in "
        f"{both(equal, PAIRS)} where it is adjusted for all pairs.",
        f"P(worse) is about one pair: some of ten equal models has one of .95 in "
        f"{both(equal, SOME)}. So read the adjusted p where many models are compared.",
        f"The interval holds the true difference in {both(equal, HOLDS)} of equal models, and in "
        f"{both(lead, HOLDS)} of models with a lead.",
        f"15 folds find a lead in {power.get('15 folds, f1, 300 rows', np.nan):.0f} % where 5 "
        f"folds find it in {power.get('5 folds, f1, 300 rows', np.nan):.0f} %.",
    ]


@benchmark("docs/reproduction.md", findings=findings)
def coverage() -> list[Table]:
    """Equal models, and one that is better."""
    rng = np.random.default_rng(0)
    equal, leads = Table(EQUAL, title="Equal models"), Table(LEAD, title="A lead")

    def of_folds(metric: str, n: int, repeats: int) -> list[list[Posterior]]:
        scores = scores_of_folds(rng, metric, n, MODELS, repeats=repeats).T
        return [[correlated_t_posterior(a - b, 1 / 5) for b in scores] for a in scores]

    for metric, n, repeats, lead in FOLDS:
        name = f"{5 * repeats} folds, {metric}, {n:,} rows"
        equal.add(name, *of_equals(lambda m=metric, n=n, r=repeats: of_folds(m, n, r)))
        scores = [
            scores_of_folds(rng, metric, n, 2, repeats=repeats, lead=lead) for _ in range(DRAWS)
        ]
        d = [one[:, 0] - one[:, 1] for one in scores]
        leads.add(
            name, *of_a_lead([correlated_t_posterior(one, 1 / 5) for one in d], float(np.mean(d)))
        )
    for metric, n, drift, lead in STREAMS:
        name = f"stream, {metric}, {n:,} rows" + f", correlation {drift:g}" * (drift > 0)

        def draw(models: int, lead: float = 0.0, m=metric, n=n, drift=drift) -> list:
            return differences(m, stream(rng, m, n, models, drift=drift, lead=lead))

        equal.add(name, *of_equals(lambda draw=draw: draw(MODELS)))
        found = [draw(2, lead)[0][1] for _ in range(DRAWS)]
        leads.add(name, *of_a_lead(found, float(np.mean([one.location for one in found]))))
    return [equal, leads]
