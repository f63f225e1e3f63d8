"""What is shown while a command works: nothing at first, then one line, and only on a terminal."""

from __future__ import annotations

import io
import sys
import time

import pytest

from stemtheory.cli import waiting as module
from stemtheory.cli.waiting import Waiting, clock, waiting
from stemtheory.runtime import listener


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
