"""The experts of a stack as parameters, as in scikit-learn's ensembles."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from crossview.errors import InputError
from crossview.estimators.base import OnlineLearner
from crossview.estimators.stacking.experts import named_entries

__all__ = ["ExpertParameters"]


class ExpertParameters(OnlineLearner):
    """Base class of the stacks: the experts as parameters."""

    experts: Any
    _expert_kind: ClassVar[Any]  # what every expert is an instance of

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; ``deep``: also the given experts and theirs, ``name__param``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the experts.

        Returns
        -------
        params : dict of str to value
            The parameters by name.
        """
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            for name, learner, *_ in self._given():
                params[name] = learner
                for key, value in learner.get_params().items():
                    params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, an expert by its name, or a parameter of an expert, ``name__param``.

        Parameters
        ----------
        **params
            The values by name.

        Returns
        -------
        self : object
            The stack.
        """
        if "experts" in params:
            self.experts = params.pop("experts")
        names = [entry[0] for entry in self._given()]
        for name in [name for name in params if name in names]:
            entries, at = list(self.experts), names.index(name)
            entries[at] = (name, params.pop(name), *entries[at][2:])
            self.experts = entries
        super().set_params(**params)
        return self

    def _given(self) -> list[Any]:
        """Return the entries of ``experts=`` that name a learner; `check_params` checks them."""
        entries = self.experts if isinstance(self.experts, list | tuple) else []
        return [entry for entry in entries if isinstance(entry, list | tuple) and len(entry) > 1]

    def check_params(self) -> None:
        """Raise an error if a parameter, or one of an expert, is out of its range.

        Raises
        ------
        InvalidParameterError, InputError
            The message names the parameter or the expert.
        """
        super().check_params()
        if self.experts is not None and not len(self.experts):
            raise InputError("experts= is empty; leave it at None for the default experts")
        for name, learner, _ in named_entries(self.experts or []):
            if not isinstance(learner, self._expert_kind) or isinstance(learner, ExpertParameters):
                raise InputError(
                    f"expert {name!r} is a {type(learner).__name__}; give learners of this package "
                    "with score_then_learn that predict the same"
                )
            if getattr(learner, "views", None) is not None or getattr(
                learner, "random_views", None
            ):
                raise InputError(
                    f"expert {name!r} has views of its own; give views= to the stack, and the name "
                    "of a view with the expert: (name, learner, view)"
                )
            learner.check_params()

    def check_streams(self) -> None:
        """Raise an error if an expert cannot learn from a stream.

        Raises
        ------
        InputError
            The message names the parameter that needs all rows in memory.
        """
        for _, learner, _ in named_entries(self.experts or []):
            learner.check_streams()
