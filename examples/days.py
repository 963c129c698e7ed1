"""MovieLens-100k as a stream that arrives day by day: who liked which movie.

    python examples/days.py days
    python examples/days.py --summary days

writes into the folder ``days``: ``history.parquet``, all ratings up to the last seven days, with
the label ``liked`` (4 or 5 stars); and for each of the seven days ``day1.parquet``, what was shown,
without a label, and ``labels1.csv``, what became known later.  The data set is fetched (5 MB), or
read from where CROSSVIEW_DATA says; its terms allow research use and no publishing again.  The
summary is of the evaluations that examples/daily.sh writes: of the model that went on,
``new1.json``, and of the one that did not, ``old1.json``.
"""

import json
import sys
from pathlib import Path

import pandas as pd

from crossview import datasets

N_DAYS = 7


def ratings(data_home: Path | None = None) -> pd.DataFrame:
    """All ratings in the order of time, with a view of the user and one of the movie."""
    found = datasets.fetch("movielens_100k", data_home=data_home)
    whole = found.data.to_pandas().assign(stars=found.target)
    whole = whole.sort_values(["time", "user__id", "item__id"], ignore_index=True)
    whole["time"] = pd.to_datetime(whole["time"], unit="s")
    whole["liked"] = (whole.pop("stars") >= 4).map({True: "yes", False: "no"})
    return whole.rename_axis("id").reset_index()


def write(whole: pd.DataFrame, folder: Path) -> None:
    """Write the history, and each of the last days."""
    folder.mkdir(exist_ok=True)
    day = whole["time"].dt.date
    last = sorted(day.unique())[-N_DAYS:]
    whole[day < last[0]].to_parquet(folder / "history.parquet", index=False)
    for number, one in enumerate(last, 1):
        rows = whole[day == one]
        rows.drop(columns="liked").to_parquet(folder / f"day{number}.parquet", index=False)
        rows[["id", "liked"]].to_csv(folder / f"labels{number}.csv", index=False)


def summary(folder: Path) -> None:
    """Print the ROC AUC of both models, day by day."""
    print("day  rows  went on                     did not")
    for number in range(1, N_DAYS + 1):
        cells = []
        for which in ("new", "old"):
            about = json.loads((folder / f"{which}{number}.json").read_text())
            auc = about["metrics"]["roc_auc"]
            cells.append(f"{auc['value']:.3f} ({auc['low']:.3f} to {auc['high']:.3f})")
        print(f"{number:3}  {about['n_rows']:4}  {cells[0]}      {cells[1]}")


if __name__ == "__main__":
    if sys.argv[1] == "--summary":
        summary(Path(sys.argv[2]))
    else:
        write(ratings(), Path(sys.argv[1]))
