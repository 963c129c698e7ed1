"""Every learner of the catalog on a table with all kinds of columns, for tests and benchmarks."""

import inspect
import math
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import crossview
from crossview import Pipeline, ViewEncoder
from crossview.catalog.learners import LEARNERS
from crossview.catalog.names import load_object

VIEWS = {
    "user": ["age", "city", "since", "vip"],
    "text": ["words(msg)", "chars(msg)", "shape(msg)"],
    "dim": "dim_*",
}
WORDS = [
    "cheap",
    "flights",
    "Oslo",
    "bonn",
    "weather",
    "free",
    "WIN",
    "prize",
    "call",
    "now",
    "hello",
    "Straße",
    "ÄÖÜ",
    "naïve",
    "ΣΑΣ",
    "你好",
    "1234",
    "https://a.b",
    "www.x.de",
    ":-)",
    "a_b",
    "2½",
    "x²",
    "İce",
    "𝟘𝟙",
]
BLANKS = [" ", "  ", "\u2003", "\x1c", "\n", "\u00a0"]
# quick, whatever is learned
QUICK = {
    "n_bags": 1,
    "max_iter": 8,
    "n_components": 2,
    "max_columns": 20,
    "n_iterations": 200,
    "n_estimators": 20,
    "random_state": 0,
    "cv": 2,
    "max_categories": 3,
    "fourier_features": 3,
    "n_members": 2,
    "n_hidden": 4,
    "max_epochs": 10,
}
MEMBERS = {
    "classification": [
        ("pa", crossview.PassiveAggressiveClassifier()),
        ("user", crossview.AROWClassifier(), "user"),
        ("trees", crossview.MultiViewTreesClassifier(n_bags=1, max_iter=5, n_components=2)),
    ],
    "regression": [
        ("ridge", crossview.MultiViewRidge()),
        ("user", crossview.MultiViewMachineRegressor(n_epochs=3), "user"),
    ],
}
# one of each arithmetic that others do not have
EXPERTS = {
    "classification": [
        ("newton", crossview.OnlineNewtonClassifier(fourier_features=3)),
        ("fm", crossview.FactorizationMachineClassifier(n_factors=2)),
        ("user", crossview.AROWClassifier(), "user"),
    ],
    "regression": [
        ("newton", crossview.OnlineNewtonRegressor(fourier_features=3)),
        ("user", crossview.MultiViewMachineRegressor(n_factors=2), "user"),
    ],
}


class Case(NamedTuple):
    """A fitted pipeline, and rows that it did not learn, as JSON has them."""

    name: str
    fitted: Any
    rows: list


def make_rows(n, seed, *, whole=False):
    """Rows as JSON has them: missing cells and views, odd text; ``whole``: none is missing."""
    rng = np.random.default_rng(seed)

    def gap(value, share=0.12):
        return value if whole or rng.random() >= share else None

    rows = []
    for _ in range(n):
        words = rng.choice(WORDS, rng.integers(0, 9)).tolist()
        text = "".join(w + str(rng.choice(BLANKS)) for w in words)
        start = np.datetime64("1969-06-01T00:00:00")
        day = str(start + np.timedelta64(int(rng.integers(0, 3 * 10**9)), "s"))
        row = {
            "age": gap(float(rng.normal(40, 12))),
            "city": gap(str(rng.choice(["Oslo", "Bonn", "Köln", *(f"c{i}" for i in range(12))]))),
            "since": gap(rng.choice([day, day[:10], day[:16].replace("T", " "), day + "+02:00"])),
            "vip": gap(bool(rng.random() < 0.4)),
            "msg": gap(text),
            **{f"dim_{k}": gap(float(x), 0.03) for k, x in enumerate(rng.normal(size=3))},
        }
        if not whole and rng.random() < 0.15:
            row |= dict.fromkeys(k for k in row if k.startswith("dim"))
        if not whole and rng.random() < 0.1:
            row |= dict.fromkeys(["age", "city", "since", "vip"])
        rows.append({k: str(v) if isinstance(v, np.str_) else v for k, v in row.items()})
    return rows


def targets(rows, task, n_classes):
    z = np.array(
        [
            (row["age"] or 40) / 12 + 2 * ("free" in (row["msg"] or "")) + (row["dim_0"] or 0)
            for row in rows
        ]
    )
    if task == "regression":
        return 100 + 50 * z
    return np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes))


def encoder(bins=None, hash_bits=8):
    return ViewEncoder(
        VIEWS,
        text=["msg"],
        date=["since"],
        hash_bits=hash_bits,
        bins=bins,
        ngram_range=(1, 2),
    )


def learners(views=tuple(VIEWS)):
    """Each entry of the catalog with what it needs to learn these views quickly."""
    for at, entry in enumerate(LEARNERS):
        if entry.name == "view:NAME":
            continue
        entry = entry.for_views(list(views))
        known = inspect.signature(load_object(entry.path)).parameters
        quick = {name: value for name, value in QUICK.items() if name in known}
        if "max_iter" in quick and "n_bags" not in known:
            del quick["max_iter"]
        quick.pop("random_state", None)
        if "lam" in known:  # one per view
            quick["lam"] = {view: 10.0 ** -(v + 1) for v, view in enumerate(views)}
        if "view_weights" in known and entry.name.endswith(("squared", "independent")):
            quick["view_weights"] = "learned"
        if "members" in known:
            quick["members"] = MEMBERS[entry.task]
        if "experts" in known:
            quick["experts"] = EXPERTS[entry.task]
        yield at, entry, quick


def cases(n_train=80, n_rows=30, wanted=lambda learner: True, *, both=True):
    """Each learner that is wanted: of two and of three classes, or of numbers.

    ``both=False``: of two or of three.
    """
    train, rows = make_rows(n_train, 0), make_rows(n_rows, 1)
    table = pa.Table.from_pylist(train)
    encoded = {
        bins: (one, one.fit_transform(table)) for bins in (None, 4) for one in [encoder(bins)]
    }
    for at, entry, quick in learners():
        classes = (2, 3) if both else (2 + at // 2 % 2,)
        for n_classes in classes if entry.task == "classification" else (0,):
            own, X = encoded[None if (at + n_classes) % 2 else 4]
            learner = entry.make(random_state=0, **quick)
            if not wanted(learner):
                continue
            fitted = learner.fit(X, targets(train, entry.task, n_classes))
            name = f"{entry.name}, {n_classes or 'no'} classes"
            yield Case(name, Pipeline([("encoder", own), ("model", fitted)]), rows)


def expected(case):
    """Probabilities or numbers, predictions, and scores of views, of a case."""
    table = pa.Table.from_pylist(case.rows, schema=SCHEMA)
    fitted, learner = case.fitted, case.fitted[-1]
    X = fitted[0].transform(table)
    found = learner.predict_proba(X) if hasattr(learner, "classes_") else learner.predict(X)
    views = learner.view_scores(X)
    each = [
        [None if np.isnan(own).any() else own.reshape(-1).tolist() for own in row]
        for row in views.reshape(len(views), views.shape[1], -1)
    ]
    return np.reshape(found, (len(X), -1)).tolist(), learner.predict(X).tolist(), each


SCHEMA = pa.Table.from_pylist(make_rows(20, 0, whole=True)).schema


def difference(answers, case, there=None):
    """The largest difference of probabilities, of numbers and of scores of views, and which
    predictions are others; ``answers`` are those of an export."""
    p, predictions, views = there or expected(case)
    largest, others = 0.0, 0
    for answer, own, predicted, scores in zip(answers, p, predictions, views, strict=True):
        here = answer.get("probabilities")
        here = [answer["prediction"]] if here is None else list(here.values())
        pairs = list(zip(here, own, strict=True))
        for here_view, there_view in zip(answer["view_scores"].values(), scores, strict=True):
            assert (here_view is None) == (there_view is None)
            if there_view is not None:
                here_list = here_view if isinstance(here_view, list) else [here_view]
                pairs += zip(here_list, there_view, strict=True)
        largest = max(largest, *(abs(a - b) / max(1.0, abs(b)) for a, b in pairs))
        is_tie = len(own) > 1 and sorted(own)[-1] - sorted(own)[-2] < 1e-9
        others += len(own) > 1 and answer["prediction"] != predicted and not is_tie
    assert math.isfinite(largest)
    return largest, others
