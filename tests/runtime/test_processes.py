"""Work side by side: the same answers, whoever gives them."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from stemtheory.runtime import cores, shared_processes, side_by_side

ORDERS = [(7, 2), (9, 2), (10, 3)]


def wait_for(file: str, then: str) -> int:
    """Wait until a file is there, write another, and return the number of this process."""
    while not Path(file).exists():
        time.sleep(0.01)
    if then:
        Path(then).touch()
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_do_not_depend_on_the_number_of_processes(jobs: int) -> None:
    assert sorted(side_by_side(divmod, ORDERS, jobs)) == [(3, 1), (3, 1), (4, 1)]


def test_one_job_and_one_order_need_no_process() -> None:
    assert list(side_by_side(os.getpid, [(), ()], 1)) == [os.getpid()] * 2
    assert list(side_by_side(os.getpid, [()], 2)) == [os.getpid()]
    assert os.getpid() not in side_by_side(os.getpid, [(), ()], 2)
    assert list(side_by_side(os.getpid, [], 2)) == []


def test_what_goes_wrong_in_a_process_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(divmod, [(1, 1), (1, 0)], 2))


def test_shared_processes_do_all_work_and_begin_before_they_are_asked(tmp_path: Path) -> None:
    first, later = tmp_path / "first", tmp_path / "later"
    with shared_processes(2):
        waits_for_later = side_by_side(wait_for, [(str(later), str(first))], 2)
        begun = side_by_side(wait_for, [(str(first), "")] * 3, 2)
        later.touch()
        pids = {*begun, *waits_for_later}
    assert len(pids) <= 2
    assert os.getpid() not in pids
    assert not {*side_by_side(os.getpid, [(), ()], 2)} & pids


def test_shared_processes_end_with_what_has_not_begun(tmp_path: Path) -> None:
    """One order is at work, one is on its way to it; what stands behind never begins."""
    start, orders = tmp_path / "start", [(str(tmp_path / f"{i}"),) for i in range(20)]
    with shared_processes(2):
        side_by_side(wait_for, [(str(start), "")] * 2, 2)
        side_by_side(Path.touch, [(Path(name),) for (name,) in orders], 2)
        threading.Timer(0.2, start.touch).start()
    assert len(list(tmp_path.iterdir())) < len(orders)


def test_one_process_is_shared_with_nobody() -> None:
    with shared_processes(1):
        assert list(side_by_side(os.getpid, [(), ()], 1)) == [os.getpid()] * 2


def test_cores_are_counted() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
