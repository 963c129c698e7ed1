"""Modules that load when they are used, and what a command does not wait for."""

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import python
from crossview.lazily import load_lazily


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a module that uses itself while it loads, as scipy.stats does."""
    (tmp_path / "outer_toy").mkdir()
    (tmp_path / "outer_toy" / "__init__.py").write_text("")
    inner = tmp_path / "outer_toy" / "inner"
    inner.mkdir()
    (inner / "__init__.py").write_text("value = 1\nfrom .part import value_of_part\n")
    (inner / "part.py").write_text("from outer_toy import inner\nvalue_of_part = inner.value + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("outer_toy")
    yield
    for name in [name for name in sys.modules if name.startswith("outer_toy")]:
        del sys.modules[name]


def test_a_module_loads_when_one_of_its_names_is_used(package):
    load_lazily("outer_toy.inner")
    import outer_toy.inner

    early = outer_toy.inner
    assert early.__file__.endswith("__init__.py")
    assert "outer_toy.inner.part" not in sys.modules
    from outer_toy.inner import value_of_part

    assert value_of_part == 2
    assert early.value == outer_toy.inner.value == 1
    assert sys.modules["outer_toy.inner"] is outer_toy.inner is not early
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = early.no_such_name
    load_lazily("outer_toy.inner")  # it is there
    importlib.import_module("outer_toy.inner")
    assert sys.modules["outer_toy.inner"] is outer_toy.inner


def test_threads_that_use_a_module_first_load_it_once(package, tmp_path):
    (tmp_path / "outer_toy" / "slow.py").write_text(
        "import time\nfrom outer_toy import loads\nloads.append(1)\ntime.sleep(0.05)\nvalue = 1\n"
    )
    outer = importlib.import_module("outer_toy")
    outer.loads = []
    load_lazily("outer_toy.slow")
    slow = importlib.import_module("outer_toy.slow")
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: slow.value, range(8))) == [1] * 8
    assert outer.loads == [1]


def test_a_module_that_is_not_installed_stays_so():
    load_lazily("no_such_module_toy")
    with pytest.raises(ImportError):
        importlib.import_module("no_such_module_toy")


def test_training_waits_for_nothing_that_only_comparing_needs(tmp_path):
    rows = "".join(f"{i % 7},{'uvw'[i % 3]},{'pq'[i % 2]}\n" for i in range(20))
    (tmp_path / "t.csv").write_text("a__x,b__z,y\n" + rows)
    argv = ["train", "t.csv", "--label", "y", "-o", "m.safetensors"]
    heavy = ["scipy.stats._stats_py", "sklearn.model_selection", "crossview.comparing.compare"]
    heavy += ["pandas._libs", "sklearn.pipeline", "sklearn.preprocessing", "scipy.optimize"]
    heavy += ["scipy.special._ufuncs", "numpy.f2py.f2py2e", "unittest.case", "asyncio.events"]
    code = (
        f"import sys; from crossview.cli import main; status = main({argv!r})\n"
        f"print([name for name in {heavy} if name in sys.modules]); sys.exit(status)"
    )
    done = python("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_no_command_of_every_day_loads_pandas(tmp_path):
    n = 20_000  # several batches, which share a dictionary
    columns = {
        "a__id": [f"user {i % 9000}" for i in range(n)],
        "b__text": ["cheap flights", "weather in Oslo"] * (n // 2),
        "b__x": [None if i % 7 == 0 else i / 2 for i in range(n)],
        "y": ["p", "q", "q"] * (n // 3) + ["p"] * (n % 3),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=n)
    commands = [
        "train t.parquet --label y --text b__text --model pa:squared -o m",
        "predict m t.parquet --keep a__id --explain 1 -o p.parquet",
        "evaluate m t.parquet --by b__text",
        "describe t.parquet --label y",
    ]
    code = (
        f"import sys; from crossview.cli import main\n"
        f"for words in {commands!r}:\n"
        f"    if main(words.split()) or 'pandas._libs' in sys.modules: sys.exit(words)"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_workers_of_a_comparison_load_no_pandas(tmp_path):
    (tmp_path / "looking.py").write_text(
        "import sys\n"
        "def look():\n"
        "    import numpy, sklearn.linear_model\n"
        "    X, y = numpy.eye(4), [0, 1, 0, 1]\n"
        "    sklearn.linear_model.LogisticRegression().fit(X, y)\n"
        "    return 'pandas._libs' in sys.modules\n"
    )
    code = (
        "from looking import look\n"
        "from crossview.jobs.jobs import Call, Jobs\n"
        "print(sorted(Jobs(2).run([Call(k, look, ()) for k in range(2)])))"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.stdout == "[(0, False), (1, False)]\n", done.stderr


def test_the_data_sets_load_by_their_name(tmp_path):
    done = python("-c", "import crossview; print(crossview.datasets.__name__)", cwd=tmp_path)
    assert done.stdout == "crossview.datasets\n", done.stderr
