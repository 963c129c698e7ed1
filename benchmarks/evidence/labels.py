"""KeCo, Pegasos and scikit-learn with 3 to 100 labels per class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from benchmarks import data
from benchmarks.harness import Table, benchmark, listed, loaded, mean_and_error, size
from crossview import KeCoClassifier, MultiView, PegasosClassifier

# splits per set: fewer of the larger ones
SPLITS = {"ionosphere": 20, "svmguide1": 10, "webkb_course": 8, "uci_mfeat": 3, "cora": 3}
COUNTS = size((3, 10, 30, 100), (3, 10))
# the larger sets stop here
MOST_LABELS = {"uci_mfeat": 30, "cora": 30}
# of the training rows of the smallest class at most this share is labeled
MOST = 0.75
FOLDS = 3
ROWS_OF_SVMGUIDE1 = 1200
# the first of equals: with few labels many are
OF_C = [{"C": C} for C in (10.0, 1.0, 100.0)]


class Data(NamedTuple):
    """Training rows of one split, and rows to test."""

    train: MultiView
    labels: np.ndarray  # -1: none
    test: MultiView
    y: np.ndarray


class Method(NamedTuple):
    """A model of each setting, from gamma and the number of labels, and how it fits."""

    make: Callable[..., Any]
    grid: list[dict[str, Any]]
    views: bool = False
    unlabeled: bool = False


def pegasos(gamma: float, n: int, C: float) -> PegasosClassifier:
    return PegasosClassifier(lam=1.0 / (n * C), calibration="none", random_state=0)


def keco(gamma: float, n: int, C: float) -> KeCoClassifier:
    return KeCoClassifier(lam=1.0 / (n * C), unlabeled=-1, calibration="none", random_state=0)


def logistic(gamma: float, n: int, C: float) -> LogisticRegression:
    return LogisticRegression(C=C, max_iter=300)


def spreading(gamma: float, n: int, width: float = 1.0, **setting: Any) -> LabelSpreading:
    return LabelSpreading(gamma=width * gamma, max_iter=100, **setting)


def self_training(gamma: float, n: int, C: float, threshold: float) -> SelfTrainingClassifier:
    return SelfTrainingClassifier(logistic(gamma, n, C), threshold=threshold)


NEIGHBORS = [{"kernel": "knn", "n_neighbors": n, "alpha": a} for n in (7, 20) for a in (0.2, 0.8)]
WIDTHS = [{"kernel": "rbf", "width": width, "alpha": 0.8} for width in (3.0, 30.0)]
THRESHOLDS = [{"C": C, "threshold": t} for C in (1.0, 100.0) for t in (0.75, 0.9)]
METHODS = {
    "KeCo, views": Method(keco, OF_C, views=True, unlabeled=True),
    "Pegasos, views": Method(pegasos, OF_C, views=True),
    "Pegasos": Method(pegasos, OF_C),
    "SVC": Method(lambda gamma, n, C: SVC(gamma=gamma, C=C), OF_C),
    "logistic regression": Method(logistic, OF_C),
    "label spreading": Method(spreading, NEIGHBORS + WIDTHS, unlabeled=True),
    "self-training": Method(self_training, THRESHOLDS, unlabeled=True),
}
BASELINES = ("SVC", "label spreading", "self-training")
GAP = "KeCo minus the best of three"


def svmguide1() -> tuple[MultiView, np.ndarray]:
    X, y = data.svmguide1()
    rows = np.random.RandomState(0).choice(len(y), ROWS_OF_SVMGUIDE1, replace=False)
    return of_numbers(X[rows], y[rows])


def webkb_course() -> tuple[MultiView, np.ndarray]:
    X, y = data.webkb_course()
    views = {name: sp.csr_array(normalize(X.select([name]).matrix)) for name in X.layout.names}
    return MultiView(views), y


def of_numbers(X: Any, y: np.ndarray) -> tuple[MultiView, np.ndarray]:
    return MultiView(X if isinstance(X, dict) else {"all": X}), y


SETS: dict[str, Callable[[], tuple]] = {
    "ionosphere": lambda: of_numbers(*data.ionosphere()),
    "svmguide1": svmguide1,
    "webkb_course": webkb_course,
    "uci_mfeat": lambda: of_numbers(*data.mfeat()),
    "cora": lambda: data.words("cora")[:2],
}


def split(X: MultiView, y: np.ndarray, count: int, seed: int) -> Data | None:
    """A quarter to test; ``count`` labels per class; None if a class has too few rows."""
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, stratify=y, random_state=seed)
    random = np.random.default_rng(seed)
    labels = np.full(len(train), -1)
    for c in np.unique(y):
        own = np.flatnonzero(y[train] == c)
        if count > MOST * len(own):
            return None
        labels[random.choice(own, count, replace=False)] = c
    seen, unseen = X[train], X[test]
    if not sp.issparse(X.matrix):
        scaler = StandardScaler().fit(seen.matrix)
        seen, unseen = (
            MultiView.from_matrix(scaler.transform(part.matrix), X.layout)
            for part in (seen, unseen)
        )
    return Data(seen, labels, unseen, y[test])


def measure(model: Any, X: Any, y: np.ndarray) -> float:
    """ROC AUC of two classes, accuracy of several, in percent."""
    scored = hasattr(model, "decision_function")
    scores = model.decision_function(X) if scored else model.predict_proba(X)
    if len(model.classes_) > 2:
        return 100 * float(np.mean(model.classes_[scores.argmax(axis=1)] == y))
    scores = np.nan_to_num(scores if scored else scores[:, 1])  # nan: no label came this far
    return 100 * float(roc_auc_score(y, scores))


def fitted(method: Method, setting: dict, part: Data, labels: np.ndarray, gamma: float) -> Any:
    X = part.train if method.views else part.train.matrix
    known = np.flatnonzero(labels >= 0)
    model = method.make(gamma, len(known), **setting)
    return model.fit(X, labels) if method.unlabeled else model.fit(X[known], labels[known])


def tuned(method: Method, part: Data, gamma: float, seed: int) -> dict:
    """The setting that is best on inner folds of the labeled rows; the first of equals."""
    X = part.train if method.views else part.train.matrix
    known = np.flatnonzero(part.labels >= 0)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    values = np.zeros(len(method.grid))
    for _, held_out in folds.split(known, part.labels[known]):
        labels = part.labels.copy()
        labels[known[held_out]] = -1
        for k, setting in enumerate(method.grid):
            model = fitted(method, setting, part, labels, gamma)
            values[k] += measure(model, X[known[held_out]], part.labels[known[held_out]])
    return method.grid[int(values.argmax())]


def one_split(part: Data, seed: int) -> dict[str, float]:
    """The measure of every method on one split."""
    some = part.train.matrix[:500]
    squares = euclidean_distances(some, squared=True)[np.triu_indices(some.shape[0], 1)]
    gamma = 1.0 / float(np.median(squares[squares > 1e-12]))
    settings = {
        name: tuned(method, part, gamma, seed)
        for name, method in METHODS.items()
        if name != "KeCo, views"
    }
    settings["KeCo, views"] = settings["Pegasos, views"]
    found = {}
    for name, method in METHODS.items():
        model = fitted(method, settings[name], part, part.labels, gamma)
        found[name] = measure(model, part.test if method.views else part.test.matrix, part.y)
    return found


def findings(tables: list[Table]) -> list[str]:
    """Say where KeCo is ahead, by more than one standard error of the paired difference."""
    sides, gains, apart = ([], [], []), {}, []
    for table in tables:
        for side, counts in zip(sides, table.sides(GAP), strict=True):
            side += [f"{table.title} with {count}" for count in counts]
        keco, pegasos, alone, svc = (table.column(m) for m in [*METHODS][:4])
        gains |= {f"{table.title} with {c}": keco[c] - pegasos[c] for c in keco}
        apart += [abs(alone[c] - svc[c]) for c in svc]
    ahead, behind, level = map(listed, sides)
    most = sorted(gains, key=gains.__getitem__, reverse=True)[:3]
    return [
        f"KeCo is ahead of the best of SVC, label spreading and self-training by more than one "
        f"standard error of the difference on {ahead} labels per class.",
        f"It is behind by more than that on {behind}, and level on {level}.",
        "Over Pegasos on the same views, unlabeled rows bring most on "
        + listed(f"{name} ({gains[name]:+.1f})" for name in most)
        + ".",
        f"Pegasos and SVC, the same model, differ by {np.median(apart):.1f} points in the median, "
        f"and by {max(apart):.1f} at most.",
    ]


@benchmark("docs/reproduction.md", SETS, findings)
def labels(wanted: list[str]) -> list[Table]:
    """A row per number of labels, a column per method: mean ± standard error over the splits."""
    tables = []
    for name, (X, y) in loaded(SETS, wanted):
        y = np.unique(y, return_inverse=True)[1]
        table = Table(["labels per class", *METHODS, GAP], title=name)
        for count in (c for c in COUNTS if c <= MOST_LABELS.get(name, c)):
            parts = [split(X, y, count, seed) for seed in range(size(SPLITS[name], 2))]
            runs = [one_split(part, seed) for seed, part in enumerate(parts) if part is not None]
            if not runs:
                continue
            values = {m: np.array([r[m] for r in runs]) for m in METHODS}
            best = max(BASELINES, key=lambda m: values[m].mean())
            cells = [mean_and_error(v).removeprefix("+") for v in values.values()]
            gap = mean_and_error(values["KeCo, views"] - values[best])
            table.add(count, *cells, f"{gap} ({best})")
        tables.append(table)
    return tables
