"""Parts of the results of all verbs: their metric in words, and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from crossview.catalog.displays import DISPLAYS, NOTEBOOK
from crossview.catalog.metrics import metric_of
from crossview.catalog.names import (
    RARE,
    SYMMETRIC,
    default_metric,
    load_object,
    unknown_name,
)
from crossview.errors import argument, arguments_of
from crossview.labels import Threshold

# with fewer rows of the other classes, none that is predicted as one of them means little
FEWEST_OTHERS, LARGEST_SHARE_OF_OTHERS = 5, 0.1

# classes whose thresholds are named
MOST_SHOWN = 6


def in_digits(value: float, digits: int = 4) -> str:
    """Return a number to some digits, and whole where it has more, as of prices.

    >>> from crossview.scoring.results import in_digits
    >>> in_digits(0.51237), in_digits(88524.6), in_digits(0.51237, 2), in_digits(1e20)
    ('0.5124', '88525', '0.51', '1e+20')
    """
    whole = 10.0**digits <= abs(value) < 1e9
    return f"{value:.0f}" if whole else f"{value:.{digits}g}"


def in_percent(share: float) -> str:
    """Return a share in percent, which is rounded to neither none nor all.

    >>> from crossview.scoring.results import in_percent
    >>> in_percent(0.0), in_percent(0.0004), in_percent(0.834), in_percent(0.9996), in_percent(1.0)
    ('0%', '0.1%', '83%', '99.9%', '100%')
    """
    if share in (0.0, 1.0) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    return f"{min(max(share, 0.001), 0.999):.1%}"


def duration(seconds: float) -> str:
    """Return a time in words: 5 s, 3 min, 2 h."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def metric_words(
    metric: str,
    classes: Sequence[Any],
    positive: Any,
    class_rows: Sequence[int] | None = None,
    averaged: int | None = None,
) -> str:
    """Return a metric with the (sorted) classes that it is about, and their rows, if known.

    ``averaged`` is how many of more than two classes it is the mean over; None: all of them.

    >>> from crossview.scoring.results import metric_words
    >>> metric_words("f1", ["ja", "nein"], "ja", [378, 2622])
    "f1 of 'ja' (378 of 3,000 rows)"
    >>> metric_words("macro_f1", ["AD", "NC"], "NC", [110, 140])
    "macro_f1 of 'AD' and 'NC' (110 and 140 rows)"
    >>> metric_words("roc_auc", ["ja", "nein"], "ja", [378, 2622])
    "roc_auc ('ja': 378 of 3,000 rows)"
    >>> metric_words("f1", ["a", "b", "c"], None)
    'f1 (mean over 3 classes)'
    >>> metric_words("f1", ["a", "b", "c"], None, averaged=2)
    'f1 (mean over 2 of 3 classes)'
    """
    scope = metric_of(metric).scope
    if len(classes) != 2:
        some = "" if averaged in (None, len(classes)) else f"{averaged} of "
        return (
            metric
            if scope == "rows" or not classes
            else f"{metric} (mean over {some}{len(classes)} classes)"
        )
    known = class_rows is not None
    if metric == SYMMETRIC:
        first, second = classes
        counts = (
            f" ({class_rows[0]:,} and {class_rows[1]:,} rows)" if class_rows is not None else ""
        )
        return f"{metric} of {first!r} and {second!r}{counts}"
    rows = ""
    if class_rows is not None:
        rows = f"{class_rows[list(classes).index(positive)]:,} of {sum(class_rows):,} rows"
    if scope == "class":
        return f"{metric} of {positive!r}" + f" ({rows})" * known
    return metric + f" ({positive!r}: {rows})" * known


def positive_note(
    metric: str, classes: Sequence[Any], positive: Any, by: str | None, *, fixed: bool = False
) -> list[str]:
    """Return the line that says which class was taken as the positive one, if that was not said.

    ``by`` is what chose it, as from `choose_positive`; ``fixed`` says that a given threshold is
    about it.

    >>> from crossview.scoring.results import positive_note
    >>> positive_note("f1", ["bought", "left"], "bought", "rarer")
    ["positive class: 'bought', the rarer one; scoring=Scoring(positive='left') takes the other"]
    >>> positive_note("f1", ["no", "yes"], "yes", "name")
    []
    """
    if by not in ("majority", "rarer", "guess"):
        return []
    if by == "majority":
        what = f"{positive!r} has more than 60 % of the rows, so both classes count the same"
        takes = f"{_takes(positive)} takes f1 of it"
        return [f"{what}; {takes}"] if metric == SYMMETRIC else []
    first, second = classes
    takes = f"{_takes(second if positive == first else first)} takes"
    if by == "rarer":
        return [f"positive class: {positive!r}, the rarer one; {takes} the other"]
    if metric_of(metric).scope == "class" or fixed:
        return [f"positive class: {positive!r}, a guess; {takes} the other"]
    if metric == SYMMETRIC:
        return [
            f"no name and no count says whether {first!r} or {second!r} is the positive class, so "
            f"both count the same; {takes} f1 of that one"
        ]
    return []


def _takes(positive: Any) -> str:
    """Return the argument that names the positive class."""
    return arguments_of("scoring=Scoring", argument(positive=str(positive)))


def decision_words(
    positive: Any, threshold: Threshold, threshold_for: str | None, classes: Sequence[Any]
) -> str:
    """Return how classes are told apart: by the best thresholds for a metric, or given ones."""
    best = "" if threshold_for is None else f", the best for {threshold_for}"
    if not isinstance(threshold, list):
        return f"predicts {positive!r} above probability {threshold:.3g}{best}"
    if len(set(threshold)) == 1:
        return f"predicts the most probable class{best}"
    return (
        "predicts the class whose probability is the highest multiple of its threshold: "
        f"{thresholds_in_words(threshold, classes)}{best}"
    )


def thresholds_in_words(threshold: Threshold | None, classes: Sequence[Any]) -> Any:
    """Return the thresholds of more than two classes in words, and other ones as they are.

    >>> from crossview.scoring.results import thresholds_in_words
    >>> thresholds_in_words([0.2, 0.5, 0.3], ["a", "b", "c"])
    "'a' 0.2, 'b' 0.5, 'c' 0.3"
    """
    if not isinstance(threshold, list):
        return threshold
    if len(set(threshold)) == 1:
        return "the same for all classes"
    shown = [f"{one!r} {t:.2g}" for one, t in zip(classes, threshold, strict=True)]
    more = f" and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
    return ", ".join(shown[:MOST_SHOWN]) + more


def memory_note(learner: Any, metric: str = "", without: float | None = None) -> list[str]:
    """Return a line, or none, about a stack whose score counts the last labels.

    ``without`` is the metric of what it says without them.
    """
    if not getattr(learner, "memory", False) or not learner.uses_memory_:
        return []
    of_predict = "and the setting memory=False measures without them"
    if without is not None:
        of_predict = (
            f"and had {metric} {without:.4g} without them on these rows, by a threshold of its "
            "own, while it learned each row after it; evaluate says how it does on later rows, of "
            "which it learns none"
        )
    return [
        f"the last labels predict the next one (by {learner.memory_gain_[0]:.2f} nats a row), and "
        "count in these scores, as if each label came before the next row; predict does not know "
        f"them, {of_predict}"
    ]


def one_class_warning(
    classes: Sequence[Any],
    predicted: Sequence[int] | None,
    class_rows: Sequence[int] | None,
    what: str = "scored rows",
) -> list[str]:
    """Return a warning, or none, about a model that predicts the same class for nearly all rows.

    ``predicted`` counts the rows predicted as each class, and ``class_rows`` those of each class,
    of these rows or of more.  There is one if at least five of the rows are of other classes, and
    at most a tenth as many are predicted as these.

    >>> from crossview.scoring.results import one_class_warning
    >>> one_class_warning(["a", "b", "c"], [0, 600, 0], [300, 2622, 78])[0]
    "all 600 scored rows are predicted as 'b': change the metric or the model"
    """
    counts = np.asarray([] if predicted is None else predicted)
    if not counts.any() or class_rows is None:
        return []
    code, n = int(counts.argmax()), int(counts.sum())
    most, others = int(counts[code]), n * (1.0 - class_rows[code] / sum(class_rows))
    if others < FEWEST_OTHERS or n - most > LARGEST_SHARE_OF_OTHERS * others:
        return []
    rows = f"all {n:,} {what}" if most == n else f"{most:,} of {n:,} {what}"
    two = len(classes) == 2
    what = "the metric or the model"
    if two:
        names = f"{argument('threshold')}, {argument('positive')} or {argument('metric')}"
        what = arguments_of("scoring=Scoring", names)
    return [f"{rows} are predicted as {classes[code]!r}: change {what}"]


class SaysMetric:
    """Base class of results: their metric in words."""

    CHECKED: ClassVar[str] = "scored rows"  # whether all of them are predicted as one class

    metric: Any
    classes: Any
    positive: Any
    positive_by: str | None
    class_rows: Any
    predicted_rows: Any
    threshold: Any
    threshold_for: str | None

    @property
    def averaged(self) -> int | None:
        """Over how many of more than two classes the metric is the mean; None: all."""
        return None

    @property
    def metric_words(self) -> str:
        """The metric, with the class that it is about and its rows."""
        about = self._metric_name, self.classes, self.positive, self.class_rows
        return metric_words(*about, self.averaged)

    @property
    def notes(self) -> list[str]:
        """Lines about the positive class, if nobody named it, and about few rows of a class."""
        fixed = isinstance(self.threshold, float) and self.threshold_for is None
        about = self._metric_name, self.classes, self.positive, self.positive_by
        return [*positive_note(*about, fixed=fixed), *self._of_few_rows()]

    def _of_few_rows(self) -> list[str]:
        rows = self.class_rows
        few = len(self.classes or ()) == 2 and rows and default_metric(None, rows) == RARE
        if not few or self._metric_name != RARE:
            return []
        return [
            f"{min(rows)} rows of {self.classes[int(np.argmin(rows))]!r} are few for f1, so "
            f"{RARE} decides; {argument(scoring='f1')} insists"
        ]

    @property
    def one_class(self) -> list[str]:
        """A line, if all rows are predicted as the same class."""
        return one_class_warning(self.classes, self.predicted_rows, self.class_rows, self.CHECKED)

    @property
    def _metric_name(self) -> str:
        return str(self.metric["name"] if isinstance(self.metric, dict) else self.metric)


class PlotMixin:
    """Mixin of results that can be plotted."""

    # of `plot`
    PICTURE: ClassVar[str]

    def plot(self, kind: str | None = None, *, ax: Any = None) -> Any:
        """Draw a picture of the result; needs matplotlib, of ``crossview[report]``.

        Parameters
        ----------
        kind : str, default=None
            "comparison", "errors", "view differences", "views", "experts", "learning curve",
            "time", "confusion", "precision recall", "roc", "calibration", "threshold" or "targets".
            None: the one that says most.
        ax : matplotlib Axes, default=None
            Where to draw.  None: on a new figure.

        Returns
        -------
        display : Display
            With ``ax_`` and ``figure_``, as those of scikit-learn.

        Raises
        ------
        InputError
            The result has not kept what the picture needs; the message says what would.
        """
        kind = kind or self.PICTURE
        if kind not in DISPLAYS:
            raise unknown_name("picture", kind, DISPLAYS)
        return load_object(DISPLAYS[kind]).of(self).plot(ax)

    def _repr_html_(self) -> str:
        return str(load_object(NOTEBOOK)(self))
