"""Which view a column is in, and what the error says where nobody can know."""

import pytest

from crossview.errors import InputError
from crossview.streams.view_columns import columns_of_views


def message_for(names):
    with pytest.raises(InputError, match="which columns make up a view") as caught:
        columns_of_views(None, names)
    return str(caught.value)


def test_prefixes_of_the_names_are_suggested_as_views():
    said = message_for(["user_age", "user_city", "ad_text", "ad_size", "hour"])
    assert "--view user='user_*' --view ad='ad_*' or views={'user': 'user_*', 'ad': 'ad_*'}" in said


@pytest.mark.parametrize(
    "names", [["age", "city"], ["user_age", "user_city", "hour"], [f"c{i}_x" for i in range(40)]]
)
def test_names_without_a_few_common_prefixes_get_the_usual_example(names):
    assert "--view user='user_*' or" in message_for(names)


def test_very_many_columns_are_not_all_listed():
    said = message_for([f"a_{i}" for i in range(20_000)])
    assert "a_18, ..., a_19999 (20000 in all)" in said
    assert len(said) < 500


def test_the_suggested_globs_make_views():
    names = ["user_age", "user_city", "ad_text", "ad_size"]
    views = {"user": "user_*", "ad": "ad_*"}
    assert columns_of_views(views, names) == {"user": names[:2], "ad": names[2:]}
