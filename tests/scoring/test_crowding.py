"""Views in which many values share a slot are named."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from crossview import ViewEncoder, train

RNG = np.random.default_rng(0)
N, USERS, KINDS = 4000, 40, 12


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    user, kind = RNG.integers(0, USERS, N), RNG.integers(0, KINDS, N)
    likes = RNG.random((USERS, KINDS))[user, kind] > RNG.random(N)
    return pd.DataFrame({"user": user, "kind": [f"k{k}" for k in kind], "like": likes})


def notes(table: pd.DataFrame, hash_bits: int, model: str) -> list[str]:
    encoder = ViewEncoder(per="user", hash_bits=hash_bits)
    settings = {"C": 0.1} if model == "pa:concatenated" else {}
    trained = train(table, "like", encoder=encoder, model=model, settings=settings)
    return [line for line in trained.notes if "share a slot" in line]


@pytest.mark.parametrize("model", ["pa:concatenated", "stacking"])
def test_a_crowded_view_is_named_with_the_bits_that_it_wants(
    table: pd.DataFrame, model: str
) -> None:
    (line,) = [line for line in notes(table, 4, model) if "'personal'" in line]
    # 16 slots for each view, 16 times as many for pairs of user and kind, and for the users
    expected = (USERS * KINDS + USERS) / 2**8
    said = float(line.split("about ")[1].split()[0])
    assert said == pytest.approx(expected, rel=0.25)
    assert line.endswith(f"hash_bits={4 + math.ceil(math.log2(said))}")


def test_a_roomy_view_is_not(table: pd.DataFrame) -> None:
    assert notes(table, 12, "stacking") == []
