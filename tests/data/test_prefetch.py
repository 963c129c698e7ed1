"""Running ahead changes when items are made, and nothing else."""

import concurrent.futures.thread
import gc
import threading

import pytest

from crossview.readers.prefetch import prefetch, stopped_by


def test_same_items_same_order_in_another_thread():
    def numbers():
        for n in range(100):
            yield n, threading.current_thread()

    items = list(prefetch(numbers()))
    assert [n for n, _ in items] == list(range(100))
    assert threading.main_thread() not in {thread for _, thread in items}
    assert list(prefetch([])) == []
    assert list(prefetch(prefetch(range(5)))) == [0, 1, 2, 3, 4]


def test_the_next_item_is_made_while_this_one_is_used():
    made = [threading.Event() for _ in range(4)]

    def items():
        for event in made:
            event.set()
            yield event

    for here, event in enumerate(prefetch(items())):
        assert event.is_set()
        if here + 1 < len(made):
            assert made[here + 1].wait(timeout=60)
        # one is held and no more
        assert not any(later.is_set() for later in made[here + 2 :])


def test_what_the_items_raise_comes_in_its_place():
    def broken():
        yield 1
        yield 2
        raise ValueError("third")

    items = prefetch(broken())
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="third"):
        next(items)


def test_a_caller_who_stops_closes_what_is_behind():
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.set()

    before = threading.enumerate()
    stream = prefetch(endless())
    assert next(stream) == 1
    assert len(new := [t for t in threading.enumerate() if t not in before]) == 1
    stream.close()
    assert closed.is_set()
    assert not new[0].is_alive()


def test_a_caller_who_stops_ends_what_is_under_way_however_deep():
    stopped = threading.Event()

    def slow():
        with stopped_by(stopped.set):
            yield 1
            stopped.wait(timeout=60)
            yield 2

    stream = prefetch(prefetch(slow()))
    next(stream)
    stream.close()
    assert stopped.is_set()


def test_the_collector_may_close_a_stream_wherever_it_runs():
    """Also where the thread that it runs in holds a lock, as in `submit` of an executor."""

    def numbers():
        yield from range(100)

    def leave():
        stream = prefetch(numbers())
        next(stream)
        cycle = [stream]
        cycle.append(cycle)

    gc.disable()
    try:
        leave()
        with concurrent.futures.thread._global_shutdown_lock:
            gc.collect()
    finally:
        gc.enable()
    assert not [t for t in threading.enumerate() if t.name.startswith("crossview-prefetch")]
