"""The result of `compare`."""

from __future__ import annotations

import base64
import math
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.catalog.learner import OF_COMPARE
from crossview.catalog.members import member_in_words
from crossview.catalog.metrics import metric_of
from crossview.catalog.names import TASKS, default_metric
from crossview.comparing.result.ranking import (
    Ablation,
    ComparisonRow,
    LearningCurve,
    LeftOut,
    PersonalGain,
    Ranking,
)
from crossview.comparing.result.verdict import (
    CONSTANT,
    about_left_out,
    short_value,
    unlabeled_benefit,
    verdict,
)
from crossview.data.labeled_source import given_parameters
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError, cannot_import
from crossview.labels import Threshold
from crossview.scoring.diagnostics import Diagnostics
from crossview.scoring.results import PlotMixin
from crossview.scoring.specification import Scoring

# of the JSON form: a file of another one is refused
FORMAT = 8
# what is not in it
OF_MEMORY = ("encoders", "given")
# the keys of an array in it
ARRAY = {"dtype", "shape", "base64"}


class _Recipe(NamedTuple):
    """What trains a row: members in words, scoring as of `Scoring`; bins of 0 are none."""

    members: list[str]
    settings: dict[str, Any]
    in_order: bool
    scoring: dict[str, Any]
    bins: int | None
    epochs: int


@dataclass
class Comparison(Ranking, PlotMixin):
    """The result of `compare`: one row per model, the best first.

    Attributes
    ----------
    metric : str
        The metric that ranks the models; with its parameters, such as ``precision_at_10%``.
    positive : label or None
        The class that the metric is about; None with more than two classes, and for numbers.
    classes : list
        All labels; empty where a number is predicted.
    views : dict of str to int
        Names and widths of the views.
    n_rows : int
        Rows in the data.
    n_scored : int
        Rows that were predicted and scored; each has a label.
    mode : {"cross-validation", "progressive"}
        How they were scored.
    test : str
        Which test the p values come from.
    folds : int
        Number of folds that were scored; 0 in progressive mode.
    seed : int
        Seed of folds and shuffling.
    epochs : int or None
        Passes over the training rows that were asked for.
    rows : list of ComparisonRow
        The models, the best first.
    rope : float
        Differences in the metric up to this are none, for practical purposes.
    test_share : float
        Rows of a test fold, by the rows of a fold.
    task : {"classification", "regression"}
        What is predicted.
    unlabeled : int
        Number of unlabeled rows.
    threshold : float, list of float, "tuned" or None
        What was asked for.
    threshold_for : str or None
        The metric for which each model got its own threshold, the best on rows that it did not
        learn: the metric itself, or macro_f1 if it does not depend on a threshold.  None: they got
        none.
    positive_by : {"given", "name", "majority", "rarer", "guess"} or None
        What chose the positive class: ``positive=``, what it is called, its rows, or nothing.
    class_rows : list of int or None
        Number of labeled rows of each class.
    rare_classes : list
        Classes that have too few rows for the folds: they are not compared, and `train` learns
        them.
    unlabeled_benefit_p : float or None
        p of the test of a learner that uses unlabeled rows against the same without them.
    left_out : list of LeftOut
        What the budget did not allow.
    in_order : bool
        Whether the rows of each fold come after those that were learned.
    planned_folds : int
        Number of folds that were asked for.
    seconds : float
        How long it took.
    ablation : list of Ablation
        What the recommended model loses without each view, if that was asked for.
    curve : LearningCurve or None
        The recommended model by the number of rows.
    warnings : list of str
        What to know before all else, a line each: why the folds are in order or by groups where
        nobody asked for it, and columns that tell the label, and may be known only after it.
    tries_bins : bool
        Whether models by folds could choose bins of the numbers.
    tries_scales : bool
        Whether models could choose the scale of a skewed number.
    groups : str or None
        The column whose rows of the same value are never both learned and scored.
    note_lines : list of str
        What to know besides, a line each: fewer folds than were asked for, rows without a group,
        and models of a stream that count the last labels.
    split_lines : list of str
        Those of the warnings that are about the folds.
    fingerprint : str
        Of the labels and the protocol: comparisons with the same have the same folds.
    per : str or None
        The column of users, where their deviations are compared.
    category_views : dict of str to columns
        Views to name, so that this column is in one as a category: none where one has it.
    gains : list of PersonalGain
        What these gain with each learner, the best learner first.
    diagnostics : Diagnostics or None
        What pictures need of the recommended model; None where it was not kept.
    encoders : dict of str to ViewEncoder
        How the columns of a table became views, by `ComparisonRow.user`; none has learned rows.
        Empty where the comparison was read from JSON.
    given : dict of str to value
        Of ``on``, ``time`` and ``weight`` those that were given.  Empty as `encoders`.
    """

    PICTURE: ClassVar[str] = "comparison"
    CHECKED: ClassVar[str] = "rows scored by the recommended model"

    metric: str
    positive: Any
    classes: list[Any]
    views: dict[str, int]
    n_rows: int
    n_scored: int
    mode: str
    test: str
    folds: int
    seed: int
    epochs: int | None
    rows: list[ComparisonRow]
    rope: float
    test_share: float = math.nan
    task: str = "classification"
    threshold: Threshold | str | None = "tuned"
    threshold_for: str | None = None
    positive_by: str | None = None
    class_rows: list[int] | None = None
    rare_classes: list[Any] = field(default_factory=list)
    unlabeled: int = 0
    unlabeled_benefit_p: float | None = None
    left_out: list[LeftOut] = field(default_factory=list)
    in_order: bool = False
    tries_bins: bool = False
    tries_scales: bool = False
    planned_folds: int = 0
    seconds: float = math.nan
    ablation: list[Ablation] = field(default_factory=list)
    curve: LearningCurve | None = None
    warnings: list[str] = field(default_factory=list)
    groups: str | None = None
    note_lines: list[str] = field(default_factory=list)
    split_lines: list[str] = field(default_factory=list)
    fingerprint: str = ""
    per: str | None = None
    category_views: dict[str, Any] = field(default_factory=dict)
    gains: list[PersonalGain] = field(default_factory=list)
    diagnostics: Diagnostics | None = field(default=None, compare=False, repr=False)
    encoders: dict[str, ViewEncoder] = field(default_factory=dict, compare=False, repr=False)
    given: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def train_options(self) -> list[str]:
        """The options of ``crossview train`` that train the recommended row on all data.

        Empty where that is a baseline that `train` does not know.
        """
        return self.train_options_of(self.recommended)

    def train_options_of(self, row: ComparisonRow) -> list[str]:
        """Return the options of ``crossview train`` for any row; see `train_options`."""
        if self.entry(row) is None:
            return []
        recipe = self._recipe(row)
        options = ["--task", self.task] if self.task == "regression" else []
        options += ["--model", row.learner]
        for member in recipe.members:
            options += ["--member", member]
        for name, value in recipe.settings.items():
            options += ["--set", f"{name}={_in_words(value)}"]
        options += ["--in-order"] if recipe.in_order else []
        for name, value in recipe.scoring.items():
            word = "none" if value is None else str(value)
            if name == "threshold" and value is not None:
                word = ",".join(f"{one:g}" for one in np.ravel(value))
            options += [f"--{name}", word]
        options += [] if recipe.bins is None else ["--bins", str(recipe.bins)]
        return [*options, *(["--epochs", str(recipe.epochs)] if recipe.epochs > 1 else [])]

    @property
    def train_arguments(self) -> dict[str, Any]:
        """The arguments of `crossview.train` that train the recommended row on all data.

        ``train(X, y, **answer.train_arguments)`` encodes, orders and weighs the rows as the
        comparison did.  A comparison that was read from JSON does not know these, but for the bins.
        """
        return self.train_arguments_of(self.recommended)

    def train_arguments_of(self, row: ComparisonRow) -> dict[str, Any]:
        """Return the arguments of `crossview.train` for any row; see `train_arguments`.

        Parameters
        ----------
        row : ComparisonRow
            Such as ``answer.row("arow")`` or ``answer.cheapest``.

        Returns
        -------
        arguments : dict of str to value
            All but the rows and their labels.

        Raises
        ------
        InputError
            The row is a model of scikit-learn that `train` does not know.
        """
        if self.entry(row) is None:
            raise InputError(
                f"train makes no {row.model}, which is a model of scikit-learn; "
                "crossview.baselines.training_code writes the Python that fits it, and "
                "train_arguments_of(answer.row(NAME)) is of another row"
            )
        recipe = self._recipe(row)
        members = {"members": recipe.members} if recipe.members else {}
        known = self.encoders.get(row.user)
        encoder = ViewEncoder() if known is None else clone(known)
        if recipe.bins is not None:
            encoder.set_params(bins=recipe.bins or None)
        arguments = {
            "task": self.task,
            "model": row.learner,
            "settings": members | recipe.settings,
            "scoring": Scoring(**recipe.scoring) if recipe.scoring else None,
            "encoder": encoder if given_parameters(encoder) else None,
            "epochs": recipe.epochs,
            # a time is an order
            "in_order": True if recipe.in_order and "time" not in self.given else None,
        }
        defaults = {"task": "classification", "settings": {}, "epochs": 1}
        own = {k: v for k, v in arguments.items() if v is not None and v != defaults.get(k)}
        return own | self.given

    def _recipe(self, row: ComparisonRow) -> _Recipe:
        """Return what trains a row that is in the catalog."""
        entry = self.entry(row)
        assert entry is not None
        members = []
        for member in row.members:
            setting = {k: v for k, v in member.setting.items() if k not in OF_COMPARE}
            members.append(member_in_words(member.model, member.weight, setting, member.epochs))
        settings = {k: v for k, v in row.setting.items() if k not in OF_COMPARE}
        if self.tries_scales and "target_scale" in entry.parameters():
            settings.setdefault("target_scale", "linear")
        if self.mode == "progressive":
            settings |= entry.stream_params
        two, fixed = len(self.classes + self.rare_classes) == 2, isinstance(self.threshold, float)
        guessed = self.positive_by == "guess"
        # train reads the name as well, and needs no guess for a metric of both classes
        fixed = fixed or bool(row.members)
        needed = not guessed or fixed or metric_of(self.metric).scope == "class"
        named = two and needed and self.positive_by not in ("name", "majority")
        # train places the threshold for its metric, too; its default is f1 where a class is named
        default = default_metric("given" if named else self.positive_by, self.class_rows)
        scoring: dict[str, Any] = {}
        blends = bool(row.members) and self.task == "regression"
        if blends:  # by the error that the metric is about
            default = TASKS[self.task][0]
        if entry.trained_for_metric or ((two or blends) and self.metric != default):
            scoring["metric"] = self.metric
        if named:
            scoring["positive"] = self.positive
        if row.class_thresholds:
            differ = len(set(row.class_thresholds)) > 1
            rounded = [float(f"{one:.4g}") for one in self._thresholds_of_train(row)]
            scoring["threshold"] = rounded if differ else None  # its scores are log probabilities
        elif two and row.members and not math.isnan(row.threshold):
            scoring["threshold"] = float(f"{row.threshold:.4g}")
        elif two and self.threshold != "tuned":
            scoring["threshold"] = self.threshold if fixed else None
        bins = [one.get("bins") for one in (row.setting, *(m.setting for m in row.members))]
        known = [one for one in bins if one]
        if not known and self.tries_bins and entry.is_binned(row.setting):  # train would have some
            known = [0]
        return _Recipe(
            members=members,
            settings=settings,
            in_order=self.mode == "progressive" or self.in_order,
            scoring=scoring,
            bins=known[0] if known else None,
            epochs=row.setting.get("epochs", row.epochs),
        )

    def _thresholds_of_train(self, row: ComparisonRow) -> list[float]:
        """Return a threshold for each class that `train` learns; rare ones have the highest one."""
        rare = [max(row.class_thresholds)] * len(self.rare_classes)
        classes = [*self.classes, *self.rare_classes]
        of_class = dict(zip(classes, [*row.class_thresholds, *rare], strict=True))
        return [of_class[one] for one in sorted(classes)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; what is not defined is None."""
        held = replace(self, encoders={}, given={})
        content = asdict(held) | {
            "format": FORMAT,
            "recommended": self.recommended.model,
            "verdict": self.verdict,
            "unlabeled_benefit": self.unlabeled_benefit,
            "train_options": self.train_options,
        }
        for name in OF_MEMORY:
            del content[name]
        return _json(content)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Comparison:
        """Return the comparison that `to_dict` was made from.

        Parameters
        ----------
        content : mapping
            As from JSON.

        Returns
        -------
        comparison : Comparison
            With the same table and verdict.

        Raises
        ------
        InputError
            It is no comparison, or one in the form of another version.
        """
        if not isinstance(content, Mapping) or "rows" not in content:
            raise InputError("holds no comparison; write one with crossview compare --json FILE")
        if content.get("format") != FORMAT:
            raise InputError("holds a comparison of another version of crossview; make it again")
        return _of_json(cls, {"diagnostics": None, **content, **{name: {} for name in OF_MEMORY}})

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame, a row per model, the best first.

        ``to_csv``, ``to_latex`` and ``to_markdown`` of the frame write it into a file or a paper.

        Returns
        -------
        table : pandas.DataFrame
            With the columns "model", "title" (what it is), "recommended"; the metric by its own
            name, and its "std" over the folds, NaN on a stream; "worse", the probability of being
            worse than the best by more than the rope, and "p", adjusted, both NaN for the best;
            "threshold" (of two classes); the other metrics; "rows_per_second", "learned" (share of
            the training rows) and "setting", the parameters that were chosen.

        Raises
        ------
        InputError
            pandas is not installed.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from crossview import compare
        >>> X, y = load_wine(return_X_y=True)
        >>> views = {"acids": slice(0, 6), "color": slice(6, 13)}
        >>> table = compare(X, y, views=views, cv=3, models=["arow", "cw"]).to_pandas()
        >>> table.columns.tolist()[:7]
        ['model', 'title', 'recommended', 'f1', 'std', 'worse', 'p']
        >>> sorted(table["model"])
        ['arow', 'cw']
        """
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise cannot_import("to_pandas", "pandas", error) from None
        others = [name for name in TASKS[self.task][1:] if name != self.metric]
        rows = []
        for row in self.rows:
            worse = math.nan if row.difference is None else row.difference.areas(self.rope).worse
            tested = row.p_adjusted is not None and row.model not in CONSTANT
            rows.append(
                {
                    "model": row.model,
                    "title": row.title,
                    "recommended": row is self.recommended,
                    self.metric: row.value,
                    "std": row.std,
                    "worse": worse,
                    "p": row.p_adjusted if tested else math.nan,
                    **({"threshold": row.threshold} if len(self.classes) == 2 else {}),
                    **{name: getattr(row, name) for name in others},
                    "rows_per_second": row.rows_per_second,
                    "learned": row.learned,
                    "setting": " ".join(f"{k}={_in_words(v)}" for k, v in row.setting.items()),
                }
            )
        return pd.DataFrame(rows)

    @property
    def notes(self) -> list[str]:
        """Lines about the positive class, if nobody named it, and those of ``note_lines``."""
        return [*super().notes, *self.note_lines]

    @property
    def verdict(self) -> list[str]:
        """The result in plain words: sentences, of which the first one names a model."""
        return verdict(self)

    @property
    def how_to_train(self) -> list[str]:
        """A line with the Python that trains the recommended row, or the best that `train` does."""
        row = self.best_trained
        if row is None:
            return []
        if row is self.recommended:
            return [f"train(X, y, **answer.train_arguments) trains {row.model} on all rows"]
        value = f"{self.metric} {short_value(self, row.value)}"
        return [
            f"train(X, y, **answer.train_arguments_of(answer.best_trained)) trains {row.model} "
            f"({value}), the best that is saved as a model file"
        ]

    @property
    def unlabeled_benefit(self) -> str | None:
        """The benefit of unlabeled rows in plain words; None where that is not known."""
        return unlabeled_benefit(self)

    def __str__(self) -> str:
        width = max(len(row.model) for row in self.rows)
        lines = [
            f"{row.model:<{width}}  {short_value(self, row.value)}"
            + (f" ± {short_value(self, row.std)}" if self.folds else "")
            for row in self.rows
        ]
        benefit = [self.unlabeled_benefit] if self.unlabeled_benefit else []
        first = [*([self.metric_words] if self.classes else []), *self.notes, *self.warnings]
        last = [*self.verdict, *benefit, *about_left_out(self), *self.how_to_train]
        return "\n".join([*first, *lines, *last])

    __repr__ = __str__


class ComparisonObserver:
    """Observer of the progress of `compare`; override the methods, which do nothing."""

    def say(self, words: str) -> None:
        """Handle a few words on what is being done."""

    def note(self, words: str) -> None:
        """Handle a line that somebody should read, in the end at the latest."""

    def progress(self, done: float, total: float, words: str) -> None:
        """Handle a finished task: ``done`` of about ``total`` seconds of work of all workers."""

    def partial(self, answer: Comparison) -> None:
        """Handle the table of the folds that are finished, or of the rows of a stream so far."""


def _in_words(value: Any) -> str:
    """Return the value of a parameter as the command line takes it."""
    return str(value) if isinstance(value, bool | str) else f"{value:g}"


def _of_json(kind: Any, value: Any) -> Any:
    """A value of JSON as the type of its field: NaN where there is no number."""
    inner = typing.get_args(kind)
    if kind is float:
        return math.nan if value is None else value
    if is_dataclass(kind):
        make: Any = kind
        of = typing.get_type_hints(kind)
        return make(**{one.name: _of_json(of[one.name], value[one.name]) for one in fields(kind)})
    if isinstance(value, Mapping) and value.keys() == ARRAY:
        flat = np.frombuffer(base64.b64decode(value["base64"]), dtype=value["dtype"])
        return flat.reshape(value["shape"]).copy()
    if value is None or not inner:
        return value
    if typing.get_origin(kind) is list:
        return [_of_json(inner[0], item) for item in value]
    if typing.get_origin(kind) is dict:
        return {key: _of_json(inner[1], item) for key, item in value.items()}
    if typing.get_origin(kind) is tuple:
        return tuple(map(_of_json, inner, value))
    some = [one for one in inner if is_dataclass(one)]
    return _of_json(some[0], value) if some else value


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray):  # long, so that numbers in text would fill the file
        array = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        words = base64.b64encode(array.tobytes()).decode()
        return {"dtype": array.dtype.str, "shape": list(array.shape), "base64": words}
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
