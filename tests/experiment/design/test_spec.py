"""Specs: what they expand to, and that every mistake is named with its key and line."""

import math
import time
from pathlib import Path
from typing import Any

import pytest

from stemtheory.experiment.design.grids import spread
from stemtheory.experiment.design.points import Machine, Point, points
from stemtheory.experiment.design.spec import MODES, load_spec, parse_spec
from stemtheory.experiment.design.toml_lines import parse
from stemtheory.oracles import catalogue
from stemtheory.runtime.errors import UsageError
from stemtheory.schedules.curves import fedavg_curve, stem_curve
from tests.experiment.sweeps import SMALL, small

HOST = Machine("numpy")


def expand(text: str, mode: str = "default") -> list[Point]:
    return list(points(parse_spec(text, "test", mode), HOST))


def test_a_product_takes_every_combination() -> None:
    found = expand(SMALL)
    assert len(found) == 2 * 2 * 2 * 3
    keys = {(p.label, p.cell.run.problem.name, p.T_requested, p.nu) for p in found}
    assert len(keys) == len(found)
    assert [p.nu for p in found[:3]] == [0, 0.5, 1]  # the last axis is the fastest


def test_a_zip_takes_the_first_together_then_the_second() -> None:
    found = expand('[grids.g]\nkind = "zip"\nT = 64\nb = [1, 2]\nI = [8, 4]\n')
    assert [(p.cell.b, p.cell.I, p.nu, p.curve) for p in found] == [
        (1, 8, None, "b, I given"),
        (2, 4, None, "b, I given"),
    ]


@pytest.mark.parametrize(("label", "curve"), [("stem", stem_curve), ("fedavg", fedavg_curve)])
@pytest.mark.parametrize("nu", [0.5, 1])
def test_a_curve_through_I_has_that_I_exactly(label: str, curve: Any, nu: float) -> None:
    text = f'[settings]\nK = 2\n[algorithms.{label}]\n[grids.g]\nkind = "curve"\n'
    found = expand(f"{text}nu = {nu}\nI = [2, 3]\n")
    assert [p.cell.I for p in found] == [2, 3]
    for p in found:
        assert curve(p.T_requested, 2, nu).I == p.cell.I
        assert p.cell.T >= p.T_requested
        # no rounding: the curve itself, not its nearest whole number, passes through I
        w, power = (2, 3) if label == "stem" else (3, 4)
        assert (p.T_requested / 2.0**w) ** (nu / power) == pytest.approx(p.cell.I, rel=1e-9)


def test_the_three_sizes_are_in_one_file() -> None:
    text = SMALL + "[quick.grids.main]\nT = 16\n[full.settings]\nreplicates = 5\n"
    assert [len(expand(text, mode)) for mode in MODES] == [12, 24, 24]
    assert {p.cell.replicates for p in expand(text, "full")} == {5}
    assert {p.cell.replicates for p in expand(text, "quick")} == {3}


def test_grids_overrule_algorithms_and_those_the_settings() -> None:
    text = (
        "[settings]\nK = 2\nseed = 1\nT = 8\n[algorithms.stem]\nseed = 2\nK = 3\n[grids.g]\nK = 4\n"
    )
    (point,) = expand(text)
    assert (point.cell.run.problem.K, point.cell.run.seed, point.cell.T) == (4, 2, 8)


def test_nu_on_a_grid_replaces_b_and_I_of_the_settings() -> None:
    (first, second) = expand("[settings]\nb = 2\nI = 4\n[grids.a]\nnu = 0\n[grids.b]\nT = 64\n")
    assert (first.nu, first.cell.I) == (0, 1)
    assert (second.nu, second.cell.b, second.cell.I) == (None, 2, 4)


def test_dials_and_options_are_settings_and_axes() -> None:
    text = """
    [settings.dials]
    spectrum = 4
    [grids.g]
    schedule = "practical"
    schedule_options.kappa = [0.1, 0.2]
    dials.rotate = [false, true]
    """
    found = [p.cell.settings() for p in expand(text)]
    assert {s["dials.spectrum"] for s in found} == {4}
    assert [(s["schedule_options.kappa"], s["dials.rotate"]) for s in found] == [
        (0.1, False),
        (0.1, True),
        (0.2, False),
        (0.2, True),
    ]


def test_true_and_1_are_told_apart_whichever_comes_first() -> None:
    both = "[grids.g]\ndials.rotate = [{}, {}]\n"
    ids = [[p.cell.id for p in expand(both.format(*pair))] for pair in (("true", 1), (1, "true"))]
    assert ids[0] == ids[1][::-1]
    assert len(set(ids[0])) == 2


def test_epsilon_labels_points_and_changes_no_cell() -> None:
    found = expand("[grids.g]\nT = [16, 32]\nepsilon = [0.1, 0.01]\n")
    assert [(p.T_requested, p.epsilon) for p in found] == [
        (16, 0.1),
        (16, 0.01),
        (32, 0.1),
        (32, 0.01),
    ]
    assert len({p.cell.id for p in found}) == 2


def test_points_that_coincide_after_rounding_share_a_cell() -> None:
    # K = 8 and T = 60 < K^2: every nu is clipped to b = I = 1
    found = expand("[settings]\nK = 8\nT = 60\n[grids.g]\nnu = {from = 0, to = 1, count = 5}\n")
    assert [p.nu for p in found] == [0, 0.25, 0.5, 0.75, 1]
    assert len({p.cell.id for p in found}) == 1
    assert all(p.clipped for p in found)


def test_a_named_setting_and_its_algorithm_share_a_cell() -> None:
    text = "[settings]\nT = 64\nI = 1\nb = 2\n[algorithms.stem]\n[algorithms.minibatch-stem]\n"
    found = expand(f"{text}[grids.g]\n")
    assert [p.algorithm for p in found] == ["stem", "minibatch-stem"]
    assert len({p.cell.id for p in found}) == 1


@pytest.mark.parametrize("name", catalogue.names("sweeps"))
@pytest.mark.parametrize("mode", MODES)
def test_built_in_sweeps_expand(name: str, mode: str) -> None:
    spec = load_spec(name, mode)
    assert spec.summary
    assert next(points(spec, HOST)).grid == spec.grids[0].name


def test_grids_are_by_count_with_exact_ends() -> None:
    assert spread({"from": 0, "to": 1, "count": 11}) == tuple(i / 10 for i in range(11))
    assert 0.1 + 0.2 != 0.3
    assert spread({"from": 0.1, "to": 0.5, "count": 5}) == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert spread({"from": 1024, "ratio": 2, "count": 3}) == (1024, 2048, 4096)
    logs = spread({"from": 1e-4, "to": 0.1, "count": 4, "spacing": "log"})
    assert (logs[0], logs[-1]) == (1e-4, 0.1)
    assert logs[1:3] == (1e-3, 1e-2)
    for count in range(2, 40):
        values = spread({"from": 0, "to": 1, "count": count})
        assert (len(values), values[0], values[-1]) == (count, 0, 1)


MANY = """[algorithms]
stem = {}
fedavg = {}
[grids.g]
[grids.h]
T = {from = 1, to = 600, count = 600}
seed = {from = 1, to = 1e3, count = 1000}
"""
MISTAKES = {
    "unknown key": ("[grids.g]\nT = 16\nTT = 3\n", 3, "grids.g.TT", "did you mean T"),
    "unknown table": ("[grid.g]\n", 1, "grid", "did you mean grids"),
    "unknown algorithm": ("[algorithms.stern]\n", 1, "algorithms.stern", "did you mean stem"),
    "unknown kind": ('[grids.g]\nkind = "zap"\n', 2, "grids.g.kind", "zip"),
    "unknown label": ('[grids.g]\nalgorithms = ["x"]\n', 2, "grids.g.algorithms", "stem"),
    "a list for a label": ('[grids.g]\nalgorithms = [["stem"]]\n', 2, "grids.g.algorithms", "stem"),
    "points without end": (
        "[grids.g]\nT = {from = 1, to = 4e3, count = 4000}\nI = {from = 1, to = 3e3, count = 3000}",
        1,
        "grids.g",
        "at most 1000000 are run",
    ),
    "text for a number": ('[settings]\n\nK = "4"\n', 3, "settings.K", "whole number"),
    "fraction": ("[grids.g]\nT = [16, 1.5]\n", 2, "grids.g.T", "whole number"),
    "truth for a number": ("[settings]\nseed = true\n", 2, "settings.seed", "whole number"),
    "number for text": ("[settings]\nproblem = 3\n", 2, "settings.problem", "text"),
    "list where one value goes": ("[settings]\nK = [1, 2]\n", 2, "settings.K", "whole number"),
    "zero where it must be above": ("[grids.g]\nepsilon = [0]\n", 2, "grids.g.epsilon", "above 0"),
    "below the least": ("[settings]\nK = 0\n", 2, "settings.K", "at least 1"),
    "empty grid": ("[grids.g]\nT = 16\nnu = []\n", 3, "grids.g.nu", "empty"),
    "nan": ("[grids.g]\nsigma = [0.1, nan]\n", 2, "grids.g.sigma", "finite"),
    "a number that fades to 0": (
        "[settings]\nsigma = 1e-400\n",
        2,
        "settings.sigma",
        "so small that a float loses its digits",
    ),
    "a subnormal number": ("[grids.g]\nL = [1.0, -1e-310]\n", 2, "grids.g.L", "so small"),
    "inf": ("[settings.dials]\nspectrum = inf\n", 2, "settings.dials.spectrum", "fin"),
    "zip of unequal lengths": (
        '[grids.g]\nkind = "zip"\nb = [1, 2, 3]\nI = [1, 2]\n',
        4,
        "grids.g.I",
        "3 values",
    ),
    "b on a curve": ('[grids.g]\nkind = "curve"\nb = 2\n', 3, "grids.g.b", "leave it out"),
    "a dial that is a setting": ("[settings.dials]\nL = 2\n", 2, "settings.dials.L", "its own"),
    "an end beyond numbers": (
        "[grids.g]\nT = {from = 1, ratio = 10, count = 1000}\n",
        2,
        "grids.g.T",
        "finite",
    ),
    "more points in all than are run": (MANY, 5, "grids.h", "1200002 points in all, but at most"),
    "a record without end": (
        "[grids.g]\nrecord = [1000000000]\n",
        2,
        "grids.g.record",
        "at most 100000",
    ),
    "a number beyond a float": (
        f"[settings]\nsigma = {10**400}\n",
        2,
        "settings.sigma",
        "more than 308 digits",
    ),
    "a misprinted count": (
        "[grids.g]\nT = {from = 1, to = 8, count = 1000000000}\n",
        2,
        "grids.g.T",
        "at most 1000000",
    ),
    "a rule without an end": ("[grids.g]\nT = {from = 1, count = 3}\n", 2, "grids.g.T", "ratio"),
    "in an overriding size": ("[quick.settings]\nKK = 1\n", 2, "quick.settings.KK", "K"),
    "over several lines": ("[grids.g]\nT = [\n 16,\n -1,\n]\n", 2, "grids.g.T", "at least 1"),
    "no grid": ('summary = "x"\n', None, "grids", "missing"),
}


@pytest.mark.parametrize(("text", "line", "key", "hint"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_line(text: str, line: int | None, key: str, hint: str) -> None:
    mode = "quick" if "quick" in text else "default"
    with pytest.raises(UsageError) as caught:
        parse_spec(text, "test", mode)
    said = str(caught.value)
    assert key.removeprefix("quick.") in said
    assert hint in said
    assert line is None or f"test.toml, line {line}:" in said


DISAGREEMENTS = {
    "dial": ('[grids.a]\n[grids.b]\nproblem = "cosine"\ndials.glow = 3\n', 2, "no dial glow"),
    "problem": ('[grids.b]\nproblem = "cosin"\n', 1, "did you mean cosine"),
    "nu out of range": ("[grids.b]\nnu = 1.5\n", 1, "[0, 1]"),
    "nu of a pinned algorithm": ("[algorithms.fed-stem]\n[grids.b]\nnu = 0.5\n", 2, "fixes it"),
    "schedule option": ("[grids.b]\nschedule_options.kappa = 1\n", 1, "kappa"),
    "backend": ('[grids.b]\nbackend = "foo"\n', 1, "'foo' is unknown"),
    "start of another dimension": (
        "[settings]\ndim = 2\nx1 = [1, 2, 3]\n[grids.b]\nT = 16\n",
        4,
        "x1 has shape (3,), but it must be one finite number or 2 of them",
    ),
    "nu and b": ("[grids.b]\nnu = 0.5\nb = 2\n", 1, "nu chooses both"),
    "I on a curve of nu 0": ('[grids.b]\nkind = "curve"\nnu = 0\nI = 4\n', 1, "does not fix T"),
}


@pytest.mark.parametrize(("text", "line", "hint"), DISAGREEMENTS.values(), ids=DISAGREEMENTS)
def test_settings_that_do_not_add_up_name_their_grid(text: str, line: int, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        expand(text)
    assert f"test.toml, line {line}: grids.b" in str(caught.value)
    assert hint in str(caught.value)


def test_invalid_toml_says_where() -> None:
    with pytest.raises(UsageError, match="line 2"):
        parse_spec("[grids.g]\nT = = 3\n", "test")


def test_a_number_of_thousands_of_digits_is_one_sentence() -> None:
    with pytest.raises(UsageError, match=r"test\.toml holds a number of thousands of digits"):
        parse_spec(f"[grids.g]\nT = {'9' * 5000}\n", "test")


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path) -> None:
    """As some editors write one."""
    for mark in ("", "\ufeff"):
        (tmp_path / "s.toml").write_text(mark + SMALL, encoding="utf-8")
        assert load_spec(tmp_path / "s.toml").settings == small().settings


def test_the_lines_of_a_long_array_take_time_in_its_length_only() -> None:
    """A quadratic reader took a minute for 4000 lines; this one is given 40,000."""
    text = "[grids.g]\nT = [\n" + "  16, # [\n" * 40_000 + "]\nb = 1\n"
    began = time.process_time()
    assert parse(text, "x").lines[("grids", "g", "b")] == 40_004
    assert time.process_time() - began < 10


def test_missing_files_and_names() -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_spec("no/such/file.toml")
    with pytest.raises(UsageError, match="did you mean margins"):
        load_spec("margin")


def test_lines_survive_strings_comments_and_inline_tables() -> None:
    text = (
        '# [a]\n"q.x" = """\n[fake]\nkey = 1\n"""\n[t] # c\nrow = [\n  1, # = \n]\n'
        "u = {v = 1, w = {z = 2}}\nd.e = 5\n[t.s]\nk = 1\n"
    )
    lines = parse(text, "x").lines
    assert lines[("q.x",)] == 2
    assert lines[("t",)] == 6
    assert lines[("t", "row")] == 7
    assert lines[("t", "u", "w", "z")] == 10
    assert lines[("t", "d", "e")] == 11
    assert lines[("t", "s", "k")] == 13
    assert ("fake",) not in lines


def test_the_tests_own_sweep_is_finite_and_small() -> None:
    assert math.prod(len(values) for _, values in small().grids[0].axes) == 12
