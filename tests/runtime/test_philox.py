"""The counter-based stream: known answers, its layout, and that a number is its address."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from stemtheory import load_problem, simulate
from stemtheory.runtime.errors import UsageError
from stemtheory.runtime.philox import PhiloxStream, box_muller, lane_blocks, normals, philox
from stemtheory.runtime.streams import NoiseKey

# Random123, kat_vectors: philox4x32 10.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((2**32 - 1,) * 4, (2**32 - 1,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
KEY = NoiseKey(seed=0, dim=8, K=4, T=4096, b=4.0, I=3)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter: Any, key: tuple[int, int], words: str) -> None:
    assert [f"{int(word):08x}" for word in philox(counter, key)] == words.split()


def test_a_changed_round_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant: nine rounds instead of ten."""
    monkeypatch.setattr("stemtheory.runtime.philox.ROUNDS", 9)
    counter, key, words = KNOWN[0]
    assert [f"{int(word):08x}" for word in philox(counter, key)] != words.split()


def test_golden_key() -> None:
    """The stream is part of every stored result: this value may only change with its version."""
    assert KEY.philox_key() == GOLDEN


GOLDEN = (971954583, 4182400066)


def test_every_part_of_the_noise_key_matters() -> None:
    changes: list[dict[str, float]] = [
        {"seed": 1}, {"dim": 9}, {"K": 5}, {"T": 8}, {"b": 4.5}, {"I": 2},
    ]  # fmt: skip
    keys = {NoiseKey(**{**vars(KEY), **change}).philox_key() for change in changes}
    assert len(keys | {KEY.philox_key()}) == 7


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 4, 8), (2, 4, 8), (2, 3, 7), (3, 5, 5)])
def test_the_layout_is_the_one_described(shape: tuple[int, int, int]) -> None:
    """Element by element, as the module's docstring says, against the vectorised layout."""
    M, K, dim = shape
    drawn = normals((3, 4), 17, 5, 1, shape)
    for m in range(M):
        for e in range(K * dim):
            v = 16 * M * (e // 16) + 16 * m + e % 16
            lane, word = 16 * (v // 64) + v % 16, v // 16 % 4
            words = philox((lane, 17, 5, 1), (3, 4))
            pair = box_muller(*words[:2]) if word < 2 else box_muller(*words[2:])
            assert drawn[m, e // dim, e % dim] == pair[word % 2]
            assert lane < 16 * lane_blocks(K * dim, M)


def test_a_number_depends_on_its_address_alone() -> None:
    many = normals((1, 2), np.arange(6)[:, None], np.arange(9), 1, (2, 3, 5))
    for t, who in ((0, 0), (3, 8), (5, 2)):
        np.testing.assert_array_equal(many[t, who], normals((1, 2), t, who, 1, (2, 3, 5)))


def test_a_stream_hands_out_iterations_in_order() -> None:
    stream, dtype = PhiloxStream(KEY, first=8, purpose="steps", t=3), np.dtype(np.float64)
    both = [stream.standard_normal((n, 8, 1, 4, 8), dtype) for n in (2, 3)]
    expected = normals(KEY.philox_key(), np.arange(3, 8)[:, None], np.arange(8, 16), 1, (1, 4, 8))
    np.testing.assert_array_equal(np.concatenate(both), expected)


def test_the_numbers_are_standard_normals() -> None:
    """Mean, variance, fourth moment, a Kolmogorov-Smirnov test and correlations between words.

    Four-sigma tests and p > 1e-4 on 2^20 numbers: a false alarm in about 5e-4 of all keys, and
    the key is fixed.
    """
    drawn = normals((11, 12), np.arange(1024)[:, None], np.arange(8), 1, (1, 8, 16)).ravel()
    n = drawn.size
    assert n == 2**20
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((drawn**power).mean() - mean) < 4 * np.sqrt(variance / n)
    assert stats.kstest(drawn, "norm").pvalue > 1e-4
    groups = drawn.reshape(-1, 4, 16)
    for i in range(4):
        for j in range(i):
            assert abs((groups[:, i] * groups[:, j]).mean()) < 4 / np.sqrt(n / 4)


def test_purposes_and_replicates_are_apart() -> None:
    seen = [normals((1, 2), 1, who, purpose, (1, 1, 4)) for who in range(3) for purpose in range(3)]
    assert len(np.unique(seen)) == 36


def test_the_array_engine_gives_the_same_bits_for_any_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run() -> Any:
        problem = load_problem("geman_mcclure", K=3, dim=5)
        return simulate(
            problem, T=24, b=2, I=3, replicates=19, sync_batch=2, noise_source="philox"
        ).grad_sq

    whole = run()
    monkeypatch.setattr("stemtheory.simulator.array_engine.NOISE_BYTES", 1)
    monkeypatch.setattr("stemtheory.simulator.array_engine.ARRAY_BYTES", 1)
    np.testing.assert_array_equal(whole, run())


def test_only_separable_problems_have_such_noise() -> None:
    for problem, per_sample in (("logistic", False), ("cosine", True)):
        with pytest.raises(UsageError, match="noise_source philox numbers the fields"):
            simulate(
                load_problem(problem), T=8, b=1, I=1, noise_source="philox", per_sample=per_sample
            )
