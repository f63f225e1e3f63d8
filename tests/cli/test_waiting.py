"""What is shown while a command works: nothing at first, then one line, and only on a terminal."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stemtheory.cli import waiting as module
from stemtheory.cli.app import main
from stemtheory.cli.waiting import Waiting, clock, waiting
from stemtheory.report import draw_figures
from stemtheory.runtime import UsageError, listener


class Terminal(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time, which a test sets."""
    time_is = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: time_is[0])
    return time_is


def test_the_time_that_is_left_is_by_the_speed_so_far(now: list[float]) -> None:
    shown = Waiting(lines=False)
    shown("checking claims")
    now[0] = 10.0
    assert shown.said() == "checking claims; 10 s so far"  # nothing is known yet
    shown.share(0.25)
    assert shown.said() == "checking claims; 25%; about 30 s to go; 10 s so far"
    shown.share(0.2)  # never backwards
    assert "25%" in shown.said()
    shown.share(1.0)
    assert "about 0 s to go" in shown.said()


def test_guessed_shares_are_said_to_be_guesses(now: list[float]) -> None:
    shown = Waiting(lines=True, rough=True)
    now[0] = 10.0
    shown.share(0.25)
    assert shown.said() == (
        "25%; very roughly 30 s to go, by shares that were guessed; 10 s so far"
    )


@pytest.mark.parametrize(("flag", "rough"), [("--full", True), ("--quick", False)])
def test_reproduce_says_which_of_its_sizes_was_never_measured(
    flag: str, rough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stemtheory.report import reproduction

    def stops(**how: Any) -> None:
        raise UsageError(f"rough: {how['progress'].rough}")

    monkeypatch.setattr(reproduction, "reproduce", stops)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    assert main(["reproduce", flag]) == 2
    assert f"rough: {rough}" in stream.getvalue()


def test_a_figure_of_which_no_sweep_says_how_long_it_takes_says_so(tmp_path: Path) -> None:
    told: list[str] = []
    for name in ("tests.helpers.example_figure:ENTRY", "tradeoff_curve"):
        draw_figures([name], mode="quick", out=tmp_path, progress=told.append)
    assert "figure bound: computing, how long is not known" in told
    assert "figure tradeoff_curve: computing" in told


def test_what_was_there_already_says_nothing_of_the_speed(now: list[float]) -> None:
    shown = Waiting(lines=False)
    shown.share(0.5, True)
    now[0] = 10.0
    assert shown.said() == "10 s so far"
    shown.share(0.6)
    assert shown.said() == "60%; about 40 s to go; 10 s so far"


def test_a_short_command_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting(lines=True) as told:
        told("working")
        listener()(0.5)
    assert stream.getvalue() == ""


def test_a_long_one_shows_a_line_and_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "AFTER", 0.01)
    monkeypatch.setattr(module, "EVERY", 0.01)
    with waiting() as told:
        told("working")
        listener()(0.5)
        deadline = time.monotonic() + 20
        while "50%; about" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "working; 50%; about" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


@pytest.mark.parametrize(("lines", "seen"), [(False, ""), (True, "first\nsecond\n")])
def test_where_there_is_no_terminal_stages_are_lines_or_nothing(
    lines: bool, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(module, "AFTER", 0.0)
    with waiting(lines) as told:
        for text in ("first", "first", "second"):
            told(text)
        listener()(0.5)
    assert stream.getvalue() == seen


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(1e-14, "0 s"), (0.1234, "0.12 s"), (42.4, "42 s"), (600, "10 min"), (7200, "2.0 h")],
)
def test_clock(seconds: float, said: str) -> None:
    assert clock(seconds) == said
