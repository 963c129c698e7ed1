"""Plots of results; the code that draws is loaded when it is used."""

from __future__ import annotations

from typing import Any, ClassVar

from crossview.catalog.displays import DISPLAYS, NOTEBOOK
from crossview.catalog.names import load_object, unknown_name

__all__ = ["PlotMixin"]


class PlotMixin:
    """Mixin of results that can be plotted."""

    # of `plot`
    PICTURE: ClassVar[str]

    def plot(self, kind: str | None = None, *, ax: Any = None) -> Any:
        """Draw a picture of the result; needs matplotlib.

        Parameters
        ----------
        kind : str, default=None
            "comparison", "errors", "view differences", "views", "experts", "learning curve",
            "time", "precision recall", "roc", "calibration", "threshold" or "targets".  None: the
            one that says most.
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
