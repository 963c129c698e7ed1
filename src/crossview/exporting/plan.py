"""A trained pipeline as data: how a row becomes columns of views, and how these are scored.

`make_plan` describes what `crossview.train` returns and `crossview.load` reads.  A plan has two
parts, and each writer of a language reads no more than them:

- ``encoder``: from a row, a mapping of columns to values, to the columns of each view.  It is a
  `TableEncoder`, which does what `crossview.ViewEncoder` does, or a `NumberEncoder` for models that
  learned views of numbers; see `crossview.portable.encoding`.
- ``model``: a `Model`, from the columns of views to scores, probabilities and the prediction.  Its
  five kinds of scorers are described in `crossview.portable.scoring`.

``plan.to_dict()`` is both as JSON has them; `crossview.portable.as_json` says how tables are
written.

``plan.names[view][slot]`` are names of slots as training saw them first, such as ``city=Oslo``, for
programs that look categories up and hash nothing; they are not part of ``to_dict``.
``plan.more_names[view][name]`` are slots of further names.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

from crossview.encoding.encode import ViewEncoder
from crossview.encoding.view_reader import ViewReader
from crossview.encoding.view_scaler import ViewScaler
from crossview.errors import InputError, in_file
from crossview.portable.as_json import as_json
from crossview.portable.encoding import Encoder, NumberEncoder
from crossview.portable.scoring import Model
from crossview.saving.model_files import load_steps
from crossview.saving.pipelines import steps_of
from crossview.scoring.models.trained import Trained

# of descriptions; it grows where what is older cannot be read any more
FORMAT = 3


@dataclass
class Plan:
    """A fitted pipeline as data; see the module."""

    encoder: Encoder
    model: Model
    names: dict[str, dict[int, str]] = field(default_factory=dict)
    more_names: dict[str, dict[str, int]] = field(default_factory=dict)

    def categories(self, view: str, prefix: str) -> list[str]:
        """Return the categories of a column that training had, by the prefix of their names."""
        names = self.names.get(view, {}).values()
        return [name[len(prefix) :] for name in names if name.startswith(prefix)]

    def to_dict(self) -> dict[str, Any]:
        """Return encoder and model as JSON has them."""
        encoder = as_json(self.encoder)
        return {"crossview": FORMAT, "encoder": encoder, "model": as_json(self.model)}


def make_plan(model: Any) -> Plan:
    """Describe a trained pipeline or learner.

    model: a model file, what `crossview.train` returned, or a fitted model such as
      ``train(...).fitted``.
    Raises InputError: a step has no portable form; the message names it.

    >>> from crossview import datasets, train
    >>> from crossview.exporting.plan import make_plan
    >>> table = datasets.load("breast-cancer")
    >>> plan = make_plan(train(table, "diagnosis", model="pa:squared"))
    >>> plan.model.learner, plan.model.scorer.kind, plan.encoder.views[0].name
    ('MultiViewPAClassifier', 'sum', 'mean')
    """
    file = os.fspath(model) if isinstance(model, str | os.PathLike) else None
    if file is not None:
        steps = load_steps(file)[0]
    else:
        steps = steps_of(model.fitted if isinstance(model, Trained) else model)
    *encoders, (_, learner) = steps
    if not hasattr(learner, "portable"):
        name = type(learner).__name__
        raise InputError(f"{name} is no fitted learner of this package", file=file)
    with in_file(file):
        described = learner.portable()
        encoder, names = _describe_encoders([step for _, step in encoders], described)
    return Plan(encoder, described, names)


def _in_place(encoder: ViewReader) -> bool:
    """Return whether views are ranges of indices (1:60 or 3:0:30), in order, and not hashed."""
    found = []
    for own in (encoder.views or {}).values():
        ranges = [re.search(r"(\d+):(\d+)$", str(one)) for one in own]
        found.append(sum(int(one[2]) - int(one[1]) + 1 if one else 0 for one in ranges))
    return encoder.format != "vw" and found == list(encoder.layout_.widths)


def _describe_encoders(
    encoders: list[Any], model: Model
) -> tuple[Encoder, dict[str, dict[int, str]]]:
    """Return what comes before the learner, and the names of slots."""
    if len(encoders) == 1 and isinstance(encoders[0], ViewEncoder):
        encoder = encoders[0]
        names = {view: encoder.slot_names(view) for view in model.views}
        return encoder.portable(), names
    factors, scales = [1.0] * len(model.views), [dict[int, float]() for _ in model.views]
    for encoder in encoders:
        if not isinstance(encoder, ViewScaler):
            raise InputError(
                f"{type(encoder).__name__} has no portable form; train on a table, or on views of "
                "numbers"
            )
        if isinstance(encoder, ViewReader) and not _in_place(encoder):
            raise InputError(
                f"features of {encoder.format} files that are hashed have no portable form; train "
                "on a table, or on views that are ranges with a --hash-bits that holds them"
            )
        factors = [a * b for a, b in zip(factors, encoder.factors().tolist(), strict=True)]
        for known, own in zip(scales, encoder.column_factors(), strict=True):
            known |= {column: known.get(column, 1.0) * scale for column, scale in own.items()}
    return NumberEncoder(model.views, model.widths, factors, scales), {}
