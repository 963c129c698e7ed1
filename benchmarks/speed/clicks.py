"""Rows of 24 categories in three views: values by Zipf's law, labels by a linear model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from crossview import MultiView

VIEWS, COLUMNS, CHUNK = ("user", "ad", "query"), 8, 250_000
CARDINALITY = [2, 5, 12, 40, 150, 1_000, 10_000, 100_000]
# of one view, and that all columns have together
FIRST = np.concatenate([[0], np.cumsum(CARDINALITY)])
NAMES = [f"{view}__c{j}" for view in VIEWS for j in range(COLUMNS)]


def chunks(rows: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield codes (rows, views, columns) and clicks; the model of the labels is always the same."""
    effects = [np.random.default_rng(j).normal(size=n) * 0.4 for j, n in enumerate(CARDINALITY * 3)]
    rng = np.random.default_rng(seed)
    for start in range(0, rows, chunk):
        count = min(chunk, rows - start)
        codes = [np.minimum(rng.zipf(1.3, count) - 1, len(e) - 1).astype(np.int32) for e in effects]
        score = sum(effect[code] for effect, code in zip(effects, codes, strict=True))
        click = (score + rng.logistic(size=count) > 0).astype(np.int8)
        yield np.stack(codes, axis=1).reshape(count, len(VIEWS), COLUMNS), click


def draw(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return all codes and clicks at once."""
    (found,) = chunks(rows, seed, rows)
    return found


def to_views(codes: np.ndarray, cardinality: list[int] = CARDINALITY) -> MultiView:
    """Return one sparse block per view, one column per category."""
    rows, views, columns = codes.shape
    first = np.concatenate([[0], np.cumsum(cardinality)])
    indptr = np.arange(rows + 1, dtype=np.int32) * columns
    blocks = {}
    for v in range(views):
        places = (codes[:, v] + first[:-1]).astype(np.int32).ravel()
        block = sp.csr_array((np.ones(rows * columns), places, indptr), (rows, first[-1]))
        blocks[VIEWS[v] if views == len(VIEWS) else f"v{v}"] = block
    return MultiView(blocks)


def write(folder: Path, rows: int, *kinds: str, seed: int = 0) -> dict[str, Path]:
    """Write the same rows as Parquet (strings), vw (a namespace per view) and svm (one-hot)."""
    files = {kind: folder / f"rows-{rows}-{seed}.{kind}" for kind in kinds}
    texts = [pa.array([f"{n[0]}{n[-1]}v{k}" for k in range(c)]) for n, c in _columns()]
    places = [1 + FIRST[j % COLUMNS] + FIRST[-1] * (j // COLUMNS) for j in range(len(NAMES))]
    ones = [pa.array([f"{first + k}:1" for k in range(c)]) for first, (_, c) in zip(
        places, _columns(), strict=True)]  # fmt: skip
    schema = pa.schema([("click", pa.int8()), *((name, pa.string()) for name in NAMES)])
    with ExitStack() as stack:
        out: dict[str, Any] = {
            kind: stack.enter_context(
                pq.ParquetWriter(file, schema) if kind == "parquet" else file.open("wb")
            )
            for kind, file in files.items()
        }
        for codes, click in chunks(rows, seed, 25_000 if kinds == ("parquet",) else CHUNK):
            columns = [pa.array(column) for column in codes.reshape(len(codes), -1).T]
            label = pc.if_else(pa.array(click == 1), "1", "-1")
            strings = [text.take(column) for text, column in zip(texts, columns, strict=True)]
            if "parquet" in out:
                batch = pa.record_batch([pa.array(click), *strings], schema=schema)
                out["parquet"].write_batch(batch)
            if "svm" in out:
                own = [one.take(column) for one, column in zip(ones, columns, strict=True)]
                _write_lines(out["svm"], [label, *own])
            if "vw" in out:
                fields = [label]
                for v, view in enumerate(VIEWS):
                    fields += [pa.scalar(f"|{view}"), *strings[v * COLUMNS : (v + 1) * COLUMNS]]
                _write_lines(out["vw"], fields)
    return files


def _columns() -> list[tuple[str, int]]:
    return list(zip(NAMES, CARDINALITY * len(VIEWS), strict=True))


def _write_lines(out: Any, fields: list) -> None:
    lines = pc.binary_join_element_wise(*fields, " ")
    out.write("\n".join(lines.to_pylist()).encode() + b"\n")
