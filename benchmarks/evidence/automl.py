"""The default answer of `compare` beside AutoGluon, on the same rows within the same minute.

AutoGluon has an environment of its own: CROSSVIEW_AUTOGLUON names its Python.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score, log_loss, roc_auc_score

import crossview as cv
from benchmarks.evidence.ensemble import LEARN, SCORE, SETS
from benchmarks.harness import Table, benchmark, crossview, loaded, remembered, run, size

SECONDS, DRAWS = 60, 200
MEASURES = ("AUC", "F1", "log loss")
THEIRS = """
import sys, pandas as pd
from autogluon.tabular import TabularPredictor
folder, seconds, positive = sys.argv[1:]
train, test = (pd.read_parquet(f"{folder}/{name}.parquet") for name in ("train", "test"))
two = {"positive_class": positive} if positive else {}
predictor = TabularPredictor(
    "y", path=f"{folder}/autogluon", verbosity=0, eval_metric="log_loss", **two
)
predictor.fit(train, time_limit=float(seconds), presets="medium_quality", num_cpus=2)
if positive:
    cut = predictor.calibrate_decision_threshold(metric="f1", verbose=False)
    predictor.set_decision_threshold(cut)
found = predictor.predict_proba(test.drop(columns="y"))
found.columns = found.columns.astype(str)
found["prediction"] = predictor.predict(test.drop(columns="y")).astype(str)
found.to_parquet(f"{folder}/theirs.parquet")
"""


def python() -> str:
    """Return the Python that has AutoGluon."""
    found = os.environ.get("CROSSVIEW_AUTOGLUON", sys.executable)
    probe = [found, "-c", "import autogluon.tabular"]
    if subprocess.run(probe, capture_output=True).returncode:
        raise SystemExit("AutoGluon is not installed; CROSSVIEW_AUTOGLUON names a Python with it")
    return found


def table_of(X: Any, y: np.ndarray) -> pd.DataFrame:
    """Return views and labels as columns."""
    if isinstance(X, cv.MultiView):
        matrix = X.matrix.toarray() if hasattr(X.matrix, "toarray") else np.asarray(X.matrix)
        widths = zip(X.layout.names, X.layout.widths, strict=True)
        X = pd.DataFrame(matrix, columns=[f"{view}__{i}" for view, n in widths for i in range(n)])
    return X.reset_index(drop=True).assign(y=np.asarray(y).astype(str))


def positive_of(y: np.ndarray) -> str:
    """Return the rarer of two classes; of several nothing."""
    classes, rows = np.unique(y, return_counts=True)
    return str(classes[rows.argmin()]) if len(classes) == 2 else ""


def ours(folder: Path, positive: str, options: dict[str, Any]) -> pd.DataFrame:
    """Return the probabilities of what `compare` recommends, trained by what it prints."""
    file, model, out = folder / "train.parquet", folder / "model", folder / "ours.parquet"
    encoder = cv.ViewEncoder(**options)
    scoring = cv.Scoring(positive=positive) if positive else None
    answer = cv.compare(
        file, "y", encoder=encoder, scoring=scoring, budget=size(SECONDS, 5.0), n_jobs=-1
    )
    row = next(one for one in (answer.recommended, *answer.rows) if answer.train_options_of(one))
    kinds = [word for kind, names in options.items() for n in names for word in (f"--{kind}", n)]
    trained = [*kinds, *answer.train_options_of(row)]
    run(crossview("train", file, "--label", "y", *trained, "-o", model))
    run(crossview("predict", model, folder / "test.parquet", "-o", out))
    return pd.read_parquet(out)


def scores(y: np.ndarray, positive: str, p: pd.DataFrame) -> dict[str, Any]:
    """Return the measures of all rows, and of rows drawn from them; more is better."""
    classes, predicted = sorted(set(y)), p["prediction"].astype(str).to_numpy()
    p = p[[next(c for c in p.columns if str(c) in (k, f"probability_{k}")) for k in classes]]
    values = np.clip(p.to_numpy(dtype=float), 1e-6, 1.0)
    values /= values.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    samples = [np.arange(len(y)), *(rng.integers(len(y), size=len(y)) for _ in range(DRAWS))]
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    area = {} if positive else {"multi_class": "ovr", "labels": classes}
    f1 = {"pos_label": positive} if positive else {"average": "macro"}
    for rows in samples:
        truth, own = y[rows], values[rows]
        complete = len(set(truth)) == len(classes)
        score = own[:, 1] if positive else own
        found["AUC"].append(100 * roc_auc_score(truth, score, **area) if complete else np.nan)
        found["F1"].append(100 * f1_score(truth, predicted[rows], **f1))
        found["log loss"].append(-log_loss(truth, own, labels=classes))
    return found


def measured(who: str, X: Any, y: np.ndarray, options: dict[str, Any]) -> dict[str, Any]:
    """Return the measures of "ours" or "theirs", of the same rows."""
    order = np.random.default_rng(0).permutation(len(y))
    n = min(max(LEARN), 2 * len(y) // 3)
    table = table_of(X, y).iloc[order]
    positive = positive_of(table["y"].to_numpy()[:n])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table[:n].to_parquet(folder / "train.parquet", index=False)
        table[n : n + SCORE].to_parquet(folder / "test.parquet", index=False)
        truth = table["y"].to_numpy()[n : n + SCORE]
        if who == "ours":
            return scores(truth, positive, ours(folder, positive, options))
        run([python(), "-c", THEIRS, folder, size(SECONDS, 10), positive])
        return scores(truth, positive, pd.read_parquet(folder / "theirs.parquet"))


def findings(tables: list[Table]) -> list[str]:
    """Count wins, ties and losses; a tie is one standard error."""
    if not tables:  # not measured where AutoGluon is absent
        return []
    (table,) = tables
    lines = []
    for name in MEASURES:
        wins, losses, ties = map(len, table.sides(name))
        lines.append(f"{name}: {wins} wins, {ties} ties, {losses} losses.")
    return lines


@benchmark("docs/reproduction.md", SETS, findings)
def automl(wanted: list[str]) -> list[Table]:
    """Differences to AutoGluon by set, above 0 where ours is better."""
    table = Table(["set", *MEASURES])
    python()
    for name, (X, y, options) in loaded(SETS, wanted):
        found = {
            who: remembered((name, who), measured, who, X, np.asarray(y), options)
            for who in ("ours", "theirs")
        }
        cells = []
        for measure in MEASURES:
            gap = np.subtract(found["ours"][measure], found["theirs"][measure])
            digits = 3 if measure == "log loss" else 1
            cells.append(f"{gap[0]:+.{digits}f} ± {np.nanstd(gap[1:]):.{digits}f}")
        table.add(name, *cells)
    return [table]
