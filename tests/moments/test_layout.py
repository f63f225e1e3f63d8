"""Where what lies in the state: every number has one place, and a view shows what it says."""

from __future__ import annotations

import numpy as np
import pytest

from stemtheory.moments.layout import StateLayout, half, upper

LAYOUTS = [
    StateLayout(1, 1, (), ()),
    StateLayout(2, 3, (0, 1), ()),
    StateLayout(3, 3, (0, 2), (2,)),
]


@pytest.mark.parametrize("form", LAYOUTS)
def test_every_number_has_one_place(form: StateLayout) -> None:
    places = [list(range(half(form.N)))]
    places += [list(range(form.size))[own] for own in form.covariance.values()]
    taken = [i for place in places for i in place]
    assert taken == list(range(form.size - 1))  # the last is the running sum
    assert [form.place(g).start for g in range(form.groups)] == [
        1 + g * form.variables for g in range(form.groups)
    ]
    for g, own in form.covariance.items():
        known = form.variables + (g in form.offset)
        assert own.stop - own.start == known * (known + 1) // 2


@pytest.mark.parametrize("form", LAYOUTS)
def test_what_moves_leaves_out_what_is_known(form: StateLayout) -> None:
    """1 and the offsets o stay what they are: their moments are not among those from z_1 on."""
    moving = form.linear(1)
    rows, columns = upper(form.N)
    still = {i for i, (p, q) in enumerate(zip(rows, columns, strict=True)) if p == 0 or q == 0}
    for g in form.offset:
        own = form.covariance[g]
        still |= {own.start + j for j in range(form.variables + 1)}  # the row of o comes first
    assert sorted(still) == sorted(set(range(form.size - 1)) - set(moving.tolist()))


def test_a_view_shows_a_worker_and_the_mean() -> None:
    form, shares = StateLayout(2, 3, (1,), (1,)), np.array([0.25, 0.75])
    z = np.array([1.0, *(2.0, 3.0, 5.0), *(7.0, 11.0, 13.0)])
    view = form.view(1, shares)
    assert [row @ z for row in view.own] == [7.0, 11.0, 13.0]
    assert [row @ z for row in view.mean] == [5.75, 9.0, 11.0]
    assert view.one @ z == 1.0
    apart, deviation = form.deviation_view(1), np.array([17.0, 19.0, 23.0, 29.0])  # o first
    assert [row @ deviation for row in apart.own] == [19.0, 23.0, 29.0]
    assert apart.one @ deviation == 17.0
    assert not np.any(apart.mean)
