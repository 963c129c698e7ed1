"""The learners: one entry for each way of using the views, and how to find them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from crossview.catalog.learner import EACH_VIEW, Learner
from crossview.catalog.names import unknown_name
from crossview.errors import InputError

# the name of the entry whose members `compare` chooses
ENSEMBLE = "ensemble"
# C has the unit of one over a squared norm: its best values move with the data
C = (0.001, 0.01, 0.1, 1.0, 10.0)
# a multiple of the step; 0 says what it costs that views have to agree
DISAGREEMENT = (0.01, 0.0, 0.1, 1.0, 10.0)
# second-order learners take longer: less is tried for them.  PAM has no r; the variance at the
# start sets the scale of its covariance
FEW_C = (0.1, 1.0, 10.0)
SMALL_C = (0.01, 0.1, 1.0)
FEW_DISAGREEMENT = (0.01, 0.0, 1.0)
VARIANCE = (0.01, 0.1, 1.0)
R = (0.1, 1.0, 10.0, 100.0)
CONFIDENCE = (0.55, 0.7, 0.9)
# the first for rows whose order says nothing
FORGETTING = (1.0, 0.999, 0.99)
HIGH_CONFIDENCE = (0.7, 0.9)
# a machine makes many passes for each setting, so that little is tried
ALPHA = (0.001, 0.03)
RATE = (0.05, 0.1, 0.3)
# where nothing is factorized, or all is one product, larger steps do better
HIGH_RATE = (0.3, 1.0)
# the default first: with few labels many settings are equally good
LAM = (0.001, 0.01, 0.1, 0.0001)
# of views that have to agree on unlabeled rows; much of it harms where they share little
AGREEMENT = (0.01, 0.1, 1.0)
# prices of a row, of its loss and of disagreement in it
C1 = (0.01, 0.1, 1.0)
C2 = (0.001, 0.01, 0.1)

# of the squared weights of scaled columns, against the sum of the losses
INVERSE_PENALTY = (0.01, 0.1, 1.0, 10.0, 100.0)
FEW_INVERSE_PENALTY = (0.1, 1.0, 10.0)
PENALTY = (0.1, 1.0, 10.0, 100.0, 1000.0)

# tried from the best setting on
AVERAGED: dict[str, tuple] = {"average": (True,)}
PASSES: dict[str, tuple] = {"epochs": (3, 10)}
BINNED: dict[str, tuple] = {"bins": (10,)}
# of numbers that are skewed, as `compare` finds out
SCALED: dict[str, tuple] = {"target_scale": ("log",)}
# of views that learn alone; coupled by squares they cost as often as they help
WEIGHED: dict[str, tuple] = {"view_weights": ("learned",)}

WEIGHTS = ("average", "calibration", "class_weight", "fit_intercept", "intercept_scaling")
COVARIANCE = ("covariance", "diagonal", "initial_variance", "rank")
COUPLED = ("C", "disagreement", "forgetting", "update", "view_weights", *WEIGHTS, *COVARIANCE)
MACHINE = (
    *("alpha", "deterministic", "forgetting", "init_scale", "learning_rate", "loss"),
    "penalty",
)
INTERACTIONS = (*MACHINE, "n_factors", "optimizer")
TREES = (
    *("l2_regularization", "learning_rate", "max_categories", "max_columns", "max_features"),
    *("max_iter", "max_leaf_nodes", "min_samples_leaf", "n_bags", "n_components"),
    *("n_iter_no_change", "validation_fraction"),
)
EXTRA_TREES = (
    *("max_columns", "max_features", "max_leaf_nodes", "min_samples_leaf", "n_components"),
    *("n_estimators", "n_jobs"),
)
NETWORK = (
    *("dropout", "learning_rate", "max_columns", "max_epochs", "n_hidden", "n_jobs", "n_members"),
)
FORMS = ("fit_intercept", "init", "penalize_bias")
SVMPERF = ("C1", "C2", "calibration", "fit_intercept", "max_iter", "scaling", "solver", "tol")
KERNEL = (
    *("approximation", "average", "budget", "cache_size", "coef0", "degree", "fit_intercept"),
    *("gamma", "kernel", "lam", "maintenance", "n_components", "n_iterations", "schedule"),
    *("unlabeled_ratio", "verbose"),
)

_LINEAR = "crossview.estimators.linear"
_COUPLED = "crossview.estimators.coupled"
_SECOND_ORDER = "crossview.estimators.second_order"
_NEWTON = "crossview.estimators.newton"
_MACHINES = "crossview.estimators.machines"
_KERNEL = "crossview.estimators.kernel"
_STACKING = "crossview.estimators.stacking"
_SVMPERF = "crossview.estimators.svm.classifier"
_TREES = "crossview.estimators.trees"
_NETWORK = "crossview.estimators.network"
_ENSEMBLE = "crossview.estimators.ensemble"
_BASELINES = "crossview.baselines.linear"

_VIEW = "one view alone"
# how classes are called, and parameters that only learners of classes have
_KIND = {"classification": "Classifier", "regression": "Regressor"}
_OF_TASK = {"classification": ("calibration", "class_weight"), "regression": ()}


def _passive_aggressive() -> Iterator[Learner]:
    """All views by the rule of PA, with each coupling."""
    alone: dict[str, tuple] = {"C": C}
    together = alone | {"disagreement": DISAGREEMENT}
    for coupling, title, grid in (
        ("concatenated", "passive-aggressive, concatenated", alone),
        ("independent", "passive-aggressive, independent", alone),
        ("squared", "passive-aggressive, coupled (squared)", together),
        ("absolute", "passive-aggressive, coupled (absolute)", together),
    ):
        yield Learner(
            f"pa:{coupling}",
            title,
            f"{_COUPLED}:MultiViewPAClassifier",
            "passive-aggressive, by how the views are coupled",
            fixed={"coupling": coupling},
            grid=grid,
            refined=BINNED | (WEIGHED if coupling == "independent" else {}) | AVERAGED | PASSES,
            effort=1 if coupling in ("concatenated", "independent") else 2,
            compared="never" if coupling == "absolute" else "always",
            min_views=1 if coupling == "concatenated" else 2,
            settable=(*COUPLED, "geometry", "variant"),
        )


def _second_order(diagonal: bool) -> Iterator[Learner]:
    """The learners with a covariance: on all views concatenated, and coupled."""
    form = {"covariance": "diagonal"} if diagonal else {}
    coupled = {"coupling": "squared", "geometry": "mahalanobis", "variant": "PA-II"}
    few: dict[str, tuple] = {"C": FEW_C, "initial_variance": VARIANCE}
    sure: dict[str, tuple] = {"confidence": CONFIDENCE}
    soft: dict[str, tuple] = {"C": SMALL_C, "confidence": HIGH_CONFIDENCE}
    agreeing = few | {"disagreement": FEW_DISAGREEMENT}
    pam, arow, cw = ("C", "forgetting", "variant"), ("r", "forgetting"), ("confidence", "form")
    scw = ("C", "confidence", "forgetting", "variant")
    for name, title, learner, grid, settable in (
        ("pam", "passive-aggressive Mahalanobis", "PAM", few, pam),
        ("arow", "adaptive regularization of weights", "AROW", {"r": R}, arow),
        ("cw", "confidence-weighted", "ConfidenceWeighted", sure, cw),
        ("scw", "soft confidence-weighted", "SoftConfidenceWeighted", soft, scw),
        (
            "pam:squared",
            "passive-aggressive Mahalanobis, coupled",
            "MultiViewPA",
            agreeing,
            COUPLED,
        ),
    ):
        fixed = coupled if ":" in name else {}
        other = f"{name}-diagonal" if ":" in name else f"{name}:diagonal"
        weights = [one for one in WEIGHTS if (name, one) != ("cw", "class_weight")]
        yield Learner(
            other if diagonal else name,
            f"{title}, diagonal" if diagonal else title,
            f"{_COUPLED if fixed else _SECOND_ORDER}:{learner}Classifier",
            "with a diagonal covariance" if diagonal else "with a covariance",
            fixed={**form, **fixed},
            grid=grid,
            settable=(*settable, *weights, *COVARIANCE),
            # an exact covariance of many columns takes too long for more than one pass
            refined=BINNED | PASSES if diagonal else BINNED,
            effort=3,
            quadratic=not diagonal,
            cheaper=None if diagonal else other,
            compared="never" if diagonal else "always",
            min_views=2 if fixed else 1,
        )


def _newton(task: str) -> Learner:
    """Second-order steps that forget, for streams that change."""
    return Learner(
        "newton",
        "online Newton steps, forgetting",
        f"{_NEWTON}:OnlineNewton{_KIND[task]}",
        "second-order steps with a forgetting factor, for streams that change",
        task,
        grid={"forgetting": FORGETTING},
        settable=(
            *("columns", "fit_intercept", "fourier_features", "full_columns", "initial_variance"),
            *_OF_TASK[task],
        ),
        refined=BINNED,
        effort=3,
        compared="never",
    )


def _svmperf() -> Iterator[Learner]:
    """The support vector machines that are trained for a measure of all rows together."""
    for name, title, fixed, grid in (
        ("svmperf", "SVM for {metric}", {}, {"C1": C1, "C2": C2}),
        ("svmperf:concatenated", "SVM for {metric} (concatenated)", {"C2": 0.0}, {"C1": C1}),
        # the same SVM, not trained for what decides
        (
            *("svmperf:error_rate", "SVM for the error rate"),
            *({"measure": "error_rate"}, {"C1": C1, "C2": C2}),
        ),
    ):
        yield Learner(
            name,
            title,
            f"{_SVMPERF}:MultiViewSVMPerf",
            "batch, trained for --metric, or for the error rate",
            fixed=fixed,
            grid=grid,
            settable=SVMPERF,
            compared="metric",
            # a gap of one in a hundred shows which parameters are better
            tuning_params={"tol": 0.01},
            fitted_together=("C1",),
            streams=False,
            random=False,
            refined=BINNED,
            effort=5,
            trained_for_metric="measure" not in fixed,
            divided=True,
            min_views=2 if name == "svmperf:concatenated" else 1,
            measured_against=None if "measure" in fixed else "svmperf:error_rate",
        )


def _machines(task: str) -> Iterator[Learner]:
    """Factorized interactions of the columns, of the views, and of all views."""
    machine = Learner(
        "fm:cross-view",
        "factorization machine (cross-view)",
        f"{_MACHINES}.factorization_machine:FactorizationMachine{_KIND[task]}",
        "factorization machine, of all pairs of columns or across views",
        task,
        fixed={"cross_view_only": True},
        grid={"alpha": ALPHA, "learning_rate": RATE},
        settable=(*INTERACTIONS, "order", *_OF_TASK[task]),
        refined=BINNED,
        effort=5,
        stops_early=True,
        explained_by="interactions",
        min_views=2,
    )
    yield machine
    title, fixed = "factorization machine", {"cross_view_only": False}
    yield replace(machine, name="fm", title=title, fixed=fixed, min_views=1)
    yield replace(
        machine,
        name="mvm",
        title="multi-view machine",
        path=f"{_MACHINES}.multi_view_machine:MultiViewMachine{_KIND[task]}",
        about="multi-view machine",
        fixed={},
        settable=(*INTERACTIONS, *FORMS, "groups", *_OF_TASK[task]),
    )
    if task == "classification":
        yield replace(
            machine,
            name="stm",
            title="support tensor machine",
            path=f"{_MACHINES}.support_tensor_machine:SupportTensorMachineClassifier",
            about="support tensor machine",
            fixed={"optimizer": "adagrad"},
            grid={"alpha": ALPHA, "learning_rate": HIGH_RATE},
            settable=(*MACHINE, *_OF_TASK[task]),
            compared="never",
        )


def _linear(task: str) -> Learner:
    """The sum of one machine per view, in which nothing interacts."""
    machine = next(entry for entry in _machines(task) if entry.name == "mvm")
    return replace(
        machine,
        name="linear",
        title="linear, one sum over all views",
        about="linear model",
        fixed={"groups": EACH_VIEW},
        grid={"alpha": ALPHA, "learning_rate": HIGH_RATE},
        effort=4,
        min_views=1,
    )


def _trees(task: str) -> Iterator[Learner]:
    """Boosted trees on the columns of all views, one sum of them per view, randomized ones."""
    trees = Learner(
        "trees",
        "boosted trees",
        f"{_TREES}.boosted:MultiViewTrees{_KIND[task]}",
        "boosted trees, on all columns or with a score per view",
        task,
        fixed={"additive": False},
        refined={"max_leaf_nodes": ((5,), (31, 63)), "max_features": (1.0,)},
        settable=(*TREES, *_OF_TASK[task]),
        streams=False,
        effort=5,
        explained_by="importances",
        made_of="boosted trees",
        lighter={"n_bags": 1, "max_columns": 50},
        measured_against="trees:additive",
    )
    yield trees
    yield replace(
        trees,
        name="trees:additive",
        title="boosted trees, one sum per view",
        fixed={"additive": True},
        min_views=2,
        measured_against=None,
    )
    yield replace(
        trees,
        name="extra-trees",
        title="extremely randomized trees",
        path=f"{_TREES}.randomized:MultiViewExtraTrees{_KIND[task]}",
        about="extremely randomized trees",
        fixed={},
        made_of="forest",
        lighter={},
        refined={"max_features": (0.3,)},
        settable=(*EXTRA_TREES, *_OF_TASK[task]),
        measured_against=None,
    )


def _network(task: str) -> Learner:
    """Several small neural networks on the columns of all views."""
    return Learner(
        "network",
        "neural networks",
        f"{_NETWORK}.learner:MultiViewNetwork{_KIND[task]}",
        "small neural networks, on all columns",
        task,
        settable=(*NETWORK, *_OF_TASK[task]),
        streams=False,
        effort=7,
        explained_by="importances",
        made_of="networks",
        lighter={"n_members": 2},
    )


def _stacking(task: str) -> Learner:
    """All of the others that stream, weighted as they learn."""
    return Learner(
        "stacking",
        "several models, weighted as they learn",
        f"{_STACKING}.{_KIND[task].lower()}:OnlineStacking{_KIND[task]}",
        "the default: several of the others in one pass, weighted by how well they predict",
        task,
        settable=(
            *("prune", "ridge", "share"),
            *(("class_weight", "memory") if task == "classification" else ()),
        ),
        refined=BINNED,
        in_order_params={"memory": True} if task == "classification" else {},
        one_pass=True,
        explained_by="experts",
        effort=6,
    )


def _ensemble(task: str) -> Learner:
    """Some of the others on all rows, blended; `compare` makes its members and weights."""
    return Learner(
        ENSEMBLE,
        "several models, blended",
        f"{_ENSEMBLE}:Ensemble{_KIND[task]}",
        "several of the others, each on all rows, blended by how they predict held-out rows",
        task,
        settable=("cv", *(("loss",) if task == "regression" else ()), "members", "weights"),
        streams=False,
        explained_by="members",
        effort=8,
        compared="never",
    )


def _scikit_learn(task: str) -> Iterator[Learner]:
    """What scikit-learn alone gives on all columns, and on each view: the others must be better."""
    regression = task == "regression"
    grid: dict[str, tuple] = {"alpha": PENALTY} if regression else {"C": INVERSE_PENALTY}
    everything = Learner(
        "ridge" if regression else "logistic-regression",
        "ridge regression" if regression else "logistic regression",
        f"{_BASELINES}:{'MultiViewRidge' if regression else 'MultiViewLogisticRegression'}",
        "of scikit-learn, linear: on all columns, or one model per view and one on their scores",
        task,
        grid=grid,
        settable=() if regression else ("calibration", "class_weight", "tol"),
        tuning_params={} if regression else {"tol": 1e-3},
        streams=False,
        random=False,
        effort=4,
        baseline=True,
    )
    yield everything
    yield replace(
        everything,
        name="late-fusion",
        title="late fusion",
        path=f"{_BASELINES}:LateFusion{_KIND[task]}",
        grid=grid if regression else {"C": FEW_INVERSE_PENALTY},
        effort=6,
        min_views=2,
    )


def _kernels(task: str) -> Iterator[Learner]:
    """Kernels, for few columns and for rows without a label, from which `keco` learns."""
    regression = task == "regression"
    only_classes = ("calibration", "class_weight", "include_self")
    supervised = Learner(
        "keco:supervised" if regression else "pegasos",
        "kernel ridge (one per view)" if regression else "Pegasos (one per view)",
        f"{_KERNEL}.keco:KeCoRegressor" if regression else f"{_KERNEL}.pegasos:PegasosClassifier",
        "with kernels; keco learns from unlabeled rows, too",
        task,
        fixed={"disagreement": 0.0} if regression else {},
        # wide sparse views need the linear kernel, few dense columns the other
        grid={"kernel": ("rbf", "linear"), "lam": LAM},
        settable=KERNEL if regression else (*KERNEL, *only_classes),
        effort=7,
        draws_rows=True,
        explained_by="support rows",
        # of numbers, kernel ridge regression on all views is better and faster
        compared="unlabeled" if regression else "narrow, unlabeled",
        stream_params={"schedule": "stream"},
        memory_params={"budget": 500},
        bounded_by={
            "kernel": ("linear", "precomputed"),
            "approximation": ("fourier", "nystroem"),
        },
    )
    yield Learner(
        "kernel-ridge",
        "kernel ridge regression" if regression else "least-squares kernel SVM",
        f"{_KERNEL}.ridge:MultiViewKernelRidge{_KIND[task]}",
        "smooth functions of few columns, with one kernel on all views",
        task,
        settable=("n_landmarks", *_OF_TASK[task]),
        streams=False,
        explained_by="importances",
        made_of="landmarks",
        effort=7,
        compared="narrow",
    )
    yield supervised
    keco = replace(
        supervised,
        name="keco",
        title="KeCo",
        path=f"{_KERNEL}.keco:KeCo{_KIND[task]}",
        fixed={},
        compared="unlabeled",
        learns_unlabeled=True,
        min_views=2,
        measured_against=supervised.name,
    )
    more: dict[str, tuple] = {"disagreement": AGREEMENT} if regression else {}
    yield replace(keco, grid={**keco.grid, **more})


def _of_numbers(entry: Learner) -> Learner:
    """Targets may be learned on another scale; members of an ensemble have their own."""
    refined = {} if entry.name == ENSEMBLE else SCALED
    settable = (*entry.settable, "target_scale")
    return replace(entry, settable=settable, refined={**refined, **entry.refined})


# in the order of the table of `compare`
LEARNERS: list[Learner] = [
    Learner(
        "view:NAME",
        "{view} alone",
        f"{_LINEAR}:PassiveAggressiveClassifier",
        _VIEW,
        grid={"C": C},
        refined=BINNED | AVERAGED | PASSES,
        settable=("variant", *WEIGHTS),
        effort=0,
        min_views=2,
    ),
    Learner(
        "perceptron",
        "perceptron",
        f"{_LINEAR}:Perceptron",
        "no parameter to choose",
        settable=WEIGHTS,
        compared="never",
    ),
    *_passive_aggressive(),
    *_second_order(diagonal=False),
    *_second_order(diagonal=True),
    Learner(
        "sop",
        "second-order perceptron",
        f"{_SECOND_ORDER}:SecondOrderPerceptron",
        "second-order perceptron",
        settable=(*WEIGHTS, *COVARIANCE),
        quadratic=True,
        compared="never",
    ),
    _newton("classification"),
    *_svmperf(),
    *_machines("classification"),
    *_trees("classification"),
    _network("classification"),
    *_kernels("classification"),
    _linear("classification"),
    _stacking("classification"),
    _ensemble("classification"),
    *_scikit_learn("classification"),
    *map(
        _of_numbers,
        (
            replace(
                _linear("regression"),
                name="view:NAME",
                title="{view} alone",
                about=_VIEW,
                effort=0,
                min_views=2,
            ),
            _linear("regression"),
            _newton("regression"),
            *_machines("regression"),
            *_trees("regression"),
            _network("regression"),
            *_kernels("regression"),
            _stacking("regression"),
            _ensemble("regression"),
            *_scikit_learn("regression"),
        ),
    ),
]


def known_learners(task: str, views: Sequence[str]) -> list[Learner]:
    """Return all learners for a task, on data with these views."""
    found = []
    for entry in LEARNERS:
        if entry.task == task and entry.name == "view:NAME":
            found += [entry.for_view(view) for view in views]
        elif entry.task == task:
            found.append(entry.for_views(views))
    return found


def find_learner(name: str, task: str, views: Sequence[str]) -> Learner:
    """Return the learner called ``name``.

    name: the name of an entry, or ``view:`` and the name of a view.
    task {"classification", "regression"}: what it is to predict.
    Returns entry: the entry, for these views.
    Raises InputError: there is none of that name for the task; the message lists those there are.

    >>> from crossview.catalog.learners import find_learner
    >>> find_learner("pa:squared", "classification", ["page", "link"]).class_name
    'MultiViewPAClassifier'
    """
    known = {entry.name: entry for entry in known_learners(task, views)}
    if name in known:
        return known[name]
    if any(entry.name == name for entry in LEARNERS):
        what = "classes" if task == "regression" else "numbers"
        names = ", ".join(known)
        raise InputError(f"model {name!r} predicts {what}; for {task} there are: {names}")
    raise unknown_name("model", name, known)


def learner_of_class(class_name: str) -> Learner | None:
    """Return the first entry of an estimator; None if there is none."""
    return next((entry for entry in LEARNERS if entry.class_name == class_name), None)


def model_names(task: str | None = None) -> list[str]:
    """Return the names of all models, each once."""
    return list(dict.fromkeys(e.name for e in LEARNERS if task in (None, e.task)))


def describe_models(task: str) -> str:
    """Return the names of the models for a task, with what they are, for ``--help``."""
    entries = [entry for entry in LEARNERS if entry.task == task]
    groups = itertools.groupby(entries, key=lambda entry: entry.about)
    parts = []
    for about, group in groups:
        names = ", ".join(entry.name for entry in group)
        parts.append(f"{names} ({about})" if about else names)
    return "; ".join(parts)
