"""How far exported models are from the model, how large they are, and what a row takes."""

from __future__ import annotations

import inspect
import json
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.data import sms
from benchmarks.exported_models import SCHEMA, VIEWS, encoder, make_rows, targets
from benchmarks.harness import Table, benchmark, remembered, say, size

PAGE = "docs/benchmarks.md"
N_TRAIN, N_ROWS = size((1000, 10_000), (60, 40))
HASH_BITS = 12
# they compare each row with each support vector: fewer rows
KERNELS = ("pegasos", "keco")


def rows_and_table(name: str) -> tuple[list[dict], pa.Table]:
    """Return the rows to score, as JSON has them and as a table."""
    rows = make_rows(N_ROWS // 10 if name in KERNELS else N_ROWS, 1)
    return rows, pa.Table.from_pylist(rows, schema=SCHEMA)


def numbers_of(name: str, task: str, n_classes: int) -> list[float]:
    """Return differences, bytes of JSON, and microseconds of one learner."""
    from crossview import Pipeline
    from crossview.catalog.learners import find_learner
    from crossview.catalog.names import load_object
    from crossview.exporting.checking import as_program
    from crossview.exporting.plan import make_plan
    from crossview.exporting.programs import json_file, minified, source_of

    warnings.simplefilter("ignore")
    entry = find_learner(name, task, list(VIEWS))
    train = make_rows(N_TRAIN, 0)
    own = encoder(10 if "bins" in entry.refined else None, HASH_BITS)
    X, y = (
        own.fit_transform(pa.Table.from_pylist(train, schema=SCHEMA)),
        targets(train, task, n_classes),
    )
    known = inspect.signature(load_object(entry.path)).parameters
    more = {"n_jobs": 2} if "n_jobs" in known else {}
    fitted = Pipeline([("encoder", own), ("model", entry.make(random_state=0, **more).fit(X, y))])
    rows, table = rows_and_table(name)
    there = fitted.predict_proba(table) if n_classes else fitted.predict(table)[:, None]
    plan = make_plan(fitted)
    program = as_program(plan)
    start = time.perf_counter()
    if n_classes:
        here = np.array([list(program.predict_proba(row).values()) for row in rows])
    else:
        here = np.array([[program.predict(row)] for row in rows])
    python = 1e6 * (time.perf_counter() - start) / len(rows)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "module.mjs").write_text(minified(source_of("runtime.js")), encoding="utf-8")
        job = json.dumps({"description": plan.to_dict(), "rows": rows})
        (folder / "job.json").write_text(job, encoding="utf-8")
        script = Path(__file__).with_suffix(".mjs")
        words = ["node", script, folder / "module.mjs", folder / "job.json"]
        answer = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
    in_node = np.array(answer["found"])
    others = 0
    if n_classes:
        tie = np.sort(there, axis=1)
        clear = tie[:, -1] - tie[:, -2] > 1e-9
        others = int((here.argmax(1) != there.argmax(1))[clear].sum())
        others += int((in_node.argmax(1) != there.argmax(1))[clear].sum())
    unit = np.maximum(1.0, np.abs(there))
    away = [float((np.abs(one - there) / unit).max()) for one in (here, in_node)]
    return [*away, others, len(json_file(plan).encode()), python, answer["microseconds"]]


def jobs() -> Iterable[tuple[str, str, int]]:
    """Return each learner, with two and three classes, or for numbers."""
    from crossview.catalog.learners import ENSEMBLE, LEARNERS

    for entry in LEARNERS:
        if entry.name not in ("view:NAME", ENSEMBLE):
            for n_classes in (2, 3) if entry.task == "classification" else (0,):
                yield entry.name, entry.task, n_classes


def findings(tables: list[Table]) -> list[str]:
    """Return the largest difference, and the fastest and slowest."""
    (table,) = tables
    away = {k: max(table.column(f"difference, {k}").values()) for k in ("Python", "Node")}
    took = {k: list(table.column(f"µs a row, {k}").values()) for k in ("Python", "Node")}
    others = int(sum(table.column("other classes").values()))
    return [
        f"The largest difference is {away['Python']:.0e} in Python and {away['Node']:.0e} in Node, "
        f"and {others} rows have another class.",
        f"A row takes {min(took['Python']):,.0f} to {max(took['Python']):,.0f} µs in Python, and "
        f"{min(took['Node']):,.0f} to {max(took['Node']):,.0f} µs in Node.",
    ]


@benchmark(PAGE, findings=findings)
def exports() -> list[Table]:
    """Every learner of the catalog, exported to Python and JavaScript."""
    table = Table(
        [
            *("learner", "difference, Python", "difference, Node", "other classes"),
            *("JSON, kB", "µs a row, Python", "µs a row, Node"),
        ]
    )
    for name, task, n_classes in jobs():
        key = [name, task, n_classes]
        found: Any = remembered(key, numbers_of, name, task, n_classes)
        say(name, n_classes, found)
        what = f"{n_classes} classes" if n_classes else "numbers"
        table.add(
            f"`{name}`, {what}",
            *(f"{one:.0e}" for one in found[:2]),
            f"{found[2]}",
            *(f"{one:,.0f}" for one in (found[3] / 1000, *found[4:])),
        )
    return [table]


PRUNED = ("arow:diagonal", "logistic-regression", "linear")


def pruned_sizes(name: str) -> list[float]:
    """Return kB before and after --prune, log loss before and after, and of rows of neither."""
    from crossview import ViewEncoder, export, train

    table, labels, _ = sms()
    message = table["words__message"].to_numpy()
    order = np.random.default_rng(0).permutation(len(message))[: size(5574, 300)]
    rows = pa.table({"text": message[order], "label": np.where(labels, "spam", "ham")[order]})
    n, third = len(rows) * 3 // 5, len(rows) // 5
    learned, held_out, new = rows[:n], rows[n : n + third], rows[n + third :]
    trained = train(learned, "label", model=name, encoder=ViewEncoder(text=["text"]))
    with tempfile.TemporaryDirectory() as made:
        file = Path(made) / "m.json"
        found = export(trained, file, rows=held_out, label="label", prune=True)
        from crossview.exporting.runtime import Model

        program: Any = Model(json.loads(file.read_text(encoding="utf-8")))
    p = trained.fitted.predict_proba(new.select(["text"]))
    code = np.searchsorted(["ham", "spam"], new["label"].to_numpy())
    before = -np.log(p[np.arange(len(p)), code]).mean()
    after = -np.mean(
        [
            np.log(program.predict_proba({"text": x})[y])
            for x, y in zip(*new.to_pydict().values(), strict=True)
        ]
    )
    assert found.pruned is not None
    sizes = found.n_bytes_unpruned / 1000, found.n_bytes / 1000
    return [*sizes, found.pruned.before, found.pruned.after, float(before), float(after)]


def findings_of_pruning(tables: list[Table]) -> list[str]:
    """Return which models are below 100 kB, and what new rows say."""
    (table,) = tables
    sizes, before = table.column("JSON, kB"), table.column("log loss of others")
    after = table.column("pruned, kB"), table.column("log loss of others, pruned")
    small = [name for name, kilobytes in after[0].items() if kilobytes < 100]
    worse = max(after[1][name] / before[name] - 1.0 for name in sizes)
    return [
        f"Below 100 kB: {', '.join(small) or 'none'}.",
        f"On rows that had no part in it the log loss changes by at most {100 * worse:+.1f} %.",
    ]


@benchmark(PAGE, findings=findings_of_pruning)
def pruning() -> list[Table]:
    """What --prune leaves of models of SMS."""
    table = Table(
        [
            *("model", "JSON, kB", "pruned, kB", "log loss", "log loss, pruned"),
            *("log loss of others", "log loss of others, pruned"),
        ]
    )
    for name in PRUNED:
        found: Any = remembered(["pruned", name], pruned_sizes, name)
        say(name, found)
        table.add(
            f"`{name}`",
            *(f"{one:,.0f}" for one in found[:2]),
            *(f"{one:.4f}" for one in found[2:]),
        )
    return [table]
