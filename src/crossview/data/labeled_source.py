"""Rows with labels from any source, through one interface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.data.labeled import LabeledSource
from crossview.encoding.encode import ViewEncoder
from crossview.encoding.table_columns import RECOGNIZED, check_label
from crossview.encoding.view_columns import view_for, without_ignored
from crossview.encoding.view_reader import ViewReader
from crossview.errors import InputError, argument, check_kind, type_of
from crossview.readers.encodings import warn_of_guess
from crossview.readers.source import Source, open_source, take_rows
from crossview.tables.arrow import release_unused
from crossview.tables.columns import listed, match_names, one_array
from crossview.tables.dates import is_text
from crossview.views import MultiView, check_rows, matching

# bytes of a column of texts whose words are kept
MOST_CODED = 1 << 26
# parameters of an encoder that files of rows with views take
_OF_FILES = ("views", "hash_bits", "scale_views")


def open_labeled(
    source: Any,
    y: Any,
    *,
    encoder: ViewEncoder | None = None,
    groups: Any = None,
    of_model: Any = None,
    **options: Any,
) -> LabeledSource:
    """Open rows with their labels: columns that an encoder makes views of, or views.

    ``y`` holds the labels or names their column (None: a file has them), ``encoder`` has learned
    nothing, and the options are those of `LabeledSource`.  ``groups`` may be the name of a column,
    which is then in no view; None: those of a MultiView.  Rows for the encoder ``of_model`` need
    not have all views.
    """
    check_rows(source, y=y, weight=options.get("weight"), groups=groups)
    if isinstance(source, MultiView) and source.groups is not None:
        if groups is not None:
            raise InputError(f"X has groups; leave {argument('groups')} out")
        groups = source.groups
    encoder = encoder or ViewEncoder()
    views = encoder.views
    rows = open_source(source, views=views, hash_bits=encoder.hash_bits, dialect=encoder.dialect)
    if not rows.has_columns:
        what = "X is a MultiView and" if rows.in_memory else "the file"
        if views is not None and isinstance(source, MultiView | Source):
            raise InputError(f"{what} names its views; leave {argument('views')} at None")
        taken = ("scale_views",) if isinstance(source, MultiView) else _OF_FILES
        for name in given_parameters(encoder):
            if name == "ignore":
                raise InputError(f"{what} has no columns; {argument('ignore')} is for tables")
            if name not in taken:
                raise InputError(
                    f"{what} has columns that are encoded already; leave {argument(name)} out"
                )
        if options.get("time") is not None:
            raise InputError(
                f"{what} has no column {options['time']!r}; {argument('time')} is for tables"
            )
        if isinstance(groups, str):
            raise InputError(
                f"{argument(groups=groups)} names a column, and X has views; give an array"
            )
        if of_model is None:
            rows.check_views()
        else:
            for view in rows.missing_views():
                warn_of_guess(f"view {view!r} is missing in {rows.file}; learned without it")
        for_rows = ("task", "unlabeled", "classes", "weight")
        known = {key: options[key] for key in for_rows if key in options}
        return LabeledSource(rows, y, encoder, groups=groups, **known)
    if y is None:
        raise InputError(f"which column is the label? Name it: {argument(y='COLUMN')}")
    encoder.check_params()
    left_out = match_names(encoder.ignore, rows.column_names)
    own = clone(encoder).set_params(
        views=without_ignored(views, left_out, rows.column_names),
        ignore=(),
        dialect=rows.dialect or None if encoder.dialect is None else encoder.dialect,
        **{kind: getattr(encoder, kind) or () for kind in RECOGNIZED},
    )
    recognize = {"recognize": recognizes(encoder), **options}
    return LabeledSource(rows, y, own, ignored=left_out, groups=groups, **recognize)


def encoder_with_views(encoder: Any, views: Any) -> ViewEncoder:
    """Return a new encoder that has learned nothing, with the views of one of the two."""
    if encoder is not None and not isinstance(encoder, ViewEncoder):
        raise InputError(f"encoder= is {type_of(encoder)}; give a ViewEncoder")
    own = ViewEncoder() if encoder is None else clone(encoder)
    check_kind("a mapping of names or None", views=views if views is not None else own.views)
    if views is not None and own.views is not None:
        raise InputError(f"{argument('views')} and encoder= both name views; leave one of them out")
    return own if views is None else own.set_params(views=views)


def encoder_of_users(encoder: ViewEncoder, use: str, names: Sequence[str]) -> ViewEncoder:
    """Return a new encoder that uses the column of ``per`` in some way.

    encoder: with ``per``; it has learned nothing.
    use {"without", "category", "per"}: in no view, as a category of an ordinary view, or as it is.
    names: the columns that views may have.
    Returns: without ``per``, unless it is as it was.
    """
    own, column = clone(encoder), encoder.per
    if use == "per" or column is None:
        return own
    categorical = [name for name in listed(own.categorical) if name != column]
    own.set_params(per=None, max_users=None, categorical=categorical)
    if use == "without":
        return encoder_without(own, [column])
    own.set_params(categorical=[*categorical, column])
    added = view_for(own.views, names, column)
    return own.set_params(views={**(own.views or {}), **added}) if added else own


def encoder_without(encoder: ViewEncoder, names: Sequence[str]) -> ViewEncoder:
    """Return a new encoder that has learned nothing, with these columns in no view as well."""
    own = clone(encoder)
    return own.set_params(ignore=[*listed(own.ignore), *names]) if names else own


def recognizes(encoder: ViewEncoder) -> list[str]:
    """Return the kinds that the values of strings may say: unless none are wanted."""
    return [kind for kind in RECOGNIZED if (value := getattr(encoder, kind)) is None or len(value)]


def given_parameters(encoder: ViewEncoder) -> dict[str, Any]:
    """Return the parameters of an encoder that are not left at their defaults."""
    default = ViewEncoder().get_params()
    given = encoder.get_params().items()
    changed = {name: value for name, value in given if value != default[name]}
    return {name: value for name, value in changed.items() if value not in ([], ())}


def open_more(
    source: Any, y: Any, encoder: Any, *, time_of_model: str | None = None, **options: Any
) -> LabeledSource:
    """Open rows for a model that has learned others, with its columns, read as it reads them.

    The encoder of the rows has learned nothing; the options are those of `LabeledSource`, of which
    ``time`` is ``time_of_model`` where the rows have that column, and no order of their own.
    """
    check_rows(source, y=y, weight=options.get("weight"))
    reads_columns = isinstance(encoder, ViewEncoder)
    rows = open_source(source, dialect=encoder.dialect if reads_columns else None)
    if not reads_columns:
        if rows.has_columns:
            reads = "has no encoder"
            if isinstance(encoder, ViewReader):
                reads = f"has learned {encoder.format} files"
            raise InputError(f"the model {reads}, so it cannot read tables; give it views")
        if isinstance(encoder, ViewReader) and not rows.in_memory:
            rows = rows.read_as(encoder.reading, beyond="add" if encoder.is_open else "ignore")
        same_scale = ViewEncoder(scale_views=getattr(encoder, "scale_views", encoder is not None))
        return open_labeled(rows, y, encoder=same_scale, of_model=encoder, **options)
    if not rows.has_columns:
        raise InputError("the model reads the columns of a table, and X holds views")
    rows = rows.with_vectors(chain.from_iterable(encoder.view_columns().values()))
    if y is None:  # the first rows had an array
        raise InputError(
            f"the model has no name of a label column; give the labels, or name it: {argument('y')}"
        )
    if isinstance(y, str):
        check_label(rows, y, encoder.view_columns())
    known, views = set(rows.column_names), encoder.view_columns()
    if time_of_model is not None and options.get("time") is None and not rows.ordered:
        if time_of_model in known:
            options["time"] = time_of_model
        else:
            warn_of_guess(
                f"no column {time_of_model!r}, in whose order the model has learned: these rows "
                f"are learned in their own; {argument('time')} names another one"
            )
    absent = encoder.absent_views(rows.column_names)
    if absent:
        rows = rows.with_nulls([*dict.fromkeys(c for view in absent for c in views[view])])
    words, numbers = ([name for name in names if name in known] for names in encoder.read_as())
    same = clone(encoder).set_params(
        views=encoder.specified_views(),
        ignore=(),
        bins=encoder.n_bins_ or None,
        **encoder.declared_columns(whole=True),
    )
    return LabeledSource(
        rows.as_kinds(words, numbers), y, same, recognize=(), of_model=True, **options
    )


def hide_views(X: MultiView, views: Iterable[str]) -> MultiView:
    """Return the same rows with some views missing."""
    present = np.ones((len(X), X.layout.n_views), dtype=bool)
    if X.present is not None:
        present = X.present.copy()
    present[:, [X.layout.index(view) for view in views]] = False
    return MultiView.from_matrix(X.matrix, X.layout, present=present, groups=X.groups)


def code_texts(X: Any, encoder: Any) -> Any:
    """Return a table whose texts are codes of one dictionary, as also some of its rows are.

    So encoders of different rows read each text once (`encode_parts`).  Their words take twenty
    times the memory of the texts, so larger columns stay as they are.
    """
    if not isinstance(encoder, ViewEncoder):
        return X
    names = X.column_names
    for pattern in listed(encoder.text):
        for name in matching(pattern, names, names):
            column = X.column(name)
            if is_text(column.type) and column.nbytes <= MOST_CODED:
                coded = one_array(column).dictionary_encode()
                X = X.set_column(names.index(name), name, coded)
    return X


def unnamed(encoder: Any, **parameters: Any) -> Any:
    """Return an encoder of columns that remembers no names, where nobody asks for them."""
    if not isinstance(encoder, ViewEncoder):
        return encoder
    return clone(encoder).set_params(remember_names=0, **parameters)


def encode_parts(
    X: Any, encoder: Any, parts: list[np.ndarray], before: Any = None
) -> tuple[Any, list[MultiView]]:
    """Return an encoder fitted on the first part of the rows, and the parts as views.

    Without an encoder the rows stay as they are.  ``before`` is one that was fitted on other rows,
    and has read texts.
    """
    taken = [take_rows(X, part) for part in parts]
    if encoder is None:
        return None, taken
    fitted = clone(encoder)
    if before is not None:
        fitted = copy(before).set_params(**fitted.get_params(deep=False))
    first = fitted.fit_transform(taken[0])
    encoded = [first, *(fitted.transform(part) for part in taken[1:])]
    del taken
    if not isinstance(X, MultiView):
        release_unused()
    return fitted, encoded
