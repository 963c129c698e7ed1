"""A run that stops at any moment goes on as if it had not."""

import io
import itertools
import json
import shutil
import signal
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import forks
from crossview import InputError, MultiView, Perceptron, ViewEncoder, load, save, train
from crossview.cli.progress import watching
from crossview.data.labeled import LabeledSource
from crossview.saving.model_files import load_progress
from crossview.scoring.metrics import ErrorTally, RunningThreshold, Tally
from crossview.scoring.models.trained import TrainingObserver
from crossview.scoring.progressive import LabelOrder
from crossview.training.checkpoint import Checkpoint, CheckpointFile, Kept, Position, shown_apart
from crossview.training.train import settings_of
from training_runs import COLUMNS, KINDS, Killed, Killer, contents, make_table


@pytest.fixture(autouse=True)
def short_batches(monkeypatch):
    monkeypatch.setattr(LabeledSource, "batch_rows", 37)


class Rows(TrainingObserver):
    """Counts rows as a bar does, and stops a run after some of them."""

    def __init__(self, most):
        self.most, self.starts, self.done = most, [], 0

    def start_pass(self, number, n_passes, n_rows, n_done=0):
        self.starts.append((number, n_rows, n_done))
        self.done = n_done

    def add_rows(self, n_rows):
        self.done += n_rows
        if self.done > self.most:
            raise Killed


def test_a_run_that_goes_on_tells_how_far_it_was(tmp_path, capsys):
    table = make_table().drop_columns(["number"])
    given = {"model": "keco", "settings": {"schedule": "stream"}, **COLUMNS}
    given |= {"checkpoint": Checkpoint(tmp_path / "c.st", every=0.0)}
    again = {"checkpoint": Checkpoint(tmp_path / "c.st", every=0.0, resume=True)}
    n = table.num_rows
    with pytest.raises(Killed):
        train(table, "y", **given, log=(first := Rows(100)))
    # the checkpoint of a batch is written after its rows were told
    assert (first.starts, first.done) == ([(1, n, 0)], 111)
    train(table, "y", **given | again, log=(second := Rows(n)))
    assert (second.starts, second.done) == ([(1, n, 74)], n)
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    with watching(file=terminal) as observer:
        observer.start_pass(1, 1, n, 74)
        assert [(task.completed, task.total) for task in observer.bar.tasks] == [(74, n)]
    for show in (True, False):
        capsys.readouterr()
        with watching(show=show) as observer:
            observer.start_pass(1, 2, n, 74)
            observer.start_pass(2, 2, n)
        assert f"goes on in pass 1 of 2, after 74 of {n} rows\n" in capsys.readouterr().err


def arguments(model, options, path):
    number = options.get("task") == "regression"
    source = make_table()
    source = source.drop_columns(["y" if number else "number"])
    if model != "keco":  # the others have no use for rows without a label
        source = source.filter(source[source.column_names[-1]].is_valid())
    given = {"model": model, "output": path, **COLUMNS, **options}
    return source, "number" if number else "y", given


@pytest.mark.parametrize(("model", "options"), KINDS)
def test_a_run_that_was_stopped_gives_the_same_model(model, options, tmp_path):
    X, y, given = arguments(model, options, tmp_path / "whole.st")
    whole = train(X, y, **given)
    given["output"] = tmp_path / "parts.st"
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    rng = np.random.default_rng(0)
    stops, seconds = 0, [0.0]
    while True:
        try:
            observer = Killer(int(rng.integers(100, 300)))
            parts = train(X, y, **given, **kept, log=observer)
            break
        except Killed:
            stops += 1
            assert not given["output"].exists()
            assert load(kept["checkpoint"].path) is not None  # a model so far
            seconds.append(load_progress(kept["checkpoint"].path)[0]["position"]["seconds"])
    assert seconds == sorted(seconds)
    assert stops
    assert parts.seconds > seconds[-1]
    assert contents(given["output"]) == contents(tmp_path / "whole.st")
    assert parts.info == whole.info
    assert not kept["checkpoint"].path.exists()


def test_views_in_memory_and_more_rows_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("crossview.data.shuffle.MAX_BYTES", 4000)
    X, y, given = arguments("pa:squared", {"epochs": 2}, tmp_path / "whole.st")
    pq.write_table(X, tmp_path / "rows.parquet", row_group_size=90)
    rng = np.random.default_rng(1)
    views = MultiView({"a": rng.normal(size=(300, 3)), "b": rng.normal(size=(300, 2))})
    labels = rng.integers(0, 2, 300)
    for source, of_rows, more in (
        (str(tmp_path / "rows.parquet"), y, given),
        (views, labels, {"model": "cw", "scoring": "accuracy", "output": given["output"]}),
    ):
        train(source, of_rows, **more)
        whole = contents(given["output"])
        kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
        with pytest.raises(Killed):
            train(source, of_rows, **more, **kept, log=Killer(120))
        train(source, of_rows, **more, **kept)
        assert contents(given["output"]) == whole


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    X, y, given = arguments("pa:squared", {}, tmp_path / "model.st")
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0)}
    again = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    with pytest.raises(Killed):
        train(X, y, **given, **kept, log=Killer(100))
    before = kept["checkpoint"].path.read_bytes()
    swapped = X.select([X.column_names[1], X.column_names[0], *X.column_names[2:]])
    for other, changed, named in (
        (X, {"seed": 1}, "its settings: .*random_state=0.* then, .*random_state=1.* now"),
        (X, {"settings": {"C": 0.5}}, "its settings: .*C=1.0, .* then, .*C=0.5, .* now"),
        (X, {"epochs": 2}, "passes and order: .*1, 'shuffled'.* then, .*2, 'shuffled'.* now"),
        (
            X,
            {"encoder": ViewEncoder(hash_bits=9)},
            "the encoding: .*hash_bits=8, .* then, .*hash_bits=9, .* now",
        ),
        (X, {"scoring": "accuracy"}, "the metric: "),
        (X, {"views": {"n": ["n__z"], "c": ["c__color"], "t": ["t__words"]}}, "the encoding: "),
        (swapped, {}, "the encoding: .*'n__x', 'n__z'.* then, .*'n__z', 'n__x'.* now"),
        (X, {"weight": np.ones(X.num_rows)}, "the weights: None then, 'in memory' now"),
        (X.slice(1), {}, r"the number of rows: \d+ then, \d+ now"),
    ):
        expected = rf"^\S+kept\.st: is of another run: {named}.*; remove it to train from the first"
        with pytest.raises(InputError, match=expected):
            train(other, y, **given | changed, **again)
        assert kept["checkpoint"].path.read_bytes() == before
    # without resume the run starts anew, and with it, where there is no file
    first = train(X, y, **given, **kept)
    assert train(X, y, **given, **again).info == first.info


def test_a_finished_model_is_no_checkpoint_and_not_every_model_has_one(tmp_path):
    X, y, given = arguments("pa:squared", {}, tmp_path / "model.st")
    train(X, y, **given)
    kept = {"checkpoint": Checkpoint(tmp_path / "model.st", resume=True)}
    with pytest.raises(InputError, match="holds a model and no unfinished run"):
        train(X, y, **given | {"output": None}, **kept)
    with pytest.raises(InputError, match="'svmperf' learns all rows at once"):
        train(X, y, **given | {"model": "svmperf"}, checkpoint=tmp_path / "kept.st")
    with pytest.raises(InputError, match="every=-1"):
        train(X, y, **given, checkpoint=Checkpoint(tmp_path / "kept.st", every=-1))
    with pytest.raises(InputError, match="there is no folder"):
        train(X, y, **given, checkpoint=tmp_path / "no" / "kept.st")


def test_values_that_differ_are_shown_where_they_do():
    long = "same " * 30
    assert shown_apart(1, 2) == ("1", "2")
    assert shown_apart(["a", 1], ["a", 2]) == ("['a', 1]", "['a', 2]")
    was, here = shown_apart(long + "one" + long, long + "two" + long)
    assert was != here
    assert (was[:3], was[-3:]) == ("...", "...")
    assert max(map(len, (was, here))) <= 66
    assert shown_apart(long, long + "more") == (
        "...same same same same '",
        "...same same same same more'",
    )
    # scikit-learn's text leaves parameters out where they are many
    names = [f"n{i}" for i in range(500)]
    encoders = [ViewEncoder({"n": one}) for one in (names, names[:250] + names[:249:-1])]
    assert len({settings_of(encoder) for encoder in encoders}) == 2


def write_source(table, path):
    """The same rows in the format of the name."""
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=90)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        lines = []
        for row in table.to_pylist():
            label, words = 1 if row["y"] == "yes" else -1, row["t__words"]
            lines.append(f"{label} |n x:{row['n__x']} z:{row['n__z']} |t {words}\n")
        path.write_text("".join(lines))


def other_value(table, name, row, value):
    column = table[name].to_pylist()
    column[row] = value if column[row] != value else "no"
    return table.set_column(table.column_names.index(name), name, pa.array(column))


CHANGES = {
    "a cell": lambda table: other_value(table, "n__x", 20, 9.0),
    "a label": lambda table: other_value(table, "y", 20, "yes"),
    "two rows": lambda table: table.take([*range(20), 21, 20, *range(22, len(table))]),
    "a row more": lambda table: table.take([*range(20), 9, *range(20, len(table) - 1)]),
    "all rows": lambda table: table.take([*range(len(table))][::-1]),
}


IN_MAKE_TEST = [("parquet", False), ("csv", True), ("vw", False)]


@pytest.mark.parametrize(
    ("suffix", "in_order"),
    [
        pytest.param(*one, marks=[pytest.mark.exhaustive] * (one not in IN_MAKE_TEST))
        for one in itertools.product(["parquet", "csv", "jsonl", "vw"], [True, False])
    ],
)
def test_another_source_is_refused(suffix, in_order, tmp_path):
    table = make_table().drop_columns(["number"])
    table = table.filter(table["y"].is_valid())
    source, output = tmp_path / f"rows.{suffix}", tmp_path / "model.st"
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    given = {
        "model": "pa:squared",
        "encoder": ViewEncoder(hash_bits=8),
        "in_order": in_order,
        "output": output,
    }
    given |= {} if suffix == "vw" else {"y": "y", **COLUMNS}
    write_source(table, source)
    with pytest.raises(Killed):
        train(str(source), **given, **kept, log=Killer(100))
    before = kept["checkpoint"].path.read_bytes()
    changes = dict(CHANGES)
    if suffix == "parquet":
        changes["float32"] = lambda table: table.set_column(
            0, "n__x", table["n__x"].cast(pa.float32())
        )
    for change in changes.values():
        write_source(change(table), source)
        expected = (
            rf"^{source}: its rows 0 to \d+ are not those that the run of \S+kept\.st has read"
        )
        with pytest.raises(
            InputError, match=f"{expected}; bring them back, or remove the checkpoint"
        ):
            train(str(source), **given, **kept)
        assert kept["checkpoint"].path.read_bytes() == before
        assert not output.exists()
    write_source(table, source)
    resumed = train(str(source), **given, **kept)
    assert resumed.info == train(str(source), **given).info


def test_rows_that_were_never_read_may_change_and_those_of_an_earlier_pass_may_not(tmp_path):
    """In order, a run that goes on is then one over the rows as they are now."""
    table = make_table().drop_columns(["number"])
    table = table.filter(table["y"].is_valid())
    path = tmp_path / "rows.parquet"
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    changed = other_value(table, "y", len(table) - 1, "yes")
    for epochs, rows in ((1, 40), (2, 420)):
        given = {"model": "pa:squared", **COLUMNS, "in_order": True, "epochs": epochs}
        write_source(table, path)
        with pytest.raises(Killed):
            train(str(path), "y", **given, **kept, log=Killer(rows))
        write_source(changed, path)
        if epochs == 1:
            train(str(path), "y", **given, **kept, output=tmp_path / "resumed.st")
            train(str(path), "y", **given, output=tmp_path / "whole.st")
            assert contents(tmp_path / "resumed.st") == contents(tmp_path / "whole.st")
        else:
            with pytest.raises(InputError, match=r"rows\.parquet: its rows 360 to 375 are not"):
                train(str(path), "y", **given, **kept)


def test_labels_weights_and_times_in_memory_are_compared(tmp_path):
    X, _, given = arguments("pa:squared", {}, None)
    labels, ones = X["y"].to_pylist(), np.ones(X.num_rows)
    X = X.drop_columns(["y"]).append_column("when", pa.array(range(X.num_rows)))
    given |= {"views": {"n": "n__*", "c": "c__*", "t": "t__*"}}
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    with pytest.raises(Killed):
        train(X, labels, **given, weight=ones, time="when", **kept, log=Killer(100))
    other = X.set_column(X.num_columns - 1, "when", pa.array(range(X.num_rows)[::-1]))
    for rows, of_rows, weight, message in (
        (X, labels[::-1], ones, "of another run: the hash of the labels: "),
        (X, labels, ones * 2, "of another run: the hash of the weights: "),
        (other, labels, ones, "are not those that the run of"),
    ):
        with pytest.raises(InputError, match=message):
            train(rows, of_rows, **given, weight=weight, time="when", **kept)
    train(X, labels, **given, weight=ones, time="when", **kept)


def test_two_runs_cannot_share_a_checkpoint(tmp_path):
    X, y, given = arguments("pa:squared", {}, tmp_path / "model.st")
    (tmp_path / "link.st").symlink_to(tmp_path / "kept.st")

    class Second(TrainingObserver):
        """Starts a run while another one learns."""

        def start_pass(self, *args):
            for name, epochs in (("kept.st", 1), ("kept.st", 2), ("link.st", 1)):
                more = {"epochs": epochs, "checkpoint": Checkpoint(tmp_path / name, resume=True)}
                with pytest.raises(InputError, match=rf"{name}: another run .* uses this file"):
                    train(X, y, **given | {"output": None}, **more)

    (tmp_path / "kept.st.lock").touch()  # left by a process that was killed
    train(X, y, **given, checkpoint=tmp_path / "kept.st", log=Second())
    with pytest.raises(Killed):
        train(X, y, **given, checkpoint=tmp_path / "kept.st", log=Killer(1))
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize("absent", ["filelock", "xxhash"])
def test_a_missing_package_is_answered_with_its_name(absent, monkeypatch, tmp_path):
    X, y, given = arguments("pa:squared", {}, tmp_path / "model.st")
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(InputError, match=f"needs {absent}: pip install 'crossview.cli.'"):
        train(X, y, **given, checkpoint=tmp_path / "kept.st")
    assert not list(tmp_path.iterdir())


def test_it_is_time_for_a_checkpoint_now_and_then(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    checkpoint = CheckpointFile(Checkpoint(tmp_path / "kept.st", every=10.0), {})
    due = []
    for now[0] in (5.0, 9.9, 10.0, 12.0, 19.9, 20.5, 30.0, 30.5):
        due.append(checkpoint.is_due())
    assert due == [False, False, True, False, False, True, False, True]


def test_positions_come_back(tmp_path):
    fitted = Perceptron().fit(np.arange(6.0).reshape(3, 2), [0, 1, 0])
    checkpoint = CheckpointFile(
        Checkpoint(tmp_path / "kept.st", every=0.0, resume=True), {"the seed": 1}
    )
    assert checkpoint.read() is None
    position = Position(2, 7, np.random.default_rng(3).bit_generator.state, 1, 2, 2.5, 0.5)
    checkpoint.write(Kept(fitted, position, {"a.b": np.arange(3)}))
    kept = checkpoint.read()
    assert kept.position == position
    assert kept.counts["a.b"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", 0),
        ("batches", -1),
        ("batches", 2**60),
        ("unlabeled", None),
        ("order", {}),
        ("order", 3),
    ],
)
def test_a_position_that_is_made_up_is_refused(name, value, tmp_path):
    X, y, given = arguments("pa:squared", {"epochs": 2}, tmp_path / "model.st")
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    with pytest.raises(Killed):
        train(X, y, **given, **kept, log=Killer(200))
    header, state = load_progress(kept["checkpoint"].path)
    sound = dict(header["position"])
    header["position"][name] = value
    save(load(kept["checkpoint"].path), kept["checkpoint"].path, progress=(header, state))
    with pytest.raises(InputError, match=r"damaged checkpoint|random numbers"):
        train(X, y, **given, **kept)
    header["position"] = sound
    places = next(key for key in state if key.endswith("tally.places"))
    of_before = {key: array for key, array in state.items() if key != places}
    save(load(kept["checkpoint"].path), kept["checkpoint"].path, progress=(header, of_before))
    with pytest.raises(InputError, match=r"resume= has counts .*'places'\); train without it"):
        train(X, y, **given, **kept)
    state.pop("read/hashes")
    save(load(kept["checkpoint"].path), kept["checkpoint"].path, progress=(header, state))
    with pytest.raises(
        InputError, match=r"kept\.st: is a damaged checkpoint \(.* lacks .*'hashes'"
    ):
        train(X, y, **given, **kept)


@pytest.mark.parametrize(
    ("make", "some"),
    [
        (lambda: Tally(2), (np.array([0, 1, 1]), np.array([0.5, 2.0, -1.0]))),
        (lambda: Tally(3), (np.array([0, 2]), np.eye(3)[:2])),
        (ErrorTally, (np.array([1.0, 2.0]), np.array([0.5, 2.5]))),
        (lambda: LabelOrder(np.array([0, 1])), (np.array([0, 1, 1]),)),
    ],
)
def test_counts_come_back(make, some):
    counts, again = make(), make()
    counts.update(*some)
    again.set_state(counts.get_state())
    counts.update(*some)
    again.update(*some)
    left, right = counts.get_state(), again.get_state()
    assert {k: v.tolist() for k, v in left.items()} == {k: v.tolist() for k, v in right.items()}


def test_counts_of_another_kind_are_refused():
    state = Tally(3).get_state()
    with pytest.raises(InputError, match="of the counts"):
        Tally(2).set_state(state)
    state.pop("loss")
    with pytest.raises(InputError, match="of the counts"):
        Tally(3).set_state(state)


def test_a_running_threshold_comes_back():
    p = np.array([0.1, 0.4, 0.2, 0.3, 0.7])
    running, again = RunningThreshold("f1"), RunningThreshold("f1")
    again.set_state(running.get_state())
    assert again.threshold is None
    running.decide(np.array([0, 1, 0, 1, 1]), p - 0.5, p)
    again.set_state(running.get_state())
    assert again.threshold == running.threshold
    assert again.place() == running.place()


def test_kill_9_at_random_moments(tmp_path):
    """The real thing: the process is killed, and the same command goes on."""
    table = make_table(8_000).drop_columns(["number"])
    pq.write_table(table.filter(table["y"].is_valid()), tmp_path / "rows.parquet")
    small_batches = (
        "import sys; from crossview.cli import main; "
        "from crossview.data.labeled import LabeledSource; LabeledSource.batch_rows = 400; "
        "sys.exit(main(sys.argv[1:]))"
    )
    options = {"model": "pa:squared", "encoder": ViewEncoder(hash_bits=8)}
    whole = tmp_path / "whole.st"
    train(str(tmp_path / "rows.parquet"), "y", **options, output=whole)
    command = [
        *("-c", small_batches, "train", str(tmp_path / "rows.parquet")),
        *("--label", "y", "--model", "pa:squared", "--hash-bits", "8"),
    ]
    kept, parts = tmp_path / "kept.st", tmp_path / "parts.st"
    resumed = [
        *(*command, "-o", str(parts), "--checkpoint", str(kept)),
        *("--every", "0s", "--resume"),
    ]
    run = forks.start(resumed, stdout="/dev/null", stderr="/dev/null")
    while not kept.exists():
        time.sleep(0.005)
    run.kill(signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    assert (tmp_path / "kept.st.lock").exists()  # and no lock
    shutil.copy(kept, tmp_path / "copy.st")
    done = forks.run(resumed)
    assert contents(parts) == contents(whole), done.stderr
    assert not kept.exists()
    assert not list(tmp_path.glob("*.lock"))
