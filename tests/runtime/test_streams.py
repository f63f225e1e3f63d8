"""Every random number has an address, and nothing else decides its value."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.runtime.streams import STREAM_VERSION, NoiseKey, SideBySide, blocks, generator

KEY = NoiseKey(seed=0, dim=8, K=4, T=4096, b=4.0, I=3)


def test_golden_seed() -> None:
    """The stream is part of every stored result: this value may only change with its version."""
    state = KEY.seed_sequence(0, "steps").generate_state(2, np.uint32)
    assert [int(word) for word in state] == GOLDEN


GOLDEN = [1573269570, 610701496]


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"dim": 9}, {"K": 5}, {"T": 8}, {"b": 4.5}, {"I": 2}]
)
def test_every_part_of_the_key_matters(change: dict[str, float]) -> None:
    other = NoiseKey(**{**vars(KEY), **change})
    assert other.seed_sequence(0, "steps").spawn_key != KEY.seed_sequence(0, "steps").spawn_key


def test_blocks_and_purposes_are_apart() -> None:
    purposes = ("steps", "initial")
    keys = {KEY.seed_sequence(b, p).spawn_key for b in range(4) for p in purposes}
    assert len(keys) == 8
    seeds = [seed for p in purposes for seed in KEY.replicate_seeds(range(4), p)]
    assert len({tuple(seed.generate_state(3, np.uint64)) for seed in seeds}) == 8


def test_golden_seed_of_a_replicate() -> None:
    (seed,) = KEY.replicate_seeds(range(3, 4), "steps")
    assert seed.generate_state(1, np.uint64).tolist() == [GOLDEN_REPLICATE]
    assert STREAM_VERSION == 2


GOLDEN_REPLICATE = 17639305654274899443


def test_whole_floats_are_the_whole_number() -> None:
    assert NoiseKey(**{**vars(KEY), "b": 4}).seed_sequence(0, "x").spawn_key == (
        KEY.seed_sequence(0, "x").spawn_key
    )


def test_blocks() -> None:
    assert blocks(1, 8) == [1]
    assert blocks(8, 8) == [8]
    assert blocks(19, 8) == [8, 8, 3]
    assert blocks(3, 1) == [1, 1, 1]


def test_independent_of_the_hash_seed() -> None:
    code = (
        "from stemtheory.runtime.streams import NoiseKey;"
        "print(NoiseKey(0,8,4,4096,4.0,3).seed_sequence(0,'steps').spawn_key)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert len(seen) == 1


def test_side_by_side_is_each_on_its_own() -> None:
    """Every shape fills the same numbers, in one piece or not, and goes on where it stopped."""
    seeds, dtype = KEY.replicate_seeds(range(3), "steps"), np.dtype(np.float32)
    together, alone = SideBySide(seeds), [generator(seed) for seed in seeds]
    for n in (4, 1, 2):
        expected = np.stack([s.standard_normal((n, 2, 5), dtype) for s in alone], axis=1)
        np.testing.assert_array_equal(together.standard_normal((n, 3, 2, 5), dtype), expected)
    uniforms = np.stack([stream.random((2, 5)) for stream in alone])
    np.testing.assert_array_equal(together.random((3, 2, 5)), uniforms)


def test_seed_zero_is_a_seed() -> None:
    problem = load_problem("geman_mcclure", dim=2)
    runs = [simulate(problem, T=32, b=1, I=2, seed=s).grad_sq for s in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_global_random_state_is_neither_read_nor_written() -> None:
    problem = load_problem("geman_mcclure", dim=2)
    runs = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
        runs.append(simulate(problem, T=16, b=1, I=2).grad_sq)
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # type: ignore[index]  # noqa: NPY002
    np.testing.assert_array_equal(runs[0], runs[1])


def test_replicates_differ_and_do_not_depend_on_how_many() -> None:
    problem = load_problem("quadratic", dim=2)
    many = simulate(problem, T=16, b=1, I=2, replicates=24).grad_sq
    few = simulate(problem, T=16, b=1, I=2, replicates=11).grad_sq
    assert len(np.unique(many)) == 24
    np.testing.assert_array_equal(many[:11], few)


def test_compared_runs_share_their_noise() -> None:
    """The algorithm, schedule and dials are not in the key: FedAvg(eta) sees STEM's noise."""
    problem = load_problem("quadratic", dim=2, zeta=0, noise="additive", sigma=1.0)
    other = load_problem("quadratic", dim=2, zeta=0, noise="additive", sigma=2.0)
    options = {"eta": 0.1}
    a, b = (
        simulate(
            p, "fedavg", T=4, b=1, I=1, x1=0.0, schedule="constant", schedule_options=options
        ).grad_sq
        for p in (problem, other)
    )
    np.testing.assert_allclose(4 * a, b, rtol=1e-12)  # linear in the same normals
