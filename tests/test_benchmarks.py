"""Pages say what benchmarks computed: each command exists, and findings follow from the tables."""

import re
from pathlib import Path

import pytest

from benchmarks.__main__ import known
from benchmarks.harness import BENCHMARKS, Table, apart, numbers, results_in_turn, size

ROOT = Path(__file__).resolve().parents[1]
PAGES = {page: page.read_text() for page in (ROOT / "docs").rglob("*.md")}


@pytest.fixture(scope="module", autouse=True)
def all_known():
    known("speed")
    known("evidence")


def test_each_command_on_a_page_is_a_benchmark_and_each_benchmark_has_its_place_on_a_page():
    commands = {
        command
        for text in PAGES.values()
        for command in re.findall(r"`python -m benchmarks (\w+) (\w+)", text)
        if command[0] != "papers"
    }
    assert commands == {(one.room, one.name) for one in BENCHMARKS.values()}
    for one in BENCHMARKS.values():
        assert f"<!-- {one.room} {one.name} -->\n" in PAGES[ROOT / one.page], one.name


def test_findings_on_the_pages_follow_from_the_tables_there():
    looked_at = 0
    for one in BENCHMARKS.values():
        text = PAGES[ROOT / one.page].partition(f"<!-- {one.room} {one.name} -->\n")[2]
        block = text.partition("<!-- end -->")[0]
        if one.findings is not None:
            said = re.findall(r"^- (.+)$", block.partition("Findings:\n")[2], re.MULTILINE)
            assert said == one.findings(list(Table.read(block))), one.name
            looked_at += 1
    assert looked_at > 9


def test_a_table_is_read_as_it_is_written_and_updated_row_by_row():
    table = Table(["set", "a", "b"], [["x", "1.5 ± 0.2", ""], ["y", "", "lr=3: 2,000"]], "T")
    (again,) = Table.read(f"Words.\n\n{table}\n\nMore.\n")
    assert again == table
    assert table.column("a") == {"x": 1.5}
    assert table.column("a", 1) == {"x": 0.2}
    assert table.column("b", -1) == {"y": 2000.0}
    newer = table.updated(Table(table.header, [["y", "7", ""], ["z", "8", ""]], "T"))
    assert [row[0] for row in newer.rows] == ["x", "y", "z"]
    assert newer.column("a") == {"x": 1.5, "y": 7.0, "z": 8.0}


def test_numbers_of_a_cell():
    assert numbers("**98.5** (-0.4 to +1e-3), 2,000 rows") == [98.5, -0.4, 1e-3, 2000.0]
    assert numbers("pa:squared, none") == []


def test_tasks_take_turns_and_the_first_call_is_not_counted():
    calls = []
    tasks = {name: lambda name=name: calls.append(name) or len(calls) for name in "ab"}
    assert results_in_turn(tasks, size(2, 2)) == {"a": [3, 5], "b": [4, 6]}


def test_a_function_apart_returns_its_result_and_the_memory_of_its_own_process():
    ballast = bytearray(200 << 20)
    found, peak = apart(numbers, "1 and 2.5")
    assert found == [1.0, 2.5]
    assert 5.0 < peak < 150.0 < len(ballast) / 2**20
