"""One result of each kind, whose names and values want to be HTML, SVG and mathematics."""

import numpy as np
import pandas as pd
import pytest

from comparisons import OF_MACHINES, ONE, make_numbers_frame, make_views
from crossview import Scoring, TrainingObserver, ViewEncoder, compare, evaluate, train
from crossview.reporting.page.render import report_html
from crossview.reporting.page.sections import Made

EVIL = "<script>alert(1)</script>"
CLASSES = [f"no {EVIL}", 'yes "&$x^2$']


def make_evil(n=120):
    """A table whose view, columns, cells and classes are written as markup."""
    X, y = make_views(n)
    columns = {f"strong {EVIL}__{i}$x_1$": X["strong"][:, i] for i in range(2)}
    columns |= {f"weak__{i}": X["weak"][:, i] for i in range(2)}
    columns["weak__text"] = [EVIL if one == "yes" else "plain\x00 word" for one in y]
    return pd.DataFrame(columns | {"answer": np.where(y == "yes", CLASSES[1], CLASSES[0])})


@pytest.fixture(scope="session")
def results():
    """Of each kind of result: folds, a stream, three classes, a number, a stack, an evaluation."""
    table, (X, y) = make_evil(), make_views(120)
    given = {"grid": ONE, "budget": None, "cv": 2}
    some = ["pa:squared", f"view:strong {EVIL}"]
    three = np.where(X["noise"][:, 0] > 0.5, "third", y)
    trained = train(
        table, "answer", encoder=ViewEncoder(hash_bits=10), log=TrainingObserver(history=True)
    )
    return {
        "folds": compare(
            table, "answer", models=some, scoring=Scoring(positive=CLASSES[1]), ablate=True, **given
        ),
        "stream": compare(table, "answer", models=["pa:squared", "arow"], progressive=True),
        "three": compare(X, three, models=["pa:squared"], curve=False, **given),
        "number": compare(
            *(make_numbers_frame(90), "rating"),
            task="regression",
            models=["linear"],
            curve=False,
            **given | {"grid": OF_MACHINES},
        ),
        "trained": trained,
        "evaluated": evaluate(trained.fitted, table, "answer", window=40),
    }


@pytest.fixture(scope="session")
def pages(results):
    command = ["crossview", "compare", "a<b>.csv"]
    made = Made(command, "a<b>.csv", "<i>answer</i>", said=["<b>: read as dates; --text says no"])
    fitted = results["trained"].fitted
    return {
        kind: report_html(one, made, *([fitted] if kind == "evaluated" else []))
        for kind, one in results.items()
    }
