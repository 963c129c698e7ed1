"""What a learner brings to an ensemble: extremely randomized trees, and networks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.datasets import load_diabetes, make_friedman1

import crossview
from benchmarks import data
from benchmarks.evidence.kernels import halved, losses_on_other_rows
from benchmarks.harness import Table, benchmark, listed, size

LEARN = size(1000, 150)
SETS = data.tables(*("svmguide1", "ionosphere", "bupa", "breast-cancer", "spambase", "digits")) | {
    "friedman1": lambda: halved(*make_friedman1(4000, noise=1.0, random_state=0), 5),
    "diabetes": lambda: halved(*load_diabetes(return_X_y=True), 4),
}


def models(is_number: bool, seed: int, *, with_networks: bool = False) -> dict[str, Any]:
    """Return a learner beside boosted trees, and a blend without it and with it."""
    kind = "Regressor" if is_number else "Classifier"

    def make(name: str) -> Any:
        return getattr(crossview, f"MultiView{name}{kind}")(random_state=seed)

    linear = (
        crossview.MultiViewRidge() if is_number else crossview.MultiViewLogisticRegression(C=0.1)
    )
    members = [("boosted", make("Trees")), ("kernels", make("KernelRidge")), ("linear", linear)]
    name, new = "extra-trees", "ExtraTrees"
    if with_networks:
        members.append(("randomized", make("ExtraTrees")))
        name, new = "networks", "Network"
    blend = getattr(crossview, f"Ensemble{kind}")
    return {
        "boosted trees": make("Trees"),
        name: make(new),
        "blend": blend(members=members, cv=3, random_state=seed),
        f"blend with {name}": blend(members=[*members, (name, make(new))], cv=3, random_state=seed),
    }


def _findings(name: str) -> Callable[[list[Table]], list[str]]:
    """Return what counts the sets on which the blend gains, and names those on which it loses."""

    def findings(tables: list[Table]) -> list[str]:
        found = []
        for table in tables:
            without, with_them = table.column("blend"), table.column(f"blend with {name}")
            gain = {name: 100.0 * (1.0 - with_them[name] / without[name]) for name in without}
            behind = [f"{name} ({-g:.0f} %)" for name, g in gain.items() if g < -1.0]
            ahead = [f"{name} ({g:.0f} %)" for name, g in gain.items() if g > 1.0]
            found.append(
                f"{table.title}: that of the blend is lower with them by more than 1 % on "
                f"{listed(ahead)}, and higher on {listed(behind)}."
            )
        return found

    return findings


@benchmark("docs/papers/trees.md", SETS, _findings("extra-trees"))
def extra_trees(wanted: list[str]) -> list[Table]:
    """Log loss of classes and root mean squared error of numbers, on other rows."""
    return losses_on_other_rows(SETS, wanted, models, LEARN)


@benchmark("docs/papers/network.md", SETS, _findings("networks"))
def networks(wanted: list[str]) -> list[Table]:
    """Log loss of classes and root mean squared error of numbers, on other rows."""
    return losses_on_other_rows(SETS, wanted, partial(models, with_networks=True), LEARN)
