"""The data sets and their files, as ``sources.toml`` lists them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

if TYPE_CHECKING:
    import numpy as np

    from crossview.views import MultiView


class Rows(NamedTuple):
    """Rows of a data set, as its reader returns them.

    data: the views, or columns called ``view__column``.
    target (n_samples,): the labels.
    part (n_samples,): which part of the publisher's split each row is in, where there is one.
    """

    data: MultiView | Mapping[str, Any]
    target: np.ndarray
    part: np.ndarray | None = None


class DataFile(NamedTuple):
    """A file of a data set.

    name: its name, unpacked.
    url: its address, or that of the ``.gz`` or the ``.zip`` that holds it.
    sha256: of what is at the address; empty if it is not known.
    member: its name in the ``.zip``.
    """

    name: str
    url: str
    sha256: str = ""
    member: str = ""


class Source(NamedTuple):
    """A data set: what `known` says of it, the column of its label, and its files.

    Attributes
    ----------
    name, what, task, n_rows, views, size, license, page
        As in `DataSet`.
    label : str
        The column of the label, where rows are a table.
    files : tuple of DataFile
        Its files; none if it is bundled.
    """

    name: str
    what: str
    task: str
    n_rows: int
    views: tuple[str, ...]
    size: int
    license: str
    page: str
    label: str
    files: tuple[DataFile, ...]


def _source(name: str, about: dict[str, Any]) -> Source:
    base, files = about.pop("base", ""), about.pop("files", ())
    defaults: dict[str, Any] = {"task": "classification", "size": 0, "label": "label"}
    return Source(
        name=name,
        **defaults | about | {"views": tuple(about["views"])},
        files=tuple(
            DataFile(**file | {"url": urljoin(base, file.get("url", file["name"]))})
            for file in files
        ),
    )


_LISTED = tomllib.loads(resources.files(__package__).joinpath("sources.toml").read_text("utf-8"))
SOURCES = {name: _source(name, about) for name, about in _LISTED.items()}
PUBLIC = {name: one for name, one in SOURCES.items() if one.files}
