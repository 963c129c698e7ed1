"""A model that predicts raw rows, and learns labels in the order of the log."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import msgspec

from crossview.errors import InputError, type_of
from crossview.saving.model_files import load, read_info, save
from crossview.saving.pipelines import steps_of
from crossview.serving.log import Label, Labeled, Prediction
from crossview.serving.scores import Score, Served
from crossview.views import MultiView, OneRow

__all__ = ["Answer", "LiveModel", "class_name"]

# a class whose probability was 0 would cost without end
LEAST_PROBABILITY = 1e-15


class Answer(NamedTuple):
    """A prediction, None before there was a class, and probabilities by class, None without."""

    prediction: Any
    probabilities: dict[str, float] | None


def class_name(label: Any) -> str:
    """Return the name of a class in JSON."""
    return label if isinstance(label, str) else msgspec.json.encode(label).decode()


class LiveModel:
    """A model of a stream, and what it was served.

    Parameters
    ----------
    model : learner or Pipeline
        It learns single rows.
    info : dict
        The metadata of its file.

    Attributes
    ----------
    first : LiveModel or None
        The model before the first label, which learns nothing more and is scored beside this one.

    Raises
    ------
    InputError
        The model learns from all rows at once, or from rows of a text file.
    """

    def __init__(self, model: Any, info: Mapping[str, Any]) -> None:
        self.model, self.info = model, {k: v for k, v in info.items() if k != "served"}
        *encoders, (_, self.learner) = steps_of(model)
        self._encoders = [step for _, step in encoders if step not in (None, "passthrough")]
        if not hasattr(self.learner, "learn_one"):
            raise InputError(
                f"holds {type_of(self.learner)}, which learns from all rows at once; serve a "
                "model that learns from a stream, such as that of crossview train --in-order"
            )
        self.learner.check_streams()
        for step in self._encoders:
            if not hasattr(step, "partial_fit_transform_one"):
                raise InputError(
                    f"reads rows by {type_of(step)}, which takes no single rows of names and "
                    "values; train the model on a table"
                )
        known = info.get("served")
        self.served = Served() if known is None else Served.from_json(known)
        self.first: LiveModel | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a model file, of `train` or of a server."""
        try:
            return cls(load(path), read_info(path))
        except InputError as error:
            if error.file is not None:
                raise
            raise InputError(error.message, file=str(path)) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, from which `load` goes on."""
        save(self.model, path, info={**self.info, "served": self.served.to_json()})

    @property
    def is_fitted(self) -> bool:
        """Whether the model has learned a row."""
        return hasattr(self.learner, "layout_")

    @property
    def classes(self) -> list[Any] | None:
        """The classes so far; None of a model of numbers."""
        if not hasattr(self.learner, "decide"):
            return None
        return self.learner.classes_.tolist() if self.is_fitted else []

    # --- predicting ----------------------------------------------------------------------------

    def predict(self, rows: Sequence[Any]) -> list[Answer | InputError]:
        """Return the prediction of each row, or why it has none."""
        if not self.is_fitted:
            return [Answer(None, None) for _ in rows]
        return [self._predict_one(row) for row in rows]

    def _predict_one(self, x: Any) -> Answer | InputError:
        learner = self.learner
        try:
            for step in self._encoders:
                x = step.transform_one(x)
            if not hasattr(learner, "predict_proba_one"):
                return Answer(learner.predict_one(x), None)
            p = learner.predict_proba_one(x)
            threshold = learner.threshold_
            if threshold is None or len(p) != 2:
                decided = learner.predict_one(x)
            else:  # as `decide` does
                first, second = p
                decided = second if p[second] > threshold else first
        except InputError as error:
            return error
        return Answer(decided, {class_name(label): value for label, value in p.items()})

    # --- rows as views --------------------------------------------------------------------------

    @property
    def column_names(self) -> Collection[str] | None:
        """The columns that the model has or has seen; None if it takes all names."""
        if not (self._encoders and self.is_fitted):
            return None
        return frozenset(map(str, self._encoders[0].feature_names_in_))

    def as_views(self, rows: Iterable[Any]) -> MultiView | None:
        """Return rows as the learner reads them; those that it cannot read are left out.

        None without an encoder, where the learner reads names.
        """
        if not (self._encoders and self.is_fitted):
            return None
        found = []
        for x in rows:
            try:
                for step in self._encoders:
                    x = step.transform_one(x)
            except InputError:
                continue
            found.append(x)
        return OneRow.join(found, self.learner.layout_)

    # --- learning ------------------------------------------------------------------------------

    def check_label(self, label: Any, *, new_classes: bool) -> None:
        """Raise an error if a label cannot be learned."""
        self.learner.check_one(label)
        classes = self.classes
        if classes and not new_classes and label not in classes:
            raise InputError(
                f"{label!r:.60} is none of the classes {', '.join(map(class_name, classes))}; "
                "crossview serve --new-classes lets new ones come"
            )

    def learn(self, records: Iterable[Labeled]) -> None:
        """Learn labels in their order.

        One that cannot be learned leaves no trace but in the counts.
        """
        for record in records:
            label = _decoded(record.label.label)
            self._count(record, label)
            try:
                self.model.learn_one(_decoded(record.of.row), label)
            except InputError:
                self.served.refused += 1

    def _count(self, record: Labeled, label: Any) -> None:
        """Score what was predicted, and what the first model predicts."""
        served = self.served
        served.labels = record.label.sequence
        answer = Answer(_decoded(record.of.prediction), _decoded(record.of.probabilities))
        score = self._score(answer, label)
        if score is None:
            return
        first = None
        if self.first is not None:
            (found,) = self.first.predict([_decoded(record.of.row)])
            first = None if isinstance(found, InputError) else self._score(found, label)
        served.add(record.label.time, score, first)

    def _score(self, answer: Answer, label: Any) -> Score | None:
        """Return how an answer turned out; None where there was none."""
        predicted, p = answer
        if predicted is None:
            return None
        if self.classes is None:
            return Score((predicted - float(label)) ** 2, False, 0.0)
        if p is None:
            return Score(0.0, predicted == label, 0.0)
        loss = -math.log(max(p.get(class_name(label), 0.0), LEAST_PROBABILITY))
        return Score(loss, predicted == label, p.get(class_name(predicted), 0.0))

    def warm_up(self) -> None:
        """Predict and learn with a copy, so that what is compiled at the first use is compiled."""
        if not self.is_fitted:
            return
        other = LiveModel(copy.deepcopy(self.model), self.info)
        label = msgspec.json.encode((other.classes or [0.0])[0]).decode()
        answer = Prediction(0, "", 0, "{}", 0, "null", "null")
        other.learn([Labeled(Label(1, 0, 0, label), answer)] * 3)
        other.predict([{}] * 3)


def _decoded(text: str) -> Any:
    return msgspec.json.decode(text)
