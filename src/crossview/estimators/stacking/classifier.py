"""Online stacking for classification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview._jit import Pass
from crossview.algorithms import calibration
from crossview.algorithms.stacking import label_memory, several_classes, two_classes
from crossview.errors import InputError
from crossview.estimators.base import LearnedState, OnlineClassifier, State
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.second_order import AROWClassifier
from crossview.estimators.stacking.base import ATTRIBUTES, STACK, Stacking
from crossview.estimators.stacking.defaults import default_classifiers
from crossview.estimators.stacking.state import MemoryState
from crossview.labels import Threshold, mean_threshold, read_threshold


@document_parameters(STACK, attributes=ATTRIBUTES)
@with_parameters
class OnlineStackingClassifier(Stacking, OnlineClassifier):
    """Several learners in one pass, weighted by how well they predict: nothing to tune.

    Each expert scores a row before it learns the row, so that its scores are out of sample.  They
    are calibrated in the same pass, and combined in two ways: by a logistic regression on the
    experts' log odds, learned by online Newton steps (*stacking*), and by a weighted mean of their
    probabilities with fixed share (the *mixture*), whose loss is close to that of the best expert,
    also if another one becomes the best.  The combination with the lower log loss on the last
    rows predicts.

    Parameters
    ----------
    experts : list of (str, learner) or (str, learner, str), or None, default=None
        The experts: their names, online classifiers of this package, and for an expert on one view
        the name of the view.  They share the columns and the views of the stack.  None: 8 to 20
        experts made from the views of the data; see the notes.
    memory : bool, default=False
        Whether the last labels and rows count, too, for a stream in the order of time, where each
        label has come before the next row is to be predicted: the share of each class among the
        last labels, with weights that decay by 0, 0.9 and 0.99 a row, and by how much each number
        differs from its mean over the last rows, beside the score of the experts.  Where labels
        come later, `set_delay` says by how much.  They count
        while a Markov chain of the labels predicts the next one better than the frequencies of the
        classes do, by 0.01 nats a row and three standard errors, from row 2,000 on, and where that
        lowered the log loss on the last rows; see ``memory_gain_``.  This is so in
        `score_then_learn`.  `predict` and the like are of rows whose last labels are not known, and
        what they say does not depend on ``memory``, until `follow_stream` says otherwise.  At most
        32 numbers are remembered, and nothing is of more than 20 classes.
    calibration : {"sigmoid", "none"}, default="none"
        Whether to calibrate the combination, too.  The experts always are, and the combination
        minimizes the log loss, so that "none" gives probabilities.

    Attributes
    ----------
    classes_, experts_, mixture_weights_, stacking_weights_, stacking_decides_, weight_history_,
    memory_gain_, uses_memory_, stream_threshold_, layout_, n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        An expert cannot learn from a stream, or has the name of no view.

    See Also
    --------
    OnlineStackingRegressor : For numeric targets.

    Notes
    -----
    The default experts learn from all views, by rules that differ in what they assume: PA
    (C = 0.01 and 1; of several views also 10, and with a disagreement penalty), AROW with a
    diagonal covariance (r = 0.1, 10 and 100), and linear, factorization and multi-view machines at
    two learning rates each.  Factorization machines with ``forgetting`` and online Newton steps on
    the columns of numbers follow a stream that changes; the latter are left out where each view has
    more than 1,200 columns.  With two to eight views, there is one AROW for each view alone.  More
    than four of these thin the set; no machine with factors learns more than 20 classes, and no
    Newton steps.

    `decision_function` returns log odds for two classes and log probabilities for more.  The
    cost of a row is that of the experts, and O(K²) for K experts.  `fit` makes one pass; more
    would teach the weights on rows that the experts have learned.  A row of weight 0 changes
    nothing; the sample weight of a row goes to the experts, and multiplies its log loss.  An
    expert whose only view is missing in a row predicts what the mixture of the others predicts.

    `score_then_learn` and `decision_function` differ on the first rows.  The calibration of an
    expert divides its score by the root mean square of its scores so far.  In the pass that
    includes the score of the row itself, which needs no label, so that a first score far above
    those before it counts no more than √n after n rows.  `decision_function` scores many rows by
    the same state, which has none of them.  The difference falls as 1/n.

    References
    ----------
    E. Hazan, A. Agarwal, S. Kale, "Logarithmic Regret Algorithms for Online Convex Optimization",
    Machine Learning 69 (2007).  M. Herbster, M. K. Warmuth, "Tracking the Best Expert", Machine
    Learning 32 (1998).  D. Benkeser, C. Ju, S. Lendle, M. van der Laan, "Online
    Cross-Validation-Based Ensemble Learning", Statistics in Medicine 37 (2018).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import OnlineStackingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OnlineStackingClassifier([10, 10, 10], random_state=0).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.95, len(model.experts_)
    (True, 19)
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """

    scores_are_log_odds = True
    _nested_kind, _of_view, _calibrates = OnlineClassifier, AROWClassifier, True

    _parameter_constraints: ClassVar[dict] = {"memory": ["boolean"]}

    stream_threshold_ = cast("Threshold | None", None)  # an annotation would make it a parameter
    # of the rows that were learned last, in one batch
    _scores_without_memory = cast("np.ndarray | None", None)

    memory: bool = False
    class_weight: Any = None
    calibration: str = "none"

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.memory and self.calibration != "none":
            raise InputError(
                "memory=True with calibration='sigmoid', which would be of scores with the memory "
                "and used for those without; leave it at 'none', which gives probabilities"
            )

    def _memory(self, state: State) -> MemoryState | None:
        if not self.memory:
            return None
        return MemoryState(state, self)

    def set_threshold(
        self,
        threshold: float | Sequence[float] | None,
        *,
        stream_threshold: float | Sequence[float] | None = None,
    ) -> Self:
        """Set the probability of ``classes_[1]`` above which it is predicted, or one per class.

        Parameters
        ----------
        threshold : float, list of float, or None
            With two classes in [0, 1]; a higher value predicts ``classes_[1]`` in fewer rows.  With
            more one per class, above 0 and at most 1: the class is predicted whose probability is
            the highest multiple of its threshold.  None, as after `fit`: the scores decide.
        stream_threshold : float or list of float, default=None
            That of rows which follow the stream, see `follow_stream`: with ``memory`` their
            probabilities are farther from the frequencies of the classes.  None: ``threshold``.

        Returns
        -------
        self : object
            The stack.

        Raises
        ------
        InputError
            A threshold is no probability, or not one per class.
        """
        check_is_fitted(self, "classes_")
        given = threshold if stream_threshold is None else stream_threshold
        of_stream = read_threshold(given, len(self.classes_))
        super().set_threshold(threshold)
        self.stream_threshold_ = of_stream
        return self

    @property
    def threshold_in_use(self) -> Threshold | None:
        """The threshold by which `predict` decides now."""
        return self.stream_threshold_ if self._follows else self.threshold_

    def scores_without_memory(self) -> np.ndarray | None:
        """Return what `decision_function` would have said of the rows learned last.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes), or None
            Of the rows of the last `score_then_learn`, each before it was learned, by a stack that
            does not follow the stream: for what is decided of rows that do not.  None without
            ``memory``.
        """
        return self._scores_without_memory

    def follow_stream(self, follows: bool = True) -> Self:
        """Say whether what is predicted from now on is the next row of the stream.

        Parameters
        ----------
        follows : bool, default=True
            True: all labels before the row have come and were learned, so that with ``memory`` they
            count in `predict`, `predict_proba_one` and the like; of each row of a table, as if it
            were the next one.  False: they do not, as for rows of a table, or when labels come
            late.  It is not saved.

        Returns
        -------
        self : object
            The stack.

        Examples
        --------
        >>> from crossview import OnlineStackingClassifier
        >>> model = OnlineStackingClassifier(memory=True).follow_stream()
        >>> model.learn_one({"x": 1.0}, "up").predict_one({"x": 1.0})
        'up'
        """
        self._follows = bool(follows)
        return self

    @property
    def memory_gain_(self) -> tuple[float, float]:
        """By how many nats a row the last label predicts the next one, and the standard error."""
        return label_memory.gain(self._fitted_memory().gate)

    @property
    def uses_memory_(self) -> bool:
        """Whether the last labels and rows count for the next row."""
        return self._fitted_memory().remembers

    def _fitted_memory(self) -> MemoryState:
        memory = self._memory(self._learned)
        if memory is None:
            raise AttributeError("there is no memory with memory=False")
        return memory

    def _forget(self) -> None:
        super()._forget()
        for name in ("stream_threshold_", "_scores_without_memory"):
            self.__dict__.pop(name, None)

    def _header(self) -> dict[str, Any]:
        return {**super()._header(), "stream_threshold": self.stream_threshold_}

    def _take_header(self, header: Mapping[str, Any]) -> None:
        super()._take_header(header)
        self.set_threshold(header["threshold"], stream_threshold=header["stream_threshold"])

    def _header_schema(self) -> dict[str, Any]:
        return {**super()._header_schema(), "stream_threshold": (None, float, [float])}

    def _merged_header(self, models: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
        header = super()._merged_header(models, shares)
        thresholds: list[Any] = [model.stream_threshold_ for model in models]
        return {**header, "stream_threshold": mean_threshold(thresholds, shares)}

    def _default_experts(self) -> list[tuple[str, Any, str | None]]:
        return default_classifiers(self.layout_, len(self.classes_))

    def _loop(self) -> Pass:
        return two_classes.learn if len(self.classes_) <= 2 else several_classes.learn

    def _n_learned(self) -> int:
        return int(self._state["clock"][0])

    def _in_parts(self, cuts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        delays, said = self._delays, self._said_then
        self._check_batch(cuts[-1])
        for lo, here in super()._in_parts(cuts):
            own = None if delays is None else delays[here]
            then = None if said is None else [said[i] for i in here]
            self.__dict__.update(_delays=own, _said_then=then)
            LearnedState.tell()
            yield lo, here

    def _calibrate(self, found: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        codes = (y > 0).astype(np.int64) if found.shape[2] == 1 else y
        p = np.empty_like(found)
        for k, (scores, missing, state) in enumerate(self._to_calibrate(found)):
            own_weight = weight if missing is None else np.where(missing, 0.0, weight)
            p[:, k] = calibration.calibrate(scores, codes, own_weight, state)
            if missing is not None:
                p[missing, k] = np.nan
        return p

    def _calibrated(self, found: np.ndarray) -> np.ndarray:
        p = np.empty_like(found)
        n_scores = found.shape[2]
        for k, (scores, missing, state) in enumerate(self._to_calibrate(found)):
            p[:, k] = calibration.probabilities(scores, state)[:, -n_scores:]
            if missing is not None:
                p[missing, k] = np.nan
        return p

    def _to_calibrate(
        self, found: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray | None, np.ndarray]]:
        """Yield of each expert its scores, where it has none, and its calibration."""
        for k in range(found.shape[1]):
            scores, missing = found[:, k], None
            if not np.isfinite(scores.sum()):
                missing = ~np.isfinite(scores).all(axis=1)
                scores = np.where(missing[:, None], 0.0, scores)
            yield scores, missing, self._state["calibrations"][k]
