"""A trained model in other languages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from crossview.catalog.names import load_object
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.hashing import bytes_of, hash_strings
from crossview.errors import InputError, argument, check_kind
from crossview.exporting.checking import (
    Difference,
    answers,
    compare_rows,
    difference_of,
    made_up_rows,
    reason_of,
)
from crossview.exporting.plan import Plan, make_plan
from crossview.exporting.pruning import Pruned
from crossview.exporting.pruning import prune as smaller
from crossview.exporting.target import Target, target_of
from crossview.exporting.vectorized.running import category_text
from crossview.portable.encoding import TableEncoder
from crossview.readers.source import input_files
from crossview.saving.files import EXPORTED, check_writable, replacing
from crossview.saving.pipelines import pipeline
from crossview.scoring.models.fitted_model import ClassLabels, FittedModel, NumberLabels
from crossview.tables.arrow import pyarrow


@dataclass(frozen=True)
class Exported:
    """Result of `export`; it prints what was written, how near it is, and what it cannot do.

    Attributes
    ----------
    path : str
        The file.
    target : str
        Its language.
    n_bytes : int
        Its size.
    difference : Difference or None
        Of probabilities, scores or numbers from those of the model, of made-up rows or of
        ``rows``; of a pruned model from those of what was pruned, before it was.  None: what was
        written runs elsewhere only, such as SQL for PostgreSQL.
    pruned : Pruned or None
        What was dropped.
    n_bytes_unpruned : int
        The size without ``prune``.
    """

    path: str
    target: str
    n_bytes: int
    difference: Difference | None
    pruned: Pruned | None = None
    n_bytes_unpruned: int = 0

    def __str__(self) -> str:
        away, pruned = self.difference, self.pruned
        elsewhere = "was not run here; its dialect is another one"
        precise = elsewhere if away is None else _precise(away)
        if pruned is None:
            return f"wrote {self.path}: {_size(self.n_bytes)}; it {precise}"
        before, after = (f"{loss:.4f}" for loss in (pruned.before, pruned.after))
        dropped = [f"{pruned.n_weights:,} of {pruned.n_weights + pruned.n_left:,} weights"]
        if pruned.n_members:
            dropped.insert(0, f"{pruned.n_members} of the models")
        if pruned.levels:
            dropped.append(f"all but {pruned.levels:,} levels of each table")
        return (
            f"dropped {', '.join(dropped)}: loss {before} before, {after} after, on "
            f"{pruned.n_rows:,} rows; before it {precise}\n"
            f"wrote {self.path}: {_size(self.n_bytes)}, and {_size(self.n_bytes_unpruned)} without "
            f"{argument(prune=True)}"
        )


def _precise(away: Difference) -> str:
    """How far the numbers are from those of the model."""
    within = f"{max(away.largest, 1e-16):.0e}"
    if not away.n_larger:
        return f"scores as the model to within {within} on {away.n_rows:,} rows"
    words = f"scores {away.n_larger:,} of {away.n_rows:,} rows by up to {within} otherwise"
    return f"{words}: {away.reason}" if away.reason else words


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1000:,.0f} kB"


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    rows: Any = None,
    label: str | None = None,
    prune: bool = False,
    dialect: str | None = None,
    table: str | None = None,
    keep: Sequence[str] = (),
    categories: Any = None,
) -> Exported:
    """Write a trained model as a program or as data that other programs score rows with.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, what `train` returned, or a fitted model such as ``train(...).fitted``.
    path : path-like
        The file to write.  ``.py``: one file that needs Python 3.9 or newer and nothing else.
        ``.js``: an ES module without dependencies, for browsers and Node.  ``.html``: a page that
        loads nothing, and says while one types what each view, column and word contributes; its
        fields suggest categories of training.  ``.json``: the model alone, which ``load`` of such
        a module reads.  ``.sql``: one query.  ``.onnx``: a graph for runtimes of ONNX.  The last
        two need ``pip install 'crossview[export]'``, and cannot hash text.
    rows : MultiView, data frame, path, glob or query, default=None
        Rows on which the export is compared with the model, at most 2,000 of them, evenly spaced.
        None: made-up rows.  Of SQL in another dialect than DuckDB's they are for ``prune`` alone.
    label : str, default=None
        With ``prune``: the column of the labels.  None: that of the model.
    prune : bool, default=False
        Whether to drop members, columns, document frequencies and digits that do not matter: the
        log loss of ``rows``, or of numbers the squared error, grows by at most 0.1 %.  Give rows
        that the model has not learned.
    dialect : {"duckdb", "postgres", "sqlite", "bigquery", "snowflake"}, default=None
        Of SQL.  None: DuckDB.
    table : str, default=None
        Of SQL: the table that has the columns of the model.  None: ``rows_to_score``.
    keep : sequence of str, default=()
        Of SQL: columns of the table that the query returns too, such as an id.
    categories : data frame, path, glob or query, default=None
        Of SQL and ONNX: rows, such as those of training, whose categories are looked up too.
        None: of each slot the category that training had first.

    Returns
    -------
    exported : Exported
        Size, and the largest difference of probabilities on made-up rows from those of the model,
        which is that of rounding.

    Raises
    ------
    InputError
        A part of the model has no such form, such as a kernel that is a function of Python, or the
        file cannot be written.  Nothing is written then.

    See Also
    --------
    save : A model file, which Crossview reads and goes on learning with.

    Notes
    -----
    A row is a mapping of columns to values, as for ``predict_proba_one`` of a `Pipeline`.  A value
    that cannot be read is an error.  Dates are text; Python takes dates and datetimes, too.
    SQL and ONNX look categories up: one that training has not seen, or whose slot another one had
    first and that is not among ``categories``, is there and has no weight, where the model takes
    the weight of its slot.
    The memory of labels of `OnlineNewtonClassifier` stays as it is at the end of training.

    Examples
    --------
    >>> import runpy, tempfile
    >>> from crossview import datasets, export, train
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table, "diagnosis", model="pa:squared")
    >>> row = table.slice(0, 1).to_pylist()[0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = export(trained, f"{folder}/tumors.py")
    ...     tumors = runpy.run_path(exported.path)
    >>> tumors["predict"](row), exported.difference.largest < 1e-9
    ('malignant', True)
    """
    check_kind("a path", path=path)
    check_kind("a name or None", label=label, dialect=dialect, table=table)
    check_kind("True or False", prune=prune)
    check_kind("a list of names", keep=keep)
    target = target_of(path)
    options = _options(target, {"dialect": dialect, "table": table, "keep": keep})
    if categories is not None and target.answers is None:
        raise InputError(
            f"{argument('categories')} is for .sql and .onnx; {target.name} hashes them itself"
        )
    if prune and rows is None:
        raise InputError(
            f"{argument(prune=True)} needs rows with labels, which say what matters: give "
            f"{argument('rows')}"
        )
    if label is not None and not prune:
        raise InputError(
            f"{argument(label=label)} is for {argument(prune=True)}, which is not there"
        )
    inputs = [model] if isinstance(model, str | os.PathLike) else []
    inputs += [file for one in (rows, categories) if one is not None for file in input_files(one)]
    check_writable(path, EXPORTED, inputs)
    plan, fitted = make_plan(model), FittedModel(model)
    whole = pipeline(fitted.encoder, fitted.learner)
    if categories is not None:
        plan.more_names = categories_of(categories, plan, fitted)
    labels: list[Any] = []
    if prune:
        given, labels = labeled_rows(rows, fitted, label, keep)
    else:
        given = made_up_rows(plan) if rows is None else _read(rows, fitted, keep=keep)[0]
    difference = compare_rows(plan, whole, given)
    if difference.is_wrong:
        raise InputError(
            f"the export would differ from the model by up to {difference.largest:.1g}, which is "
            "an error in crossview: please report it; nothing was written",
            file=os.fspath(path),
        )
    content = unpruned = _content(target, plan, options)
    ran: Difference | None = difference
    if target.answers is not None:
        found = load_object(target.answers)(plan, content, given, **options)
        if found is None and rows is not None and not prune:
            raise InputError(
                f"{argument('rows')} are compared with what the query says of them, and only "
                f"{argument(dialect='duckdb')} is run here; leave them out"
            )
        there = answers(whole, plan, given)
        ran = None if found is None else difference_of(found, there, target.tolerance)
    if ran is not None:
        ran = ran._replace(reason=reason_of(plan, [given[i] for i in ran.larger], target.name))
    pruned = smaller(plan, given, labels) if prune else None
    if pruned is not None:
        content = _content(target, plan, options)
    with replacing(path, EXPORTED) as unfinished:
        unfinished.write_bytes(content)
    n_bytes = len(content), len(unpruned)
    return Exported(os.fspath(path), target.name, n_bytes[0], ran, pruned, n_bytes[1])


def _options(target: Target, given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a target that are given; an error for those of another one."""
    given = {name: value for name, value in given.items() if value not in (None, (), [])}
    for name, value in given.items():
        if name not in target.options:
            raise InputError(f"{name}={value!r} is for .sql; this file is {target.name}")
    return given


def _content(target: Target, plan: Plan, options: dict[str, Any]) -> bytes:
    found: str | bytes = load_object(target.path)(plan, **options)
    return found.encode() if isinstance(found, str) else found


MOST_ROWS = 2000


def labeled_rows(
    source: Any, fitted: FittedModel, label: str | None, keep: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return such rows with a label, and the labels.

    ``label`` is their column; None: that of the model.
    """
    label = label or fitted.info.get("label")
    if label is None:
        raise InputError(
            f"the model does not say which column has the labels; give {argument('label')}"
        )
    rows, labels = _read(source, fitted, label, keep)
    if not rows:
        raise InputError(f"no row has a label in {label!r}, and {argument(prune=True)} needs some")
    return rows, labels


def categories_of(source: Any, plan: Plan, fitted: FittedModel) -> dict[str, dict[str, int]]:
    """Return the names of all categories of a source, by view, and their slots."""
    encoder = plan.encoder
    if not isinstance(encoder, TableEncoder):
        raise InputError(
            f"{argument('categories')} are for models of tables; leave it out", file=fitted.file
        )
    hashed = [(view, one) for view in encoder.views for one in view.hashed]
    found: dict[str, dict[str, int]] = {view.name: {} for view in encoder.views}
    for _, _, batch in fitted.open(source):
        for view, one in hashed:
            name = encoder.columns[one.column].name
            if one.form != "category" or name not in batch.X.schema.names:
                continue
            cells = _plain_cells("categorical", batch.X.column(name).unique())
            values = [text for text in map(category_text, cells) if text is not None]
            hashes = hash_strings(one.prefix, *bytes_of(pyarrow().array(values, "string")))[0]
            slots = (hashes % np.uint64(encoder.n_slots)).tolist()
            pairs = zip(values, slots, strict=True)
            found[view.name] |= {one.prefix + value: slot for value, slot in pairs}
    return found


def _read(
    source: Any, fitted: FittedModel, label: str | None = None, keep: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return at most 2,000 rows of a source, evenly spaced, as mappings, and their labels.

    It must have the columns ``keep``, too.
    """
    if not isinstance(fitted.encoder, ViewEncoder):
        raise InputError(
            f"{argument('rows')} are for models of tables; leave it out", file=fitted.file
        )
    keep = [*([] if label is None else [label]), *keep]
    reader = NumberLabels(label) if fitted.classes is None else ClassLabels(fitted.classes, label)
    known = fitted.encoder.kinds()
    rows: list[dict[str, Any]] = []
    labels: list[Any] = []
    for kept, _, batch in fitted.open(source, keep):
        names = [name for name in batch.X.schema.names if name in known]
        cells = [_plain_cells(known[name], batch.X.column(name)) for name in names]
        own = [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
        if label is not None:
            there, values = reader.read(kept[0])
            own = [own[i] for i in there.tolist()]
            labels += values.tolist()
        rows += own
    some = np.unique(np.linspace(0, len(rows) - 1, min(MOST_ROWS, len(rows))).astype(np.intp))
    chosen = [rows[i] for i in some.tolist()]
    return chosen, [labels[i] for i in some.tolist()] if labels else []


def _plain_cells(kind: str, array: Any) -> list[Any]:
    """Return cells as JSON has them; of a category that is no number, as the encoder names it."""
    types = pyarrow().types
    inside = getattr(array.type, "value_type", array.type)
    is_plain = types.is_integer(inside) or types.is_floating(inside) or types.is_boolean(inside)
    if kind == "categorical" and not is_plain:
        array = array.cast("string")
    cells = array.to_pylist()
    return [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
