"""A model that predicts raw rows, and learns labels in the order of the log."""

from __future__ import annotations

import copy
import math
import os
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np

from crossview.data.row_columns import MAX_ABS_TARGET
from crossview.data.row_sketch import RowSketch
from crossview.encoding.encode import ViewEncoder
from crossview.errors import GuessWarning, InputError, argument, in_file, type_of
from crossview.estimators.targets import scale_of_skewed
from crossview.labels import decide
from crossview.saving.model_files import load, read_info, save
from crossview.saving.pipelines import steps_of
from crossview.saving.schema import check_header
from crossview.scoring.drift import without_scores
from crossview.scoring.models.weights import ColumnNames
from crossview.server_log.log import FIRST_NAME, Event, Label, Labeled, Prediction
from crossview.serving.beginning import FEWEST_LABELS, Beginning, FirstRows
from crossview.serving.challengers import Challenger, Compared
from crossview.serving.endpoints.requests import Contribution, Explanation
from crossview.serving.scores import Score, Served
from crossview.views import MultiView, OneRow

# a class whose probability was 0 would cost without end
LEAST_PROBABILITY = 1e-15
# what a file has of serving, beside what `train` writes, and what changes with each row
OWN = ("served", "compared", "learned", "frozen", "row_sketch")
# columns of an explanation
MOST_EXPLAINED = 20
# rows that are encoded and learned as one table: as many, at most, and so many that it is faster
MOST_TOGETHER, FEWEST_TOGETHER = 256, 12


class Answer(NamedTuple):
    """A prediction, None before there was a class, and probabilities by class, None without.

    ``experts`` is what those of stacks say, by `LiveModel.number`.
    """

    prediction: Any
    probabilities: dict[str, float] | None
    experts: Mapping[int, bytes] = MappingProxyType({})


class Example(NamedTuple):
    """A row with its label.

    number: that of the label in the log.
    seen: how many labels of the log were learned when the row was predicted.
    experts: what the experts of stacks said of it then, by `LiveModel.number`; None if it came with
      its label.
    """

    row: Any
    label: Any
    number: int
    seen: int
    experts: Mapping[int, bytes] | None = MappingProxyType({})


@lru_cache(maxsize=4096, typed=True)
def class_name(label: Any) -> str:
    """Return the name of a class in JSON."""
    return label if isinstance(label, str) else msgspec.json.encode(label).decode()


def as_sent(label: Any) -> str:
    """Return a label as an error names it to the one who sent JSON."""
    return class_name(label) if isinstance(label, bool) else f"{label!r:.60}"


class LiveModel:
    """A model of a stream, or a frozen one of any kind, and what it was served.

    model: it learns single rows, or is frozen: then it learns nothing.
    info: the metadata of its file.
    beginning: of a model that began with nothing, what makes columns of its first rows.
    first: the model before the first label, which learns nothing more and is scored beside this
      one.
    hashes_rows: whether rows are logged as slots and numbers, by the encoder as it was at first,
      which then learns nothing more.
    refusal: why the last label that was refused could not be learned.
    in_snapshot: labels of the log that the file has learned from which this model was restored.
    sketch: of the rows that it has learned, but the last ones; None if they are not known.
    challengers: models that learn the same labels and are compared with this one.
    name: what this model is called among them.
    number: that of the event by which it has joined them; 0 for the model that was served first.
    apply: gets an event of the log that happens now.
    model_at: returns this model as it was when so many labels were learned.  Without it labels are
      learned one by one, as a batch may fail when some of its rows are learned.
    Raises `InputError`: the model learns from all rows at once and is not frozen, or reads rows of
    a text file.
    """

    def __init__(
        self,
        model: Any,
        info: Mapping[str, Any],
        beginning: Beginning | None = None,
        *,
        frozen: bool = False,
    ) -> None:
        self.model, self.info = model, {k: v for k, v in info.items() if k not in OWN}
        self.sketch = RowSketch.of_info(info)
        self._not_noted = list[Any]()  # rows that were learned, and are not in the sketch yet
        # the labels of the log after which the model was as a prediction may have seen it; at most
        # as many as a stack remembers; None: it is frozen
        self._learned: list[int] | None = None if frozen else [0]
        self._find_steps()
        if not frozen:
            self._check_streams()
        for step in self._encoders:
            if not hasattr(step, "partial_fit_transform_one"):
                raise InputError(
                    f"reads rows by {type_of(step)}, which takes no single rows of names and "
                    "values; train the model on a table"
                )
        self.served, self.in_snapshot = Served(), 0
        self.first: LiveModel | None = None
        self.refusal: str | None = None
        self.hashes_rows = False
        self.model_at: Callable[[int], LiveModel] | None = None
        self.name, self.number, self.challengers = FIRST_NAME, 0, list[Challenger]()
        self.apply: Callable[[Event], None] | None = None
        self.beginning, self._held = beginning, list[Example]()

    def _check_streams(self) -> None:
        """Raise an error if the model cannot learn from a stream."""
        advice = (
            "serve it with crossview serve --frozen, or compare it with --frozen-challenger "
            "(frozen=1 of POST /challenger): it then learns nothing"
        )
        if not hasattr(self.learner, "learn_one"):
            raise InputError(
                f"holds {type_of(self.learner)}, which learns from all rows at once; {advice}"
            )
        try:
            self.learner.check_streams()
        except InputError as error:
            raise InputError(f"{error.message}; or {advice}") from None

    @property
    def is_frozen(self) -> bool:
        """Whether the model learns nothing."""
        return self._learned is None

    @property
    def can_learn(self) -> bool:
        """Whether the model learns from a stream, where it is not frozen."""
        try:
            self._check_streams()
        except InputError:
            return False
        return True

    def _find_steps(self) -> None:
        *encoders, (_, self.learner) = steps_of(self.model)
        self._heeds_delays = self._learned is not None and hasattr(self.learner, "set_delay")
        self._remembers = bool(getattr(self.learner, "memory", False))
        if self._remembers:  # the last labels count for the next row if they are learned
            self.learner.follow_stream(self._learned is not None)
        self._encoders = [step for _, step in encoders if step not in (None, "passthrough")]
        self._has_answer_one = False

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, frozen: bool = False) -> Self:
        """Load a model file, of `train` or of a server, which begins anew."""
        with in_file(path):
            return cls(load(path), read_info(path), frozen=frozen)

    @classmethod
    def restore(cls, path: str | os.PathLike[str]) -> Self:
        """Load a snapshot, which goes on as it was."""
        info = read_info(path)
        with in_file(path):
            frozen = {"frozen": info.get("frozen", False)}
            check_header(frozen, {"frozen": bool}, "serving")
        live = cls.load(path, **frozen)
        with in_file(path):
            live.served = Served.from_json(info.get("served"))
            live.in_snapshot = live.served.labels
            if live._heeds_delays:
                known = {"learned": info.get("learned")}
                check_header(known, {"learned": ([int], None)}, "serving")
                live._learned = known["learned"]
                live._find_steps()
        return live

    def begin(self, labels: int | None) -> None:
        """Learn the log from a label on, or nothing with None.

        What was learned before has nothing to do with rows that were predicted before.
        """
        self._learned = None if labels is None else [labels]
        self._find_steps()

    @classmethod
    def of(cls, first: str | os.PathLike[str] | Beginning, *, frozen: bool = False) -> Self:
        """Return the model of a file, or one that has learned nothing."""
        if isinstance(first, Beginning):
            if frozen:
                raise InputError("frozen=True is about a model that has learned; leave it out")
            return cls(first.make(), first.info, first)
        return cls.load(first, frozen=frozen)

    def save(self, path: str | os.PathLike[str], compared: Mapping[str, Any] | None = None) -> None:
        """Write a model file, from which `load` goes on.

        compared: of a challenger, what it has of the comparison.
        """
        more: dict[str, Any] = {} if compared is None else {"compared": compared}
        self._note_rows()
        if self.sketch is not None:
            more["row_sketch"] = self.sketch.to_json()
        if self._heeds_delays:
            more["learned"] = self._learned
        if self.is_frozen:
            more["frozen"] = True
        save(self.model, path, info={**self.info, "served": self.served.to_json(), **more})

    def check_challenger(self, other: LiveModel) -> None:
        """Raise an error if another model cannot be compared with this one."""
        if self.hashes_rows:
            raise InputError("a log of slots has no names and values that a challenger could read")
        kinds = [
            "numbers" if one.classes is None else f"classes, {type_of(one.classes[0])}"
            for one in (self, other)
            if one.is_fitted
        ]
        if len({*kinds}) > 1:
            raise InputError(f"predicts {kinds[1]}, and the model that is served {kinds[0]}")
        served, own = ([class_name(label) for label in one.classes or ()] for one in (self, other))
        if served and own and not {*served} & {*own}:
            raise InputError(
                f"predicts the classes {', '.join(own):.200}, and the model that is served "
                f"{', '.join(served):.200}"
            )

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

    def find_class(self, name: str) -> Any:
        """Return a class by its name, or "negative" for the one that is not positive.

        None before there are classes.
        """
        classes = self.classes
        if classes is None:
            raise InputError(
                f"{argument(no_label=name)} is about classes, and the model predicts a number"
            )
        if not classes:
            return None
        for one in classes:
            if class_name(one) == name:
                return one
        guessed = self.info.get("positive_by") == "guess"  # of which nobody was told here
        positive = None if guessed else self.info.get("positive")
        others = [one for one in classes if one != positive]
        if name == "negative" and len(classes) == 2 and len(others) == 1:
            return others[0]
        more = "; nothing says which one is positive, so name one" if name == "negative" else ""
        raise InputError(
            f"{argument(no_label=name)} is none of the classes "
            f"{', '.join(map(class_name, classes))}{more}"
        )

    # --- predicting ----------------------------------------------------------------------------

    def predict(self, rows: Sequence[Any]) -> list[Answer | InputError]:
        """Return the prediction of each row, or why it has none."""
        if not self.is_fitted:
            return [Answer(None, None) for _ in rows]
        together = self._predict_together(rows) if len(rows) >= FEWEST_TOGETHER else None
        return [self._predict_one(row) for row in rows] if together is None else together

    def predict_again(self, rows: Sequence[Any]) -> list[Answer | InputError]:
        """Return the same, with bits that do not depend on which rows are predicted together.

        Those of a learner of all rows at once may, as of products of matrices.
        """
        if hasattr(self.learner, "learn_one"):
            return self.predict(rows)
        return [self._predict_one(row) for row in rows]

    def predict_to_learn(self, rows: Sequence[Any]) -> list[Answer | InputError]:
        """Return the same, with what the experts of this model and of challengers say.

        Their labels may come late.
        """
        answers = self.predict(rows)
        others = [one.live for one in self.challengers if one.live._heeds_delays]
        for found in [one.predict(rows) for one in others]:
            for i, (answer, own) in enumerate(zip(answers, found, strict=True)):
                if isinstance(answer, Answer) and isinstance(own, Answer):
                    answers[i] = answer._replace(experts={**answer.experts, **own.experts})
        return answers

    def _predict_together(self, rows: Sequence[Any]) -> list[Answer | InputError] | None:
        """Return the predictions of rows, the same as one by one; None if one cannot be read."""
        learner = self.learner
        try:
            X = self._views_of(rows, learn=False)
            if X is None:
                return None
            if self.classes is None:
                predicted = learner.predict(X)
                return _answers(predicted, said=self._said(len(predicted)))
            scores = learner.decision_function(X)
        except InputError:
            return None
        decided, said = learner.decide(scores), self._said(len(scores))
        if self._find_answer_one() is None:
            return _answers(decided, said=said)
        return _answers(decided, learner.probabilities(scores), learner.classes_, said)

    def _said(self, n: int) -> list[Mapping[int, bytes]]:
        """Return what the experts said of the rows that were predicted last."""
        found = self.learner.expert_predictions() if self._heeds_delays else None
        if found is None:
            return [MappingProxyType({})] * n
        return [{self.number: said.tobytes()} for said in found]

    def _views_of(self, rows: Sequence[Any], *, learn: bool) -> MultiView | None:
        """Return rows as the learner reads them; None where they are encoded one by one."""
        if self.hashes_rows:
            return OneRow.join([self._unhashed(row) for row in rows], self.learner.layout_)
        if len(self._encoders) != 1 or not isinstance(self._encoders[0], ViewEncoder):
            return None
        (encoder,) = self._encoders
        table = encoder.table_of(rows)
        return encoder.partial_fit_transform(table) if learn else encoder.transform(table)

    def hash_rows(self, rows: Sequence[Any]) -> np.ndarray:
        """Return a hash of each row, as in training, that can be read as a row of a table."""
        (encoder,) = self._encoders if len(self._encoders) == 1 else (None,)
        if not isinstance(encoder, ViewEncoder) or self.hashes_rows or not rows:
            return np.empty(0, dtype=np.uint64)
        try:
            return encoder.hash_rows(encoder.table_of(rows))
        except InputError:  # of one of them, or of dates of several types
            each = [self.hash_rows([row]) for row in rows] if len(rows) > 1 else []
            return np.concatenate([np.empty(0, dtype=np.uint64), *each])

    def _encode(self, x: Any) -> Any:
        """Return a row as the learner takes it."""
        if self.hashes_rows:
            return self._unhashed(x)
        for step in self._encoders:
            x = step.transform_one(x)
        return x

    def check_hashes(self) -> None:
        """Raise an error if rows cannot be logged without names and values."""
        if not (self._encoders and self.is_fitted):
            raise InputError(
                f"{argument(hash_rows=True)} needs a model with an encoder that has learned rows; "
                "train one on a table"
            )
        if getattr(self._encoders[0], "max_users", None) is not None:
            raise InputError(
                f"{argument(hash_rows=True)} logs no users, so {argument('max_users')} cannot "
                "drop any"
            )

    def hashed(self, x: Any) -> dict[str, list[Any]]:
        """Return the slots of a row, their numbers, and which views there are."""
        for step in self._encoders:
            x = step.transform_one(x)
        return {"slots": x.columns, "numbers": x.values, "present": x.present}

    def _unhashed(self, row: Any) -> OneRow:
        return OneRow(self.learner.layout_, row["slots"], row["numbers"], row["present"])

    def _predict_one(self, x: Any) -> Answer | InputError:
        try:
            return self._answer(self._encode(x))
        except InputError as error:
            return error

    def _answer(self, x: Any) -> Answer:
        """Return the prediction of an encoded row."""
        answer_one = self._find_answer_one()
        if answer_one is None:
            return Answer(self.learner.predict_one(x), None, *self._said(1))
        decided, p = answer_one(x)
        named = {class_name(label): value for label, value in p.items()}
        return Answer(decided, named, *self._said(1))

    def _find_answer_one(self) -> Callable[[Any], tuple[Any, dict[Any, float]]] | None:
        """Return the method of the learner, if it has one; to look for it takes long."""
        if not self._has_answer_one:
            self._answer_one = getattr(self.learner, "answer_one", None)
            self._has_answer_one = True
        return self._answer_one

    # --- rows as views --------------------------------------------------------------------------

    @property
    def n_unknown_rows(self) -> int:
        """How many rows had names of which the model has no column."""
        return getattr(self._encoders[0], "n_unknown_rows", 0) if self._encoders else 0

    def unknown_names(self, row: Any) -> list[str]:
        """Return the names in a row of which the model has no column, but those left out."""
        names: list[str] = self._encoders[0].unknown_names(row)
        aside = None if self.beginning is None else self.beginning.is_aside
        return [name for name in names if aside is None or not aside(name)]

    def as_views(self, rows: Iterable[Any]) -> MultiView | None:
        """Return rows as the learner reads them; those that it cannot read are left out.

        None without an encoder, where the learner reads names.
        """
        if not (self._encoders and self.is_fitted):
            return None
        found = []
        for x in rows:
            try:
                found.append(self._encode(x))
            except InputError:
                continue
        return OneRow.join(found, self.learner.layout_)

    def explain(self, row: Any) -> Explanation | None:
        """Return what views and columns contribute to the score of a row.

        None before there is a model.

        Raises `InputError`: the row cannot be read, or the learner has no weights of columns.
        """
        if not self.is_fitted:
            return None
        if not self._encoders:
            raise InputError("explain=1 needs a model with an encoder")
        learner = self.learner
        X = self._encode(row).as_views()
        names, views = ColumnNames.of_model(learner, self._encoders[0]), {}
        found = names.add_parts(learner.contributions(X), X.layout)
        listed: list[Contribution] = []
        for v, view in enumerate(X.layout.names):
            start, stop = X.layout.ptr[v], X.layout.ptr[v + 1]
            own = [
                (int(j - start), float(x))
                for j, x in zip(found.indices, found.data, strict=True)
                if start <= j < stop
            ]
            views[view] = sum((x for _, x in own), 0.0)
            texts = names.texts_of_wholes(view, [j for j, _ in own])
            listed += [Contribution(text, x) for text, (_, x) in zip(texts, own, strict=True)]
        listed.sort(key=lambda one: -abs(one.contribution))
        classes = self.classes
        of = None
        if classes is not None:
            of = classes[-1] if len(classes) == 2 else learner.predict_one(self._encode(row))
        return Explanation(of, views, listed[:MOST_EXPLAINED])

    # --- learning ------------------------------------------------------------------------------

    def first_rows(self) -> FirstRows | None:
        """Return the rows that wait for the model to begin; None where it has begun."""
        if self.beginning is None or self.is_fitted:
            return None
        first = FirstRows(self.beginning)
        for one in self._held:
            first.add(one.row)
            first.label = self._held[0].label
        return first

    def check_label(self, label: Any, *, new_classes: bool, first: FirstRows | None = None) -> Any:
        """Return a label as the class that it is, as 1 for 1.0 and true, if it can be learned.

        first: from `first_rows`, with those that came in the same request; it takes the label, too.
        """
        classes = self.classes
        if classes is None and isinstance(label, str | bool):
            raise InputError(
                f"{as_sent(label)} is not a number: give one without quotes, such as 31.5"
            )
        is_large = isinstance(label, int | float) and abs(label) > MAX_ABS_TARGET
        if classes is None and is_large:
            raise InputError(f"{label!r:.60} is too large: give a number up to {MAX_ABS_TARGET:g}")
        if classes is not None and isinstance(label, int) and label.bit_length() > 63:
            raise InputError(f"{label!r:.60} has more than 64 bits: give it in quotes")
        if classes:
            _check_kind(label, classes[0])
        if first is not None:
            _check_kind(label, first.label)
        if not self.is_frozen:
            self.learner.check_one(label)
        if first is not None and first.label is None:
            first.label = label
        if (
            classes
            and len(classes) > 1
            and label not in classes
            and (self.is_frozen or not new_classes)
        ):
            fix = "a frozen model learns no others"
            if not self.is_frozen:
                fix = "crossview serve --new-classes lets new ones come"
            names = ", ".join(map(class_name, classes))
            raise InputError(f"{as_sent(label)} is none of the classes {names}; {fix}")
        return classes[classes.index(label)] if classes and label in classes else label

    def learn(self, records: Iterable[Labeled]) -> None:
        """Learn labels in their order.

        One that cannot be learned leaves no trace but in the counts.  The bits of the model do not
        depend on how many are learned at once.
        """
        records = list(records)
        for lo in range(0, len(records), MOST_TOGETHER):
            some = records[lo : lo + MOST_TOGETHER]
            rows = [_decoded(record.of.row) for record in some]
            labels = [_decoded(record.label.label) for record in some]
            self._count(some, rows, labels)
            new = [  # and not those that were learned already, as they were assumed
                Example(
                    row,
                    label,
                    record.label.sequence,
                    record.of.model,
                    msgspec.json.decode(record.of.experts, type=dict[int, bytes] | None),
                )
                for row, label, record in zip(rows, labels, some, strict=True)
                if record.label.assumed is None or _decoded(record.label.assumed) != label
            ]
            before = some[0].label.sequence - 1
            answers = self.learn_rows(new, before, answered=bool(self.challengers))
            for challenger in self.challengers:
                challenger.meet(new, before, answers)

    def learn_rows(
        self, examples: Sequence[Example], before: int, *, answered: bool
    ) -> list[Answer | None]:
        """Learn rows in their order; return the prediction of each before its label was learned.

        The last labels count for it as they were when the row was predicted.

        before: how many labels of the log were learned before.
        answered: whether predictions are wanted.  There is none of a row that cannot be learned,
          and before the first one.
        """
        if self.is_frozen:
            answers = self.predict_again([one.row for one in examples]) if answered else []
            return [one if isinstance(one, Answer) else None for one in answers]
        found = self._learn_together(examples, before, answered=answered)
        if found is None:
            found = [self._learn_one(example, answered=answered) for example in examples]
        return found

    def _delays(self, examples: Sequence[Example]) -> list[int]:
        """Return how many labels were learned between the prediction of each row and its own."""
        start, delays = self._learned or [], []
        learned = [*start, *(example.number for example in examples)]
        for n, example in enumerate(examples, len(start)):
            at = bisect_right(learned, example.seen, 0, n)
            delay = n - at if at else self.learner.most_delay + 1
            delays.append(0 if example.experts is None else delay)
        return delays

    def _said_of(self, example: Example) -> np.ndarray | None:
        """Return what the experts said of a row when it was predicted, if it is known."""
        said = (example.experts or {}).get(self.number)
        return None if said is None else np.frombuffer(said, dtype=np.float32)

    def note_rows(self) -> None:
        """Note what this model and challengers have learned, before another thread saves them.

        The encoder, which reads the rows, belongs to the thread that predicts.
        """
        for one in (self, *(challenger.live for challenger in self.challengers)):
            one._note_rows()

    def _note_rows(self) -> None:
        """Put rows that were learned into the sketch, by which `evaluate` knows them again.

        Scores of other rows are compared with those of training no more: the model has moved.
        """
        rows, self._not_noted = self._not_noted, []
        if rows and "reference" in self.info:
            self.info = {**self.info, "reference": without_scores(self.info["reference"])}
        hashes = self.hash_rows(rows)
        if len(hashes):
            self.sketch = (self.sketch or RowSketch()).with_rows(hashes)

    def _note_learned(self, examples: Sequence[Example]) -> None:
        self._not_noted += [example.row for example in examples]
        if len(self._not_noted) >= MOST_TOGETHER:
            self._note_rows()
        if self._heeds_delays:
            numbers = [example.number for example in examples]
            self._learned = [*(self._learned or []), *numbers][-1 - self.learner.most_delay :]

    def _learn_together(
        self, examples: Sequence[Example], before: int, *, answered: bool
    ) -> list[Answer | None] | None:
        """Learn rows as one batch, as `learn_rows` does; None if nothing was learned."""
        fewest = 1 if answered else FEWEST_TOGETHER  # one row takes as long as a batch does
        if self.model_at is None or len(examples) < fewest or not self.is_fitted:
            return None
        rows, labels = [one.row for one in examples], [one.label for one in examples]
        try:  # all checks come before a change
            self.learner.check_targets(labels)
            X = self._views_of(rows, learn=True)
        except InputError:
            return None
        if X is None:
            return None
        if self._heeds_delays:
            said = [self._said_of(example) for example in examples]
            self.learner.set_delay(self._delays(examples), said)
        try:
            if answered:
                found = self._learn_and_answer(X, labels)
            else:
                self.learner.partial_fit(X, labels)
                found = [None] * len(rows)
        except InputError:  # all rows but those that are too large to be learned were learned
            self.model, self.model_at = self.model_at(before).model, None
            self._find_steps()
            return None
        self._note_learned(examples)
        return found

    def _learn_and_answer(self, X: MultiView, labels: Sequence[Any]) -> list[Any]:
        """Learn encoded rows; return the prediction of each before its label was learned.

        Probabilities are those of progressive validation, by a calibration that has seen the scale
        of the score and not the label.
        """
        learner = self.learner
        if self.classes is None:
            return _answers(learner.score_then_learn(X, labels))
        if self._find_answer_one() is None:
            return _answers(learner.decide(learner.score_then_learn(X, labels)))
        threshold, classes = learner.threshold_in_use, learner.classes_
        scores, p = learner.score_then_learn(X, labels, return_proba=True)
        return _answers(classes[decide(scores, p, threshold)], p, classes)

    def _learn_one(self, example: Example, *, answered: bool) -> Answer | None:
        """Learn one row; return its prediction before, if that is wanted."""
        if self.beginning is not None and not self.is_fitted:
            self._hold(self.beginning, example)
            return None
        row, label, *_ = example
        answer: Answer | None = None
        (delay,) = self._delays([example]) if self._heeds_delays else [0]
        try:
            # all checks come before a change: a row that cannot be learned leaves no trace
            self.learner.check_one(label)
            x = self._unhashed(row) if self.hashes_rows else row
            for step in () if self.hashes_rows else self._encoders:
                x = step.partial_fit_transform_one(x)
            if self._heeds_delays:
                self.learner.set_delay(delay, [self._said_of(example)])
            known = self.is_fitted and (self.classes is None or label in self.classes)
            if answered and isinstance(x, OneRow) and known:
                answer = self._learn_and_answer(x.as_views(), [label])[0]
            else:
                if answered and self.is_fitted:
                    answer = self._answer_late(x, delay)
                self.learner.learn_one(x, label)
        except InputError as error:
            self._refuse(1, error)
            return None
        self._note_learned([example])
        return answer

    def _answer_late(self, x: Any, delay: int) -> Answer:
        """Return the prediction of an encoded row by labels that had come: all, or none."""
        if not (delay and self._remembers):
            return self._answer(x)
        self.learner.follow_stream(False)
        try:
            return self._answer(x)
        finally:
            self.learner.follow_stream()

    def swap(self, challenger: Challenger) -> None:
        """Change places with a challenger, which is served from now on.

        A frozen one learns from now on, if it can and the model that was served has learned.
        """
        other, thaws = challenger.live, not self.is_frozen
        self.model, other.model = other.model, self.model
        self.info, other.info = other.info, self.info
        self.sketch, other.sketch = other.sketch, self.sketch
        self._not_noted, other._not_noted = other._not_noted, self._not_noted
        self._learned, other._learned = other._learned, self._learned
        self.name, challenger.name = challenger.name, self.name
        self.number, other.number = other.number, self.number
        self._find_steps()
        if self.is_frozen and thaws and self.can_learn:
            self.begin(self.served.labels)
        other._find_steps()
        for one in self.challengers:  # with another model than this one so far
            if one.is_logged:
                one.compared = Compared()

    def _hold(self, beginning: Beginning, example: Example) -> None:
        """Keep the first rows, and learn them once there are enough to tell the columns."""
        first = self.first_rows()
        assert first is not None
        try:
            _check_kind(example.label, first.label)
            first.check(example.row)
        except InputError as error:
            self._refuse(1, error)
        else:
            self._held.append(example)
        if len(self._held) < FEWEST_LABELS:
            return
        held, self._held = self._held, []
        rows, labels = [one.row for one in held], [one.label for one in held]
        if self._heeds_delays:  # none of them was predicted
            self.learner.set_delay()
        more = {"new_classes": True} if hasattr(self.learner, "decide") else {}
        try:
            self.model.partial_fit(beginning.table(rows), labels, **more)
        except InputError as error:
            self._refuse(len(held), error)
            self.model = beginning.make()
            self._find_steps()
        else:
            self._note_learned(held)
            if self.classes is None and beginning.target_scale == "linear":
                _warn_of_skewed(np.array(labels, dtype=np.float64))

    def _refuse(self, n: int, error: InputError) -> None:
        """Note that labels could not be learned, and why."""
        self.served.refused += n
        what = "a label" if n == 1 else f"the first {n} rows"
        self.refusal = f"{what} could not be learned: {error}"

    def _count(
        self, records: Sequence[Labeled], rows: Sequence[Any], labels: Sequence[Any]
    ) -> None:
        """Score what was predicted, and what the first model predicts."""
        served = self.served
        answers = [
            Answer(_decoded(record.of.prediction), _decoded(record.of.probabilities))
            for record in records
        ]
        first: Any = [Answer(None, None)] * len(records)
        if self.first is not None:
            predicted = [t for t, answer in enumerate(answers) if answer.prediction is not None]
            found = self.first.predict_again([rows[t] for t in predicted])
            for t, one in zip(predicted, found, strict=True):
                if not isinstance(one, InputError):
                    first[t] = one
        for record, label, *both in zip(records, labels, answers, first, strict=True):
            served.labels = record.label.sequence
            score, score_of_first = (self.score(one, label) for one in both)
            if score is None:
                continue
            before = None
            if record.label.assumed is not None:
                earlier = _decoded(record.label.assumed)
                before = self.score(both[0], earlier), self.score(both[1], earlier)
            served.add(record.label.time, score, score_of_first, before)

    def score(self, answer: Answer, label: Any) -> Score | None:
        """Return how an answer turned out; None where there was none."""
        predicted, p, _ = answer
        if predicted is None:
            return None
        if self.classes is None:
            error = min(abs(predicted - float(label)), MAX_ABS_TARGET)  # its square is finite
            return Score(error**2, False, 0.0)
        if p is None:
            return Score(0.0, predicted == label, 0.0)
        loss = -math.log(max(p.get(class_name(label), 0.0), LEAST_PROBABILITY))
        return Score(loss, predicted == label, p.get(class_name(predicted), 0.0))

    def warm_up(self) -> None:
        """Predict and learn with a copy, so that what is compiled at the first use is compiled.

        One that has learned nothing learns made-up rows: its own columns are not known yet.
        """
        if self.is_fitted:
            other = LiveModel(copy.deepcopy(self.model), self.info, frozen=self.is_frozen)
            rows, labels = ["{}"], [(other.classes or [0.0])[0]]
        elif self.beginning is not None:
            other = LiveModel.of(Beginning("", self.beginning.task))
            rows, labels = ['{"a__x": 0.5, "b__x": "x"}', '{"a__x": 1.5, "b__x": "y"}'], [0, 1]
        else:
            return
        records = [
            Labeled(
                Label(1, 0, 0, msgspec.json.encode(label).decode()),
                Prediction(0, "", 0, row, 0, "null", "null"),
            )
            for row, label in zip(rows, labels, strict=True)
        ]
        if not self.is_fitted:
            other.learn((records * FEWEST_LABELS)[:FEWEST_LABELS])
        other.model_at = lambda before: other
        for n in (3, FEWEST_TOGETHER):
            other.learn((records * n)[:n])
            other.predict(list(map(_decoded, rows)) * n)
        if other._encoders and not self.hashes_rows:
            with suppress(InputError):  # not all models have weights of columns
                other.explain(_decoded(rows[0]))
            if X := other.as_views(list(map(_decoded, rows))):
                other.learner.view_scores(X)


def _answers(
    predicted: np.ndarray,
    p: np.ndarray | None = None,
    classes: Any = None,
    said: Sequence[Mapping[int, bytes]] | None = None,
) -> list[Any]:
    """Return the answers to rows, with probabilities of classes and what experts said, if known."""
    found = predicted.tolist()
    said = [MappingProxyType({})] * len(found) if said is None else said
    if p is None:
        return [Answer(one, None, own) for one, own in zip(found, said, strict=True)]
    names = [class_name(label) for label in classes.tolist()]
    by_class = [dict(zip(names, own, strict=True)) for own in p.tolist()]
    return list(map(Answer, found, by_class, said))


def _check_kind(label: Any, other: Any) -> None:
    """Raise an error for a label of another kind than those before, of which ``other`` is one."""
    if other is not None and isinstance(label, str) != isinstance(other, str):
        kind = "text in quotes" if isinstance(other, str) else "a number"
        if isinstance(other, bool):
            kind = "true or false, without quotes"
        raise InputError(
            f"{as_sent(label)} is of another kind than the labels before, such as "
            f"{msgspec.json.encode(other).decode():.60}: give {kind}"
        )


def _warn_of_skewed(targets: np.ndarray) -> None:
    if (better := scale_of_skewed(targets)) is not None:
        warnings.warn(
            f"the first {len(targets)} numbers to predict are skewed, as where effects multiply; "
            f"serve --new --target-scale {better} with another folder learns their logarithm, "
            "which may be better",
            GuessWarning,
            stacklevel=2,
        )


def _decoded(text: str) -> Any:
    return msgspec.json.decode(text)
