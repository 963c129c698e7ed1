"""MovieLens-100k as one table: who rated which movie how, in the order in which they did.

    python examples/ratings.py ml-100k ratings.csv

The folder is that of the data set (https://grouplens.org/datasets/movielens/100k/), whose
terms allow research use and no publishing again.
"""

import sys
from pathlib import Path

import pandas as pd


def table(folder: Path) -> pd.DataFrame:
    """Columns user_id, user_age (decade), user_sex, user_job, item_id, item_genres, rating."""
    ratings = next(path for path in (folder / "u.data", folder / "u.data.gz") if path.exists())
    given = pd.read_csv(ratings, sep="\t", names=["user_id", "item_id", "rating", "time"])
    users = pd.read_csv(
        folder / "u.user", sep="|", names=["user_id", "user_age", "user_sex", "user_job", "zip"]
    )
    users["user_age"] //= 10
    genres = pd.read_csv(folder / "u.genre", sep="|", names=["genre", "n"])["genre"].str.lower()
    items = pd.read_csv(folder / "u.item", sep="|", header=None, encoding="latin-1")
    flags = items.iloc[:, -len(genres) :] == 1
    items = pd.DataFrame(
        {"item_id": items[0], "item_genres": [" ".join(genres[row]) for row in flags.to_numpy()]}
    )
    whole = given.merge(users.drop(columns="zip"), on="user_id").merge(items, on="item_id")
    whole = whole.sort_values(["time", "user_id", "item_id"])
    return whole[[*users.columns[:-1], "item_id", "item_genres", "rating"]]


if __name__ == "__main__":
    table(Path(sys.argv[1])).to_csv(sys.argv[2], index=False)
