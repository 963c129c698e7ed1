"""scikit-learn's own checks of an estimator, on one instance of each public class."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import crossview
from contract.instances import (
    CASES,
    NO_LEARNERS,
    is_machine,
    learn,
    make_rows,
    public_learners,
    streams,
)
from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    EnsembleClassifier,
    EnsembleRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    KeCoClassifier,
    LateFusionClassifier,
    LateFusionRegressor,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    MultiViewRidge,
    MultiViewSVMPerf,
    OnlineStackingClassifier,
    PAMClassifier,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    Perceptron,
    SoftConfidenceWeightedClassifier,
    SupportTensorMachineClassifier,
)

LINEAR = [("pa", PassiveAggressiveClassifier()), ("arow", AROWClassifier())]
RIDGES = [("ridge", MultiViewRidge()), ("weak", MultiViewRidge(alpha=100.0))]
# where the defaults are not what the checks need: enough epochs, or few enough, and quick members
PARAMETERS = {
    EnsembleClassifier: {"members": LINEAR, "cv": 2},
    EnsembleRegressor: {"members": RIDGES, "cv": 2},
    MultiViewMachineClassifier: {"n_epochs": 30},
    FactorizationMachineClassifier: {"n_factors": 4, "n_epochs": 30},
    FactorizationMachineRegressor: {"n_factors": 4, "loss": "huber", "n_epochs": 30},
    SupportTensorMachineClassifier: {"n_epochs": 5},
    PegasosClassifier: {"kernel": "linear"},
}
INSTANCES = [learner(**PARAMETERS.get(learner, {})) for learner in public_learners()]

# other paths of the code, of which `make test` runs the checks of what is learned
VARIANTS = [
    Perceptron(average=True),
    PassiveAggressiveClassifier(variant="PA-II", average=True),
    MultiViewPAClassifier(coupling="absolute"),
    MultiViewPAClassifier(coupling="independent"),
    MultiViewPAClassifier(coupling="concatenated"),
    MultiViewPAClassifier(geometry="mahalanobis"),
    MultiViewPAClassifier(geometry="mahalanobis", covariance="low-rank", rank=8),
    PAMClassifier(covariance="diagonal", average=True),
    AROWClassifier(covariance="low-rank", rank=8),
    ConfidenceWeightedClassifier(form="variance", covariance="diagonal"),
    SoftConfidenceWeightedClassifier(variant="SCW-II", covariance="diagonal"),
    MultiViewMachineClassifier(optimizer="lbfgs", loss="hinge", n_epochs=20),
    MultiViewMachineRegressor(optimizer="als", n_epochs=10),
    SupportTensorMachineClassifier(optimizer="adagrad", n_epochs=20),
    KeCoClassifier(schedule="stream", budget=30, maintenance="merging"),
    KeCoClassifier(random_views=(2, 0.75), approximation="fourier"),
    MultiViewSVMPerf(measure="error_rate"),
]
CHECKS_OF_WHAT_IS_LEARNED = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_estimators_pickle",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_regressors_train",
}

# It wants the most probable class to be the predicted one, as SVC(probability=True) and
# CalibratedClassifierCV do not have it either: scores decide, and probabilities have an offset.
CHECK_OF_SCORES = "check_classifiers_train"
# SciPy's matrices go the way of its arrays from `batch.py` on; check_estimator_sparse_array is run
CHECK_OF_OLD_CLASSES = "check_estimator_sparse_matrix"

EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
EQUIVALENCE_REASON = (
    "it repeats rows and changes their order, and what an online learner learns depends on the "
    "order (and a machine's held-out rows, too); weight 0 is tested in test_labels_and_weights.py, "
    "and weight 2 for PA-I and AROW with their equations"
)
EQUIVALENCE_OF_TREES = (
    "it repeats rows, and so which of them are held out, and the bins of the columns, are others; "
    "weight 0 and weight 2 are tested in test_trees.py and test_network.py"
)
EQUIVALENCE_OF_FUSION = (
    "it repeats rows, and so late fusion draws other folds; weights are tested in test_baselines.py"
)
EQUIVALENCE_OF_FOLDS = (
    "it repeats rows, and so the folds that fit the weights are others, each of whose rows counts "
    "once; weight 0 is tested in test_ensemble.py"
)
CLASS_WEIGHT_REASON = (
    "a weight multiplies the price of a row's loss and not its step, and the variances of a "
    "diagonal fall, so one pass cannot push everything to one class"
)
WEIGHT_OF_LEAVES_REASON = (
    "a leaf of one class has no other whose weight counts, and of scikit-learn's own trees the "
    "check makes larger leaves; class weights are tested in test_extra_trees.py"
)
F1_REASON = "F1 is no sum over rows, so rows of different weight are an error"


def expected_failures(estimator):
    """Return the reason of each check that fails by design."""
    if getattr(estimator, "measure", None) == "f1":
        return dict.fromkeys(("check_sample_weights_not_overwritten", *EQUIVALENCE), F1_REASON)
    if hasattr(estimator, "members"):
        return dict.fromkeys(EQUIVALENCE, EQUIVALENCE_OF_FOLDS)
    if hasattr(estimator, "n_bags") or hasattr(estimator, "n_members"):
        return dict.fromkeys(EQUIVALENCE, EQUIVALENCE_OF_TREES)
    if hasattr(estimator, "n_estimators"):
        return {"check_class_weight_classifiers": WEIGHT_OF_LEAVES_REASON}
    if isinstance(estimator, LateFusionClassifier | LateFusionRegressor):
        return dict.fromkeys(EQUIVALENCE, EQUIVALENCE_OF_FUSION)
    if not (streams(estimator) or is_machine(estimator)):
        return {}
    reasons = dict.fromkeys(EQUIVALENCE, EQUIVALENCE_REASON)
    sees_rows_again = is_machine(estimator) or getattr(estimator, "kernel", "linear") != "linear"
    # a weight without a covariance, or in a whole one, is strong enough for one pass
    has_covariance = getattr(estimator, "geometry", "mahalanobis") != "euclidean" and (
        hasattr(estimator, "covariance") or not hasattr(estimator, "intercept_scaling")
    )
    form = getattr(estimator, "covariance", "auto" if hasattr(estimator, "full_columns") else "")
    whole = form not in ("diagonal", "") and not isinstance(
        estimator, ConfidenceWeightedClassifier | SoftConfidenceWeightedClassifier
    )
    stacked = isinstance(estimator, OnlineStackingClassifier)  # calibrated scores are enough
    if has_covariance and not (sees_rows_again or whole or stacked):
        reasons["check_class_weight_classifiers"] = CLASS_WEIGHT_REASON
    return reasons


def checks():
    """Yield each check of each instance as pytest's parameters.

    `make test` runs all of them that are no equivalence which fails by design on the first
    classifier and the first regressor of a module, or of a folder, of `estimators`.
    """
    seen = set()
    for estimator in INSTANCES + VARIANTS:
        part = type(estimator).__module__.split(".")[2], is_classifier(estimator)
        is_alike = part in seen
        seen.add(part)
        reasons = expected_failures(estimator)
        for instance, check in estimator_checks_generator(estimator):
            name = check.func.__name__
            if name == CHECK_OF_SCORES and "calibration" in instance.get_params():
                instance = clone(instance).set_params(calibration="none")
            if hasattr(instance, "n_bags"):  # 300 trees are no other machinery than 10
                instance = clone(instance).set_params(n_bags=1, max_iter=10)
            if hasattr(instance, "n_members"):
                instance = clone(instance).set_params(n_members=2, max_epochs=60)
            if hasattr(instance, "n_estimators"):
                instance = clone(instance).set_params(n_estimators=10)
            marks = [pytest.mark.xfail(reason=reasons[name])] if name in reasons else []
            as_another = is_alike and name not in CHECKS_OF_WHAT_IS_LEARNED
            fails = name in EQUIVALENCE and name in reasons
            if as_another or fails or name == CHECK_OF_OLD_CLASSES:
                marks.append(pytest.mark.exhaustive)
            yield pytest.param(instance, check, id=f"{estimator}-{name}", marks=marks)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_check(estimator, check):
    np.random.seed(0)  # noqa: NPY002 - what learners without a seed draw from
    check(estimator)


def test_every_public_estimator_is_under_test():
    """Here and in the table of the contract; an exception has its reason."""
    learners = set(public_learners())
    assert len(learners) > 10
    assert learners == {type(instance) for instance in INSTANCES}
    assert learners == {type(case.estimator) for case in CASES.values()}
    assert NO_LEARNERS.keys() <= set(crossview.__all__)


def test_a_notebook_shows_and_completes_every_learner(any_learner):
    """`hasattr` raises what is no AttributeError."""
    fitted = learn(clone(any_learner), *make_rows())
    for learner in (any_learner, fitted):
        assert learner._repr_html_().startswith("<style>")
        assert [name for name in dir(learner) if hasattr(learner, name)]


@pytest.mark.parametrize("learner", public_learners(), ids=lambda learner: learner.__name__)
def test_few_classes_stand_above_a_learner(learner):
    """What learners share is an attribute of them, or a part of their state."""
    own = [kind for kind in learner.__mro__[1:] if kind.__module__.startswith("crossview")]
    assert len(own) <= 6, own
