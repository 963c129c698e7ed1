"""Views: which columns belong together, and the container that carries them.

A *view* is a group of columns that describes one side of a row.  `ViewLayout` holds the names and
the column blocks of views, `MultiView` a matrix whose columns lie view after view and which slices
by rows, so that scikit-learn's splitters take it as it is.
"""

from crossview.views.layout import ViewLayout, match_columns, resolve_views
from crossview.views.multi_view import MultiView

__all__ = ["MultiView", "ViewLayout", "match_columns", "resolve_views"]
