"""The public data sets and their files, as ``sources.toml`` lists them.

A file is from a local folder, from the cache, or from its address.
"""

from __future__ import annotations

import gzip
import os
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin

from crossview.errors import FirstDownloadWarning, InputError, cannot_import

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

    name, what, task, n_rows, views, size, license, page: as in `DataSet`.
    label: the column of the label, where rows are a table.
    files: its files; none if it is bundled.
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


# after a broken connection or wrong bytes, one second and then two seconds later
_RETRIES = 2


def local_folder() -> Path | None:
    """Return the folder ``CROSSVIEW_DATA``, with one folder per data set; None if it is not set."""
    folder = os.environ.get("CROSSVIEW_DATA")
    return Path(folder) if folder else None


def cache_folder() -> Path:
    """Return the folder of downloads: ``CROSSVIEW_CACHE``, or that of the operating system."""
    folder = os.environ.get("CROSSVIEW_CACHE")
    return Path(folder) if folder else Path(_pooch().os_cache("crossview"))


class Files:
    """The files of one data set.

    folder: with one folder per data set, whose files come first.
    download: whether to download what is neither there nor in the cache.
    """

    def __init__(self, source: Source, folder: Path | None, download: bool) -> None:
        self.source = source
        self._folder = folder
        self._download = download
        self._untrusted: list[tuple[DataFile, Path]] = []  # no SHA-256 of them is known so far

    def __getitem__(self, name: str) -> bytes:
        """Return what a file holds, unpacked."""
        file = next(file for file in self.source.files if file.name == name)
        local = self._local(self._folder, file) if self._folder is not None else None
        return _unpacked(local or self._fetched(file), file)

    def read(self, reader: Callable[[Files], Rows]) -> Rows:
        """Return the rows; from then on, a file without a known SHA-256 must stay what it is.

        Such a file is trusted if it can be read and has as many rows as it should.  Its SHA-256
        is written beside it, as ``sha256sum`` does; otherwise it leaves the cache.
        """
        try:
            rows = reader(self)
        except ValueError as error:
            if not self._untrusted:
                raise
            raise self._refused(f"it cannot be read ({error})") from None
        if self._untrusted and len(rows.target) != self.source.n_rows:
            raise self._refused(f"{len(rows.target):,} rows, not {self.source.n_rows:,}")
        for file, path in self._untrusted:
            found = _pooch().file_hash(path)
            _trusted(path).write_text(f"{found}  {path.name}\n")
            warnings.warn(
                f"data set {self.source.name!r}: no SHA-256 of {file.url} is known; that of this "
                f"first download is {found}, and later ones must have it ({_trusted(path)})",
                FirstDownloadWarning,
                stacklevel=3,
            )
        return rows

    def _refused(self, why: str) -> InputError:
        for _, path in self._untrusted:
            path.unlink()
        file = self._untrusted[0][0]
        return self._absent(file, f"{file.url} sent something else: {why}")

    def folder(self) -> Path | None:
        """Return the folder on this machine that has the files; None where one is missing."""
        for root in (self._folder, cache_folder()):
            if root is not None and all(self._local(root, file) for file in self.source.files):
                return root / self.source.name
        return None

    def _local(self, root: Path, file: DataFile) -> Path | None:
        """Return the path of a file below a folder, packed or not."""
        for name in (file.name, f"{file.name}.gz", _downloaded(file)):
            path = root / self.source.name / name
            if path.is_file():
                return path
        return None

    def _fetched(self, file: DataFile) -> Path:
        """Return the file in the cache.

        Pooch writes to a temporary name and renames it once the checksum is right, so an unfinished
        download is never taken for the file, and a damaged file in the cache is fetched again.
        """
        where = f"{self.source.name}/{_downloaded(file)}"
        path = cache_folder() / where
        if not self._download and not path.is_file():
            raise self._absent(file, f"{file.url} is not on this machine")
        first = _trusted(path).read_text()[:64] if _trusted(path).exists() else ""
        sha256 = file.sha256 or first
        pooch = _pooch()
        files = pooch.create(
            cache_folder(),
            base_url="",
            urls={where: file.url},
            registry={where: f"sha256:{sha256}" if sha256 else None},
            retry_if_failed=_RETRIES,
        )
        import requests

        try:
            files.fetch(where)
        except requests.exceptions.HTTPError as error:
            raise self._absent(file, str(error).replace(" for url", "")) from None
        except requests.exceptions.RequestException:
            raise self._absent(file, f"no connection to {file.url}, or it broke") from None
        except ValueError:
            why = f"{file.url} has other bytes (SHA-256)"
            if not file.sha256:
                why += f" than at the first download; to take them, remove {_trusted(path)}"
            raise self._absent(file, why) from None
        except OSError as error:
            why = f"{error.filename or cache_folder()}: {error.strerror or error}"
            raise self._absent(
                file, f"{why}; set CROSSVIEW_CACHE to a folder that can be written"
            ) from None
        if not sha256:
            self._untrusted.append((file, path))
        return path

    def _absent(self, file: DataFile, why: str) -> InputError:
        name = self.source.name
        return InputError(
            f"data set {name!r}: {why}; or put {_downloaded(file)} into FOLDER/{name}/ and set "
            "CROSSVIEW_DATA=FOLDER"
        )


def _downloaded(file: DataFile) -> str:
    """Return the name of what is at the address of a file."""
    return file.url.rpartition("/")[2] if file.member or file.url.endswith(".gz") else file.name


def _trusted(path: Path) -> Path:
    """Return the file with the SHA-256 that a file had at its first download."""
    return path.with_name(f"{path.name}.sha256")


def _unpacked(path: Path, file: DataFile) -> bytes:
    """Return the bytes of a file, from its archive where it is in one."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.read(file.member)
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"cannot be read ({error})", file=str(path)) from None


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise cannot_import("loading a public data set", "pooch", error) from None
    return pooch
