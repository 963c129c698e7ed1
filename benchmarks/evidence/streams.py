"""Streams of numbers, each row predicted and then learned: the default against River's learners."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, root_mean_squared_error

from benchmarks.harness import Picture, Table, benchmark, listed, loaded, size, span
from crossview import OnlineStackingClassifier, OnlineStackingRegressor, ViewEncoder
from crossview.reporting.displays.style import (
    COLORS,
    MUTED,
    WIDTH,
    Display,
    add_key,
    label_ends,
)

ROWS, BATCH = size(50_000, 1500), 1000
# an adaptive random forest learns hundreds of rows a second
FOREST_ROWS = size(10_000, 300)
Stream = tuple[pd.DataFrame, np.ndarray]


def drawn(*generators: Any, rows: int = ROWS) -> Stream:
    """Rows of generators, one after the other, each as many: a change of concept between them."""
    parts = [list(islice(iter(one), rows // len(generators))) for one in generators]
    pairs = [pair for part in parts for pair in part]
    X = pd.DataFrame([x for x, _ in pairs])
    for name in X:  # some generators give numbers as strings or categories
        X[name] = pd.to_numeric(X[name])
    X.columns = [f"x{name}" if isinstance(name, int) else name for name in X.columns]
    return X, np.array([y for _, y in pairs])


def sea() -> Stream:
    """Three numbers, 10 % wrong labels; four concepts."""
    from river.datasets import synth

    return drawn(*(synth.SEA(variant=v, noise=0.1, seed=v) for v in range(4)))


def agrawal() -> Stream:
    """Nine numbers; four functions of them decide, one after the other."""
    from river.datasets import synth

    return drawn(
        *(synth.Agrawal(classification_function=f, perturbation=0.05, seed=f) for f in (0, 3, 6, 1))
    )


def random_rbf() -> Stream:
    """Ten numbers about 50 centers, which move; five classes."""
    from river.datasets import synth

    return drawn(
        synth.RandomRBFDrift(
            *(0, 0),
            n_classes=5,
            n_features=10,
            n_centroids=50,
            change_speed=1e-4,
            n_drift_centroids=50,
        )
    )


def hyperplane() -> Stream:
    """Ten numbers; a hyperplane that turns in five of them."""
    from river.datasets import synth

    return drawn(synth.Hyperplane(seed=0, n_features=10, n_drift_features=5, mag_change=0.001))


def led() -> Stream:
    """24 segments, 17 of them noise; which digit, by segments that trade places."""
    from river.datasets import synth

    return drawn(
        *(
            synth.LEDDrift(
                seed=n, noise_percentage=0.1, irrelevant_features=True, n_drift_features=n
            )
            for n in (0, 3, 5, 7)
        )
    )


def fried() -> Stream:
    """Ten numbers, five of which make up a curved target."""
    from river.datasets import synth

    return drawn(synth.Friedman(seed=0), rows=size(40_768, ROWS))


def friedman_drift() -> Stream:
    """The same, where the part of each number trades places with that of another."""
    from river.datasets import synth

    return drawn(
        synth.FriedmanDrift(
            drift_type="gra",
            position=(ROWS * 2 // 5, ROWS * 7 // 10),
            transition_window=1000,
            seed=0,
        )
    )


def market() -> Stream:
    """Five numbers each half hour; whether a price is above its mean of the last day.

    Of the form of Elec2, the stream of New South Wales, which River does not contain.
    """
    rng = np.random.default_rng(0)
    n = size(45_312, ROWS)
    half_hour, day = np.arange(n) % 48, np.arange(n) // 48 % 7
    shock, level = rng.normal(size=n), np.zeros(n)
    for t in range(1, n):
        level[t] = 0.97 * level[t - 1] + 0.25 * shock[t]
    daily = 1.2 * np.sin(2 * np.pi * (half_hour / 48 - 0.3)) - 0.5 * (day >= 5)
    demand = daily + 0.5 * level + 0.3 * rng.normal(size=n)
    price = np.exp(0.4 * level + 0.24 * demand + 0.08 * rng.normal(size=n))
    last_day = np.array([price[max(t - 48, 0) : max(t, 1)].mean() for t in range(n)])
    elsewhere = price * np.exp(0.3 * rng.normal(size=n))
    transfer = 0.5 * demand + rng.normal(size=n)
    columns = {"day": day, "half_hour": half_hour, "demand": demand, "elsewhere": elsewhere}
    return pd.DataFrame(columns | {"transfer": transfer}), (price > last_day).astype(int)


def real(name: str) -> Callable[[], Stream]:
    """Return a stream that River's package contains."""

    def rows() -> Stream:
        import river.datasets

        return drawn(getattr(river.datasets, name)())

    return rows


CLASSES: dict[str, Callable[[], Stream]] = {
    "SEA": sea,
    "Agrawal": agrawal,
    "random RBF": random_rbf,
    "hyperplane": hyperplane,
    "LED": led,
    "market": market,
    "bananas": real("Bananas"),
    "phishing": real("Phishing"),
    "segment": real("ImageSegments"),
}
NUMBERS: dict[str, Callable[[], Stream]] = {"fried": fried, "Friedman, drift": friedman_drift}


# --- one pass --------------------------------------------------------------------------------


def by_stack(
    X: pd.DataFrame, y: np.ndarray, *, numbers: bool, memory: bool = True, **settings: Any
) -> np.ndarray:
    """What the default says of each row before it learns it; the encoder learns as it goes."""
    options = {} if numbers else {"classes": np.unique(y), "return_proba": True}
    encoder, model = ViewEncoder(**settings), OnlineStackingRegressor(random_state=0)
    if not numbers:
        model = OnlineStackingClassifier(memory=memory, random_state=0)
    found = []
    for at in range(0, len(y), BATCH):
        rows = encoder.partial_fit_transform(X.iloc[at : at + BATCH])
        found.append(model.score_then_learn(rows, y[at : at + BATCH], **options))
    return np.concatenate([part if numbers else part[1] for part in found])


def by_river(model: Any, X: pd.DataFrame, y: np.ndarray, *, numbers: bool) -> np.ndarray:
    """What a model of River says of each row before it learns it."""
    classes, found = range(0 if numbers else int(y.max()) + 1), []
    for x, target in zip(X.to_dict("records"), y.tolist(), strict=True):
        if numbers:
            found.append(model.predict_one(x) or 0.0)
        else:
            p = model.predict_proba_one(x) or {}
            found.append([p.get(c, 0.0) for c in classes])
        model.learn_one(x, target)
    return np.array(found)


def linear(n_classes: int) -> Any:
    """River's linear model of standardized numbers; 0 classes: a number."""
    from river.linear_model import LinearRegression, LogisticRegression, SoftmaxRegression
    from river.preprocessing import StandardScaler, TargetStandardScaler

    if n_classes == 0:
        return StandardScaler() | TargetStandardScaler(regressor=LinearRegression())
    return StandardScaler() | (LogisticRegression() if n_classes == 2 else SoftmaxRegression())


def forest(n_classes: int) -> Any:
    """River's adaptive random forest of ten trees."""
    from river.forest import ARFClassifier, ARFRegressor

    return (ARFRegressor if n_classes == 0 else ARFClassifier)(n_models=10, seed=0)


def measured(found: np.ndarray, y: np.ndarray, *, numbers: bool) -> tuple[float, ...]:
    """RMSE, or accuracy and log loss."""
    if numbers:
        return (float(root_mean_squared_error(y, found)),)
    p = np.maximum(found, 1e-6)
    p /= p.sum(axis=1, keepdims=True)
    return float(np.mean(p.argmax(axis=1) == y)), log_loss(y, p, labels=np.arange(p.shape[1]))


# --- the table -------------------------------------------------------------------------------

LINEAR, FOREST = "River, linear", "River, forest (first rows)"
OURS, OURS_FIRST, PLAIN = "Crossview", "Crossview (first rows)", "Crossview, bins=None"
FORGETFUL = "Crossview, memory=False"
FOREST_ALONE = "River, forest"
RMSE = "RMSE"
RATE = "rows/s: Crossview, River's linear, its forest"


def findings(tables: list[Table]) -> list[str]:
    """Say where the default is not first."""
    lines = []
    for table in tables:
        higher, behind = table.title != RMSE, []
        for peer, own in ((LINEAR, OURS), (FOREST, OURS_FIRST)):
            ours = table.column(own)
            for name, value in table.column(peer).items():
                if (value > ours[name]) == higher:
                    behind.append(f"{peer} on {name} ({value:g}, {ours[name]:g})")
        first = "accuracy" if higher else "RMSE"
        lines.append(f"Ahead of Crossview in {first}: {listed(behind)}.")
    rates = [value for table in tables for value in table.column(RATE).values()]
    lines.append(f"Crossview encodes, predicts and learns {span(rates, ',.0f')} rows a second.")
    return lines


def cells(name: str, X: pd.DataFrame, y: np.ndarray, *, numbers: bool) -> Iterator[str]:
    """Yield the cells of a stream."""
    n_classes = 0 if numbers else int(y.max()) + 1
    few = slice(min(len(y), FOREST_ROWS))
    runs: dict[str, Callable[[], np.ndarray]] = {
        LINEAR: lambda: by_river(linear(n_classes), X, y, numbers=numbers),
        PLAIN: lambda: by_stack(X, y, numbers=numbers, bins=None),
        FORGETFUL: lambda: by_stack(X, y, numbers=numbers, memory=False),
        OURS: lambda: by_stack(X, y, numbers=numbers),
        FOREST: lambda: by_river(forest(n_classes), X[few], y[few], numbers=numbers),
    }
    by_stack(X[:BATCH], y[:BATCH], numbers=numbers)  # loads the code
    shown, rates = {}, {}
    if numbers:  # which no memory is of
        del runs[FORGETFUL]
    for label, run in runs.items():
        start = time.process_time()
        found = run()
        rates[label] = len(found) / (time.process_time() - start)
        said = measured(found, y[: len(found)], numbers=numbers)
        shown[label] = " / ".join(f"{value:.3f}" for value in said)
        if label == OURS:
            said = measured(found[few], y[few], numbers=numbers)
            shown[OURS_FIRST] = " / ".join(f"{value:.3f}" for value in said)
    yield name
    yield f"{len(y):,}"
    own = (PLAIN, *((FORGETFUL,) if not numbers else ()), OURS)
    yield from (shown[label] for label in (LINEAR, *own, FOREST, OURS_FIRST))
    yield ", ".join(f"{rates[label]:,.0f}" for label in (OURS, LINEAR, FOREST))


@benchmark("docs/guide/streams.md", [*CLASSES, *NUMBERS], findings)
def streams(wanted: list[str]) -> list[Table]:
    """Accuracy and log loss of a row per stream; then RMSE."""
    tables = []
    for streams, title in ((CLASSES, "Accuracy / log loss"), (NUMBERS, RMSE)):
        own = [PLAIN, *([FORGETFUL] if streams is CLASSES else []), OURS]
        columns = ["stream", "rows", LINEAR, *own, FOREST, OURS_FIRST, RATE]
        table = Table(columns, title=title)
        for name, (X, y) in loaded(streams, wanted):
            numbers = streams is NUMBERS
            y = y if numbers else np.unique(y, return_inverse=True)[1]
            table.add(*cells(name, X, y, numbers=numbers))
        tables.append(table)
    return tables


# --- accuracy over time ------------------------------------------------------------------------


class AccuracyDisplay(Display):
    """The accuracy of each `BATCH` rows, of some models, and where the stream changes."""

    size = (WIDTH, 3.3)

    def __init__(self, name: str, right: dict[str, np.ndarray], changes: list[int]) -> None:
        self.changes = changes
        self.curves = {
            model: [float(part.mean()) for part in np.array_split(own, max(1, len(own) // BATCH))]
            for model, own in right.items()
        }
        ours, others = self.curves[OURS], [v for k, v in self.curves.items() if k != OURS]
        ahead = sum(value > max(rest) for value, *rest in zip(ours, *others, strict=True))
        self.title = f"{name}: {OURS} is ahead in {ahead} of {len(ours)} windows of {BATCH:,} rows"
        ends = ", ".join(f"{model} {np.mean(own):.3f}" for model, own in right.items())
        at = listed(f"{row:,}" for row in changes)
        self.alt = f"Accuracy over time; the stream changes at rows {at}. Of all rows: {ends}."

    def _draw(self, ax: Any) -> None:
        for row in self.changes:
            ax.axvline(row, color=MUTED, linewidth=1.0, linestyle=":")
        for (_, values), color in zip(self.curves.items(), COLORS, strict=False):
            rows = BATCH * (np.arange(len(values)) + 0.5)
            ax.plot(rows, values, color=color)
        last = [values[-1] for values in self.curves.values()]
        ax.grid(axis="y")
        ax.set_xlabel("rows")
        ax.set_ylabel("accuracy")
        label_ends(ax, [*self.curves], [rows[-1]] * len(last), last, [*COLORS[: len(last)]])
        add_key(ax, "dotted: the stream changes")


@benchmark("docs/guide/streams.md")
def accuracy_over_time() -> Iterator[Picture]:
    """Accuracy by windows where a stream changes at once."""
    for name in ("SEA", "Agrawal")[: size(None, 1)]:
        X, y = CLASSES[name]()
        found = {
            OURS: by_stack(X, y, numbers=False),
            LINEAR: by_river(linear(2), X, y, numbers=False),
            FOREST_ALONE: by_river(forest(2), X, y, numbers=False),
        }
        right = {model: p.argmax(axis=1) == y for model, p in found.items()}
        file = f"accuracy-over-time-{name.lower()}"
        yield Picture(file, AccuracyDisplay(name, right, [len(y) * i // 4 for i in (1, 2, 3)]))
