"""Work side by side: the same answers, whoever gives them."""

from __future__ import annotations

import os

import pytest

from stemtheory.runtime import cores, side_by_side

ORDERS = [(7, 2), (9, 2), (10, 3)]


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


def test_cores_are_counted() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)
