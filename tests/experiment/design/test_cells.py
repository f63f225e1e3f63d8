"""Cells: an identity that nothing but the settings can change, and numbers that depend on it."""

import io
import os
import subprocess
import sys
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from stemtheory import load_problem, simulate
from stemtheory.experiment.design.cells import Cell, ladder
from stemtheory.experiment.execute.provenance import commit
from stemtheory.experiment.execute.work import CellResult, half_width_of_log, load_trace, run_cell
from stemtheory.runtime import UsageError, canonical
from stemtheory.simulator import AlgorithmChoice, ProblemChoice, Run, ScheduleChoice, pairs
from tests.experiment.sweeps import other
from tests.helpers.sources import ROOT

RUN = Run.of(
    "cosine", "stem", K=2, dim=2, dials={"L": 1}, T=48, b=1.5, I=4, replicates=5, seed=3,
    engine="array", backend="numpy", noise_source="host",
)  # fmt: skip
CELL = Cell(RUN)
FAULTY = "tests.experiment.faulty:ENTRY"
GOLDEN = "b3dfc5c11993c3be9d25452a27f18d57"


def chosen(name: str, **dials: Any) -> ProblemChoice:
    return ProblemChoice(name, 2, 2, pairs(dials))


def test_the_id_is_golden() -> None:
    assert CELL.text == (
        "[[2,2,null,0],["
        '{"K":2,"dials":{"L":1,"heterogeneity":"sinusoid","noise":"phase","sigma":0.5,"zeta":1},'
        '"dim":2,"name":"cosine"},'
        '{"name":"stem","options":{}},{"name":"theorem","options":{}},'
        '{"backend":"numpy","dtype":"float64","engine":"array","noise_source":"host",'
        '"per_sample":false},1,[48,1.5,4,6,5,3]]]'
    )
    assert CELL.id == GOLDEN


def test_numbers_are_normalised() -> None:
    same = [4, 4.0, np.float64(4), np.int64(4), np.float32(4)]
    assert {canonical(value) for value in same} == {"4"}
    assert canonical(0.1) == canonical(np.float64(0.1)) == "0.1"
    assert len({canonical(value) for value in (1, True, "1", None, (1,))}) == 5
    assert canonical(-0.0) == canonical(0)
    assert canonical(0.1 + 0.2) != canonical(0.3)
    assert other(CELL, T=48, b=np.float64(1.5), B=6).id == CELL.id


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_the_id_does_not_depend_on_the_hash_seed(seed: str) -> None:
    code = "from tests.experiment.design.test_cells import CELL; print(CELL.id)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == GOLDEN


def test_the_order_of_keys_is_irrelevant() -> None:
    dials = {"zeta": 1.0, "noise": "phase", "L": 1, "sigma": 0.5}
    for order in (list(dials), sorted(dials), sorted(dials, reverse=True)):
        run = Run.of("cosine", K=2, dim=2, dials={name: dials[name] for name in order})
        assert run.problem == RUN.problem
    assert canonical({"b": 1, "a": 2}) == canonical({"a": 2, "b": 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_a_number_that_is_not_finite_is_no_key(value: float) -> None:
    with pytest.raises(ValueError, match="not finite"):
        canonical(value)


def test_other_things_are_no_key() -> None:
    with pytest.raises(TypeError):
        canonical({1, 2})


CHANGES: dict[str, Any] = {
    "T": 52,
    "b": 1.25,
    "I": 3,
    "B": 7.0,
    "replicates": 6,
    "seed": 4,
    "precision": 0.1,
    "record": 2,
    "problem": chosen("welsch"),
    "algorithm": AlgorithmChoice("stem", pairs({"sync_batch": 2})),
    "schedule": ScheduleChoice("practical", pairs({"kappa": 0.1})),
    "x1": (1.0, 2.0),
    "per_sample": True,
    "dtype": "float32",
    "engine": "fused",
    "backend": "cupy",
    "noise_source": "philox",
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_setting_of_a_run_is_part_of_the_id(name: str) -> None:
    assert other(CELL, **{name: CHANGES[name]}).id != CELL.id


def test_every_field_is_part_of_the_text() -> None:
    """All but how sizes were asked for: T before it was rounded, and the nu they come from."""
    asked = {"K", "nu", "T_requested", "clipped"}
    inner = {f.name for part in ("sizes", "numerics") for f in fields(getattr(RUN, part))}
    plain = {f.name for f in fields(Run)} - {"sizes", "numerics"}
    assert set(CHANGES) == (inner | plain | {"precision", "record"}) - asked


def test_a_cell_is_that_run_of_the_simulator() -> None:
    found = run_cell(CELL)
    trace = simulate(
        load_problem("cosine", K=2, dim=2), T=48, b=1.5, I=4, replicates=5, seed=3, backend="numpy"
    )
    assert found.status == "ok"
    assert found.grad_sq.tobytes() == trace.grad_sq.tobytes()
    assert (found.mean_grad_sq, found.stderr) == (trace.mean_grad_sq, trace.stderr)
    assert found.facts["samples_per_worker"] == trace.counts.samples_per_worker == 6 + 2 * 1.5 * 48
    assert found.facts["constants"] == trace.settings["constants"]


def test_the_global_generator_is_not_used() -> None:
    results = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        results.append(run_cell(CELL).grad_sq.tobytes())
    assert results[0] == results[1]


def test_seed_0_is_a_seed() -> None:
    zero, again, one = (run_cell(other(CELL, seed=s)).grad_sq for s in (0, 0, 1))
    assert np.array_equal(zero, again)
    assert not np.any(zero == one)


def test_what_is_compared_shares_its_noise() -> None:
    # At a constant step nothing but the noise of the first batch moves x_2, and it is the same.
    options = pairs({"eta": 1e-3, "a": 1.0})
    short = other(CELL, T=1, I=1, B=1.5)
    firsts = [
        run_cell(
            other(
                short,
                schedule=ScheduleChoice("constant", options),
                algorithm=AlgorithmChoice("stem", pairs({"sync": reading})),
            )
        ).grad_sq
        for reading in ("literal", "overwrite")
    ]
    assert np.array_equal(firsts[0], firsts[1])


def test_the_record_ends_at_T_with_the_average() -> None:
    cell = replace(CELL, record=5)
    found = run_cell(cell)
    assert found.trace is not None
    times, running = load_trace(found)
    assert times.tolist() == cell.record_times() == [1, 3, 7, 18, 48]
    assert running.shape == (5, 5)
    assert running[-1] == pytest.approx(found.grad_sq, rel=1e-12)
    assert run_cell(cell).trace == found.trace  # the bytes, too


def packed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


TIMES, RUNNING = np.array([1, 3, 48]), np.ones((3, 5))
DAMAGED: dict[str, bytes] = {
    "nothing": b"",
    "no archive": b"PK of another kind",
    "cut": packed(times=TIMES, running=RUNNING)[:-40],
    "a member is missing": packed(times=TIMES),
    "a member is left over": packed(times=TIMES, running=RUNNING, more=TIMES),
    "a row that would be broadcast": packed(times=TIMES, running=np.ones((1, 5))),
    "other replicates": packed(times=TIMES, running=np.ones((3, 4))),
    "numbers for times": packed(times=TIMES / 2, running=RUNNING),
    "times that fall": packed(times=TIMES[::-1], running=RUNNING),
    "no times": packed(times=TIMES[:0], running=RUNNING[:0]),
    "times of two axes": packed(times=TIMES[:, None], running=RUNNING),
    "a number that stands alone": packed(times=np.array(3), running=RUNNING),
    "text": packed(times=TIMES, running=np.full((3, 5), "x")),
    "objects": packed(times=TIMES, running=np.full((3, 5), None)),
    "sizes that lie": packed(times=TIMES, running=RUNNING).replace(b"(3, 5)", b"(9, 5)"),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_record_is_one_sentence(kind: str) -> None:
    found = CellResult("a-cell", "ok", grad_sq=np.ones(5), trace=DAMAGED[kind])
    with pytest.raises(UsageError, match="the record of cell a-cell cannot be read") as caught:
        load_trace(found)
    assert str(caught.value).endswith("run the sweep again with another store.")
    sound = replace(found, trace=packed(times=TIMES, running=RUNNING))
    assert load_trace(sound)[1].tolist() == RUNNING.tolist()


def test_the_ladder_of_replicates() -> None:
    assert ladder(30, None) == [30]
    assert ladder(64, 0.1) == [8, 16, 32, 64]
    assert ladder(50, 0.1) == [8, 16, 32, 50]
    assert ladder(5, 0.1) == [5]


def test_replicates_are_added_until_the_interval_is_narrow_enough() -> None:
    noise = other(CELL, x1=0.0)  # all of M is noise: it varies most
    loose = run_cell(other(noise, replicates=1024, precision=0.9))
    tight = run_cell(other(noise, replicates=1024, precision=0.2))
    capped = run_cell(other(CELL, replicates=24, precision=1e-6))
    assert loose.replicates < tight.replicates < 1024
    assert capped.replicates == 24
    width = half_width_of_log(tight.mean_grad_sq, tight.stderr, tight.replicates)
    assert width <= 0.2
    before = run_cell(other(noise, replicates=tight.replicates // 2))
    assert half_width_of_log(before.mean_grad_sq, before.stderr, before.replicates) > 0.2
    # replicates keep their noise when others are added
    assert np.array_equal(before.grad_sq, tight.grad_sq[: before.replicates])


def test_a_diverged_run_has_no_mean_but_a_finite_one() -> None:
    wild = ScheduleChoice("constant", pairs({"eta": 1e3, "a": 1.0}))
    found = run_cell(other(CELL, schedule=wild, problem=chosen("quadratic"), T=400))
    assert found.status == "diverged"
    assert (found.mean_grad_sq, found.stderr) == (None, None)
    assert found.facts["diverged_replicates"] == 5


@pytest.mark.parametrize(
    ("fault", "reason"), [("raise", "RuntimeError: this cell raises"), ("memory", "out of memory")]
)
def test_what_goes_wrong_in_a_cell_is_its_outcome(fault: str, reason: str) -> None:
    found = run_cell(other(CELL, problem=chosen(FAULTY, fault=fault)))
    assert found.status == "failed"
    assert found.reason.startswith(reason)
    assert found.mean_grad_sq is None


def test_a_nan_stays_in_its_replicate() -> None:
    bad = run_cell(other(CELL, problem=chosen(FAULTY, fault="nan")))
    good = run_cell(other(CELL, problem=chosen(FAULTY)))
    assert (bad.status, bad.mean_grad_sq) == ("diverged", None)
    assert bad.diverged_at.tolist() == [1, 0, 0, 0, 0]
    assert np.array_equal(bad.grad_sq[1:], good.grad_sq[1:])
    assert bad.mean_grad_sq_finite == pytest.approx(good.grad_sq[1:].mean(), rel=1e-15)


def test_the_commit_is_read_from_gits_files(tmp_path: Any) -> None:
    assert commit(tmp_path) is None
    git = tmp_path / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    assert commit(tmp_path) is None
    (git / "packed-refs").write_text("# pack\nabc refs/heads/main\n", encoding="utf-8")
    assert commit(tmp_path) == "abc"
    (git / "refs/heads").mkdir(parents=True)
    (git / "refs/heads/main").write_text("def\n", encoding="utf-8")
    assert commit(tmp_path) == "def"
    (git / "HEAD").write_text("123\n", encoding="utf-8")
    assert commit(tmp_path) == "123"
