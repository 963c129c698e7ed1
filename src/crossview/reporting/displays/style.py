"""One quiet style for all pictures: few lines, labels beside what they name, colors for all eyes.

The colors are those of Okabe and Ito, darkened until text in them has a contrast of 4.5 on white;
`reporting.svg` replaces them by variables, so that one picture serves light and dark pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np

from crossview.errors import InputError, type_of

INK, MUTED, LINE = "#1f2328", "#59636f", "#d1d9e1"
COLORS = ("#0072b2", "#b04a00", "#00734f", "#93447a", "#7a5c00", "#4b5fa8")
# inches, of which one is 72 units of an SVG: as wide as a phone, so that text keeps its size
WIDTH = 5.0
LONGEST_NAME = 30
# the height of a line of the title, and its characters where long names take half of the width
LINE_OF_TITLE, SHORTEST_LINE = 0.2, 30
# characters that XML has not, and half of a pair, which no font can measure
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

RC: dict[Any, Any] = {
    "text.parse_math": False,  # a $ in a name is a $
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 10.0,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "text.color": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "crossview",  # the same picture has the same bytes
}


def check_matplotlib() -> None:
    """Raise `InputError` where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise InputError("pictures need matplotlib: pip install 'crossview[report]'")


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style; an error where matplotlib is not installed."""
    check_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context(RC):
        yield


class Display:
    """Base class of the displays: `plot` draws them on axes.

    title: what there is to see, in a sentence that the data made.
    alt: the picture in words, for who does not see it.
    """

    # of the results of one verb: what is shown, and the verb
    shows: ClassVar[tuple[str, str] | None] = None
    title = ""
    alt = ""
    # width and height in inches
    size = (WIDTH, 3.4)

    def _draw(self, ax: Any) -> None:
        """Draw on axes."""
        raise NotImplementedError

    @classmethod
    def of(cls, result: Any) -> Self:
        """Return the display of a result, which is not drawn yet.

        Parameters
        ----------
        result : Comparison, Trained or Evaluation
            What `crossview.compare`, `crossview.train` or `crossview.evaluate` returned.

        Returns
        -------
        display : Display
            For `plot`.

        Raises
        ------
        InputError
            The result has not what is shown; the message names the option that measures it.
        """
        if cls.shows is not None and not hasattr(result, cls.shows[0]):
            verb = cls.shows[1]
            raise InputError(f"the picture is of what {verb} returns, not of {type_of(result)}")
        return cls._of_result(result)

    @classmethod
    def _of_result(cls, result: Any) -> Self:
        raise NotImplementedError

    @classmethod
    def from_result(cls, result: Any, *, ax: Any = None) -> Any:
        """Draw a result."""
        return cls.of(result).plot(ax)

    def plot(self, ax: Any = None, *, titled: bool = True) -> Any:
        """Draw the picture."""
        check_matplotlib()
        figure = None
        if ax is None:  # before the style, which takes back what a backend sets as it is loaded
            import matplotlib.pyplot as plt

            width, height = self.size
            height += LINE_OF_TITLE * (len(self.title) // SHORTEST_LINE if titled else 0)
            figure = plt.figure(figsize=(width, height), layout="constrained")
        with styled():
            ax = ax if figure is None else figure.subplots()
            self.ax_, self.figure_ = ax, ax.figure
            self._draw(ax)
            if titled:
                ax.set_title(_plain(self.title), pad=10, wrap=True)
        return self


def _plain(text: object) -> str:
    """The text in one line, as XML can hold it."""
    return " ".join(NOT_IN_XML.sub("\ufffd", str(text)).split())


def short_name(name: object, most: int = LONGEST_NAME) -> str:
    """Return a name that fits beside a picture."""
    text = _plain(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def draw_bars(
    ax: Any,
    names: Sequence[str],
    values: Any,
    words: Sequence[str],
    intervals: Any = None,
    colors: Any = COLORS[0],
) -> None:
    """Draw horizontal bars from 0 with words at their ends; an interval may be NaN."""
    y, values = np.arange(len(names)), np.nan_to_num(values)
    lines = np.full((len(y), 2), np.nan) if intervals is None else np.asarray(intervals)
    ax.barh(y, values, height=0.55, color=colors, alpha=0.85, linewidth=0)
    ax.hlines(y, lines[:, 0], lines[:, 1], color=INK, linewidth=1.4)
    rights = np.nanmax(np.column_stack([values, np.zeros(len(y)), lines]), axis=1)
    for i, text in enumerate(words):
        place = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        ax.annotate(text, (rights[i], i), **place, fontsize=9.5)
    low = min(0.0, values.min(), np.nanmin([*lines.ravel(), 0.0]))
    span = rights.max() - low or 1.0
    ax.set_xlim(low - 0.05 * span * (low < 0.0), rights.max() + 0.22 * span)
    name_rows(ax, names)


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Write names at the left, the first one at the top, with a grid of values below them."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(np.arange(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=6)
    ax.grid(axis="x")


def label_ends(
    ax: Any, names: Sequence[str], x: Sequence[float], y: Sequence[float], colors: Sequence[str]
) -> None:
    """Write names at the right of the ends of lines, moved apart where they would overlap."""
    if not names:
        return
    ax.autoscale_view()  # the limits of the lines so far
    to_axes = ax.transAxes.inverted()
    points = ax.transData.transform(np.column_stack([x, y]))
    ends = to_axes.transform(points)
    height = ax.get_window_extent().height * 72.0 / ax.figure.dpi
    at = _apart(ends[:, 1], 12.5 / max(height, 1.0))
    for name, (x_end, y_end), y_text, color in zip(names, ends, at, colors, strict=True):
        ax.annotate(
            short_name(name),
            xy=(x_end, y_end),
            xytext=(1.02, y_text),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            ha="left",
            color=color,
            fontsize=9.5,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "relpos": (0.0, 0.5),  # from the left of the name, and not through it
                "color": color,
                "linewidth": 0.6,
                "shrinkA": 1.0,
                "shrinkB": 0.0,
            },
        )


def add_key(ax: Any, words: str) -> None:
    """Say what gray or dashed lines are, below the axes, where no line hides it."""
    ax.set_xlabel(f"{ax.get_xlabel()}   ({words})")


def _apart(y: np.ndarray, gap: float) -> np.ndarray:
    """Heights near the given ones, with a gap between them, and between 0 and 1 if they fit."""
    order = np.argsort(y, kind="stable")
    at = np.clip(y[order], 0.0, 1.0)
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + gap)
    if len(at) and at[-1] > 1.0:
        at[-1] = 1.0
        for i in range(len(at) - 2, -1, -1):
            at[i] = min(at[i], at[i + 1] - gap)
    found = np.empty_like(at)
    found[order] = at
    return found


def plain_log_ticks(axis: Any, share: bool = False) -> None:
    """Write the ticks of a logarithmic axis as plain numbers: 10, 1,000; shares as percentages."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = sorted(axis.get_view_interval())
    decades = np.log10(high / low) if low > 0 else 9.0
    subs: tuple[float, ...] = (1.0, 2.0, 5.0)
    if decades > 1.8:  # 1,000 and 2,000 would run into each other
        subs = (1.0,) if decades > 2.5 else (1.0, 3.0)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda v, _: f"{100 * v:g} %" if share else f"{v:,.10g}")
