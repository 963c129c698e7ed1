"""Views by name, position, glob and width."""

import numpy as np
import pytest

from crossview import InputError, ViewLayout
from crossview.views.layout import resolve_views

NAMES = ["user_age", "user_sex", "ad_id", "ad_size", "query"]


@pytest.mark.parametrize(
    ("views", "widths", "columns"),
    [
        (None, (5,), None),
        ([2, 3], (2, 3), None),
        ({"u": "user_*", "a": ["ad_size", "ad_id"]}, (2, 2), [0, 1, 3, 2]),
        ({"q": "query", "u": slice(0, 2)}, (1, 2), [4, 0, 1]),
        ({"a": [2, -1], "b": np.array([0])}, (2, 1), [2, 4, 0]),
        ({"a": np.array([True, False, True, False, False])}, (2,), [0, 2]),
        ({"a": ["user_*", "user_age"]}, (2,), [0, 1]),
    ],
)
def test_views_by_width_name_position_and_glob(views, widths, columns):
    layout, found = resolve_views(views, 5, NAMES)
    assert layout.widths == widths
    assert found is columns is None or found.tolist() == columns


@pytest.mark.parametrize(
    ("views", "names", "message"),
    [
        ([2, 2], NAMES, r"has 4 columns \(2 \+ 2\) and X has 5"),
        ({"a": "usr_*"}, NAMES, r"no column is called 'usr_\*'; did you mean 'user_"),
        ({"a": "user_*", "b": "user_age"}, NAMES, "'user_age' is in view 'a' and again in 'b'"),
        ({"a": "user_*"}, None, "X has no column names"),
        ({"a": [7]}, NAMES, "column 7 is out of range; X has 5"),
        ({"a": []}, NAMES, "'a' has no columns"),
        ({}, NAMES, "no views"),
        ([-1, 6], NAMES, "'view0' has -1 columns; widths are 1 or more"),
        ([slice(0, 2), slice(2, 5)], NAMES, r"'link': slice\(100, 150\)}, which names slices"),
        ("user_*", NAMES, "views= takes None, a mapping"),
        ({"a": [0.5]}, NAMES, "a slice, positions or names"),
        ({"a": [True, False]}, NAMES, "the mask has 2 entries, but X has 5 columns"),
    ],
)
def test_impossible_views_are_refused(views, names, message):
    with pytest.raises(InputError, match=message) as info:
        resolve_views(views, 5, names)
    assert "\n" not in str(info.value)


def test_a_layout_names_its_views_and_their_columns():
    layout = ViewLayout(["a", "b"], [2, 3])
    assert (layout.n_views, layout.n_columns, layout.ptr.tolist()) == (2, 5, [0, 2, 5])
    assert layout == ViewLayout(("a", "b"), (2, 3)) != ViewLayout(["a", "b"], [3, 2])
    assert hash(layout) == hash(ViewLayout(["a", "b"], [2, 3]))
    assert layout != "a"
    for names, widths in [(["a", "a"], [1, 1]), (["a"], [1, 2]), (["a"], [0]), ([], [])]:
        with pytest.raises(InputError):
            ViewLayout(names, widths)
    with pytest.raises(InputError, match="no view 'bb'; did you mean 'b'"):
        layout.block("bb")
