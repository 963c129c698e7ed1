"""Base class of the transformers that return views."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin

from crossview.errors import InputError

__all__ = ["ViewTransformer"]


class ViewTransformer(TransformerMixin, BaseEstimator):
    """Base class of the encoder and the scalers: they return a `MultiView`, never a frame."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # scikit-learn would make a data frame of it
        super().__init_subclass__(auto_wrap_output_keys=None, **kwargs)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Refuse other containers than a `MultiView`, which a Pipeline may ask for.

        Parameters
        ----------
        transform : {"default"}, default=None
            The container; None: as it is.

        Returns
        -------
        self : object
            The transformer.

        Raises
        ------
        InputError
            It is another one: views are sparse and know which are missing, and frames do not.
        """
        if transform not in (None, "default"):
            raise InputError(
                f"set_output(transform={transform!r}): {type(self).__name__} returns views, which "
                "are no data frame; leave it at 'default', and call set_output on the steps before "
                "it (columns: transform(X).matrix and get_feature_names_out())"
            )
        return self
