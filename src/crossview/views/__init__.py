"""Views: groups of columns, and the container of several views.

A *view* is a group of columns that describes one aspect of each row, such as the text and the links
of a web page.  `ViewLayout` stores the names and the column blocks of the views; `MultiView` stores
a matrix whose columns are ordered by view and supports row indexing, so that scikit-learn's
splitters accept it.
"""

from crossview.views.alignment import (
    align_rows,
    check_rows,
    column_called,
    flat_columns,
    index_as_columns,
    is_mapping,
    row_index,
)
from crossview.views.layout import (
    ALL,
    REST,
    ViewLayout,
    about_unused,
    match_columns,
    matching,
    resolve_views,
    views_by_prefix,
    warn_of_unused,
)
from crossview.views.multi_view import (
    MultiView,
    as_groups,
    as_views,
    canonical_csr,
    check_indices,
    number_groups,
)
from crossview.views.one_row import OneRow

__all__ = [
    "ALL",
    "REST",
    "MultiView",
    "OneRow",
    "ViewLayout",
    "about_unused",
    "align_rows",
    "as_groups",
    "as_views",
    "canonical_csr",
    "check_indices",
    "check_rows",
    "column_called",
    "flat_columns",
    "index_as_columns",
    "is_mapping",
    "match_columns",
    "matching",
    "number_groups",
    "resolve_views",
    "row_index",
    "views_by_prefix",
    "warn_of_unused",
]
