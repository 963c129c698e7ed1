"""The parameters of KeCo and Pegasos, and checks of their combinations."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from crossview.algorithms.kernel.schedule import SCHEDULES
from crossview.errors import InputError
from crossview.estimators.base import ViewClassifier
from crossview.estimators.kernel.random_views import RandomViewsClassifier
from crossview.estimators.kernel.support_vectors import MAINTENANCE
from crossview.estimators.kernel.values import KERNELS
from crossview.estimators.validation import Interval, StrOptions

__all__ = ["KernelOptions"]


class KernelOptions(RandomViewsClassifier):
    """Base class of KeCo and Pegasos: their parameters."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"median", "scale"}), dict],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "n_iterations": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "average": ["boolean"],
        "fit_intercept": ["boolean"],
        "schedule": [StrOptions(set(SCHEDULES))],
        "unlabeled_ratio": [Interval(Real, 0, None, closed="both")],
        "include_self": ["boolean"],
        "unlabeled": [str, Real, None],
        "random_views": [tuple, list, None],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "maintenance": [StrOptions(set(MAINTENANCE))],
        "approximation": [StrOptions({"fourier", "nystroem"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        **ViewClassifier._parameter_constraints,
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1.0,
        lam: float = 1e-3,
        n_iterations: int | str = "auto",
        schedule: str = "rounds",
        unlabeled_ratio: float = 1 / 3,
        include_self: bool = True,
        average: bool = True,
        fit_intercept: bool = True,
        random_views: tuple[int, float] | None = None,
        unlabeled: Any = None,
        budget: int | None = None,
        maintenance: str = "removal",
        approximation: str | None = None,
        n_components: int = 100,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        cache_size: float = 200,
        verbose: Any = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = lam
        self.n_iterations = n_iterations
        self.schedule = schedule
        self.unlabeled_ratio = unlabeled_ratio
        self.include_self = include_self
        self.average = average
        self.fit_intercept = fit_intercept
        self.random_views = random_views
        self.unlabeled = unlabeled
        self.budget = budget
        self.maintenance = maintenance
        self.approximation = approximation
        self.n_components = n_components
        self.class_weight = class_weight
        self.calibration = calibration
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state

    def _validate_params(self) -> None:
        super()._validate_params()
        wrong = self._wrong_approximation() or self._wrong_budget() or self._wrong_random_views()
        if wrong:
            raise InputError(wrong)

    def _wrong_approximation(self) -> str | None:
        approximated = {"fourier": ("rbf",), "nystroem": ("rbf", "poly")}
        if self.approximation is None or self.kernel in approximated[self.approximation]:
            return None
        return (
            f"approximation={self.approximation!r} with kernel={self.kernel!r}; 'fourier' is "
            "for 'rbf', and 'nystroem' for 'rbf' and 'poly'"
        )

    def _wrong_budget(self) -> str | None:
        if self.budget is None:
            return None
        if self.approximation or self.kernel in ("linear", "precomputed"):
            return (
                "budget= bounds the support vectors, and does not apply to kernel='linear', "
                "kernel='precomputed' or approximation=; leave it at None"
            )
        if self.maintenance == "merging" and self.kernel != "rbf":
            return "maintenance='merging' is for kernel='rbf'; set 'projection' or 'removal'"
        return None

    def _wrong_random_views(self) -> str | None:
        given: Any = self.random_views
        if given is None:
            return None
        if self.views is not None:
            return "random_views= makes the views; leave views= at None"
        if len(given) != 2 or not (
            isinstance(given[0], Integral) and int(given[0]) >= 1 and 0.0 < float(given[1]) <= 1.0
        ):
            return (
                f"random_views={given!r}; give the number of views and the fraction of the columns "
                "in each, such as (2, 0.75)"
            )
        return None

    def check_streams(self) -> None:
        """Raise an error for a precomputed kernel, which needs all rows in memory.

        Raises
        ------
        InputError
            The message names the parameter.
        """
        if self.kernel == "precomputed":
            raise InputError("kernel='precomputed' needs all rows in memory; use fit")
