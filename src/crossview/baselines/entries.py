"""Entries of the baselines, in the form of the catalog, and how a user names another one."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from crossview.catalog.learner import BASELINE, LEARNS_NOTHING, Learner
from crossview.catalog.learners import LEARNERS, find_learner
from crossview.catalog.names import check_is_name, check_task, load_object, unknown_name
from crossview.errors import InputError, type_of

PREFIX = BASELINE

# those of scikit-learn: a second value doubles what takes longest of all models
LEAVES = (31,)

# scikit-learn's words
TASK_TYPES = {"classification": "classifier", "regression": "regressor"}

_MODELS = "crossview.baselines.models"
_MOST_INFORMATIVE = "scikit-learn, on all columns; of more than 250 on the most informative"
_GIVEN = re.compile(r"(?P<module>\w+(?:\.\w+)*):(?P<name>\w+)(?P<call>\(.*\))?", re.DOTALL)


def _entry(
    task: str, name: str, class_name: str, about: str, effort: int, made_of: str = "weights"
) -> Learner:
    return Learner(
        f"{PREFIX}{name}",
        name.replace("-", " "),
        f"{_MODELS}:{class_name}",
        about,
        task=task,
        grid={} if made_of == "weights" else {"max_leaf_nodes": LEAVES},
        streams=False,
        random=False,
        effort=effort,
        made_of=made_of,
        baseline=True,
    )


# the effort is as in the catalog; what always says the same takes none, but is not recommended
_BASELINES = [
    *(entry for entry in LEARNERS if entry.baseline),
    _entry(
        *("classification", "gradient-boosting", "BoostingClassifier", _MOST_INFORMATIVE, 6),
        "boosted trees",
    ),
    _entry(
        *("classification", "majority", "MajorityClassifier", "the most frequent class"),
        LEARNS_NOTHING,
    ),
    _entry(
        *("regression", "gradient-boosting", "BoostingRegressor", _MOST_INFORMATIVE, 6),
        "boosted trees",
    ),
    _entry(
        *("regression", "mean", "MeanRegressor", "the mean of the training rows"), LEARNS_NOTHING
    ),
    _entry(
        *("regression", "median", "MedianRegressor", "the median of the training rows"),
        LEARNS_NOTHING,
    ),
]


def baselines(task: str = "classification") -> list[Learner]:
    """Return the baselines: what somebody would do without Crossview, with scikit-learn alone.

    Parameters
    ----------
    task : {"classification", "regression"}, default="classification"
        What is predicted.

    Returns
    -------
    entries : list of Learner
        Logistic (ridge) regression, late fusion, gradient boosting, and the majority class (the
        mean and the median).  The first two are learners of the catalog, which `train` knows.  The
        others, whose names begin with ``baseline:``, are in a comparison alone.

    Examples
    --------
    >>> from crossview.baselines import baselines
    >>> [entry.name for entry in baselines("regression")][:2]
    ['ridge', 'late-fusion']
    """
    return [entry for entry in _BASELINES if entry.task == check_task(task)]


def find_baseline(name: str, task: str = "classification", *, stream: bool = False) -> Learner:
    """Return the baseline of this name, or one of any class that has `fit` and `predict`.

    name: the name of an entry of `baselines`, with or without ``baseline:``; or
      ``"package.module:Class"``, if needed with keyword arguments that are plain values:
      ``"sklearn.ensemble:RandomForestClassifier(n_estimators=50)"``.
      A class whose rows are called ``Xs`` in `fit` gets a list of arrays, one per view.
    task {"classification", "regression"}: what is predicted.
    stream: whether it learns one row after the other, by its ``partial_fit``.
    Raises InputError: there is no such name, module or class, the arguments do not fit, or the
      class predicts something else, or learns no stream.

    >>> from crossview.baselines import find_baseline
    >>> find_baseline("sklearn.naive_bayes:GaussianNB").title
    'GaussianNB'
    """
    if not isinstance(name, str):
        raise InputError(
            "a baseline is given by its name, such as 'sklearn.ensemble:RandomForestClassifier', "
            f"and not as {type_of(name)}"
        )
    short = name.removeprefix(PREFIX).strip()
    for entry in baselines(task):
        if entry.name.removeprefix(PREFIX) == short:
            return entry
    match = _GIVEN.fullmatch(short)
    if match is None:
        known = [entry.name.removeprefix(PREFIX) for entry in baselines(task)]
        raise unknown_name("baseline", short, [*known, "package.module:Class"])
    path = f"{match['module']}:{match['name']}"
    arguments = _arguments(short, match["call"])
    model = _make(short, path, arguments)
    _check_model(model, short, task)
    if stream and not callable(getattr(model, "partial_fit", None)):
        raise InputError(
            f"baseline {short!r} has no partial_fit, so that it cannot learn from a stream; "
            "compare it by folds, without progressive"
        )
    kind = "GivenClassifier" if task == "classification" else "GivenRegressor"
    calibrated = {"calibration": "sigmoid"} if stream and task == "classification" else {}
    return Learner(
        PREFIX + short,
        match["name"] + (match["call"] or ""),
        f"{_MODELS}:{kind}",
        "given by name",
        task=task,
        fixed={"model": path, "arguments": arguments, **calibrated},
        streams=stream,
        one_pass=stream,
        baseline=True,
    )


def find_model(name: str, task: str, views: Sequence[str]) -> Learner:
    """Return a learner of the catalog, or a baseline by its whole name.

    name: as for `find_learner`, or for `find_baseline` with ``baseline:`` in front.
    task {"classification", "regression"}: what is predicted.
    """
    check_is_name(name)
    if name.startswith(PREFIX):
        return find_baseline(name, task)
    return find_learner(name, task, views)


def is_trainable(entry: Learner) -> bool:
    """Return whether `train` knows a model, so that a model file holds it."""
    return not entry.name.startswith(PREFIX)


def check_trainable(entry: Learner) -> None:
    """Raise `InputError` for a baseline that no model file holds."""
    if is_trainable(entry):
        return
    able = [one.name for one in baselines(entry.task) if is_trainable(one)]
    raise InputError(
        f"model {entry.name!r} is a model of scikit-learn that no model file holds; crossview "
        f"compare prints the Python that trains it (of the baselines train knows {', '.join(able)})"
    )


def _arguments(name: str, call: str | None) -> dict[str, Any]:
    """Return the keyword arguments of ``Class(a=1, b='x')``."""
    try:
        node = ast.parse(f"f{call or '()'}", mode="eval").body
        assert isinstance(node, ast.Call)
        if node.args or any(k.arg is None for k in node.keywords):
            raise ValueError
        return {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
    except (SyntaxError, ValueError):
        raise InputError(
            f"baseline {name!r}: arguments are keywords with plain values, such as "
            "Class(alpha=0.1, kind='a')"
        ) from None


def _make(name: str, path: str, arguments: dict[str, Any]) -> Any:
    """Return an object of a class that a user names."""
    module, _, class_name = path.partition(":")
    try:
        cls = load_object(path)
    except ImportError as error:
        raise InputError(f"baseline {name!r}: cannot import {module!r} ({error})") from None
    except AttributeError:
        raise InputError(f"baseline {name!r}: {module!r} has no {class_name!r}") from None
    try:
        return cls(**arguments)
    except (TypeError, ValueError) as error:
        raise InputError(f"baseline {name!r}: cannot be made ({error})") from None


def _check_model(model: Any, name: str, task: str) -> None:
    """Refuse an object that does not learn, or predicts something else."""
    lacks = [method for method in ("fit", "predict") if not callable(getattr(model, method, None))]
    if lacks:
        raise InputError(f"baseline {name!r} has no {' and no '.join(lacks)}; it is no model")
    if not isinstance(model, BaseEstimator):
        raise InputError(f"baseline {name!r} is no sklearn.base.BaseEstimator; derive it from one")
    kind = get_tags(model).estimator_type
    if kind not in (None, TASK_TYPES[task]):
        raise InputError(f"baseline {name!r} is a {kind}; for {task} name a {TASK_TYPES[task]}")
