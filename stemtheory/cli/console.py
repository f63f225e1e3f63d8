"""What the command line prints, and how it ends: one sentence on stderr and an exit code.

0 done and as expected; 1 a bound or claim was violated, a run diverged or work failed; 2 bad usage;
130 and 143 after a clean stop by SIGINT and SIGTERM.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from stemtheory.cli.blame import theirs
from stemtheory.cli.streams import (
    OutputLostError,
    close_stdout,
    document_alone,
    take_any_stream,
    write,
)
from stemtheory.runtime import UsageError, is_out_of_handles, rounded, say_waiting, to_json

WIDTH = 100  # where no terminal says otherwise, so that what is piped does not depend on it
LARGEST_WIDTH = 10_000  # of a terminal: to ask how wide a table must be, not how wide it may be
PIECES = 500  # of a text that are written at once, such as rows
REMINDER = 1.0  # seconds after which a signal that was lost is raised again


class Stopped(BaseException):
    """A signal asked the command to stop; no error, so that nothing catches it by accident."""

    def __init__(self, number: int) -> None:
        self.name = signal.Signals(number).name
        self.code = 128 + number
        super().__init__(self.name)


@contextlib.contextmanager
def stoppable(last: bool = False) -> Iterator[None]:
    """Turn SIGINT and SIGTERM into `Stopped`, so that files are closed and threads end.

    After the ``last`` work of a process they are ignored: there is nothing left to stop, and the
    exit code stands.

    What a handler raises is lost where Python happens to be in a finaliser: an alarm asks again,
    until the work is over or an exception of ours is on its way up.
    """
    asked: list[int] = []

    def stop(number: int, _frame: object) -> None:
        if number != signal.SIGALRM and (workers := multiprocessing.active_children()):
            if not asked:
                say_waiting()
            if asked and last:  # threads whose pipes are cut would say so, as Python ends
                threading.excepthook = lambda _: None
                sys.unraisablehook = lambda _: None
            for worker in workers if asked else ():
                worker.kill()
        asked.append(number)
        signal.setitimer(signal.ITIMER_REAL, REMINDER)
        if number != signal.SIGALRM or not _on_its_way_up(sys.exc_info()[1]):
            raise Stopped(asked[0])

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may install handlers
        return
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if last else handler)


def _on_its_way_up(error: BaseException | None) -> bool:
    """Return whether a `Stopped` is being handled: clean-up must not be cut short by another."""
    while error is not None and not isinstance(error, Stopped):
        error = error.__context__
    return error is not None


def guarded(work: Callable[[], object], as_json: bool = False, last: bool = False) -> int:
    """Return the exit code of ``work``; whatever it raises becomes one sentence on stderr.

    ``as_json`` says that stdout is for what ``emit`` writes, and for nothing else; ``last`` that
    the process ends after it.
    """
    take_any_stream()
    try:
        with stoppable(last), document_alone() if as_json else contextlib.nullcontext():
            code = work()
            write("")
    except Stopped as stop:
        return complain(f"stopped by {stop.name}; no half-written file was left.", stop.code)
    except UsageError as error:
        return complain(str(error), 2)
    except BrokenPipeError:
        close_stdout()  # the reader, such as head, has seen enough
        return 0
    except SystemExit as end:
        code = end.code
        if isinstance(end.__context__, BrokenPipeError):  # so does the parser end on a closed pipe
            close_stdout()
            return 0
        if (said := theirs(end)) is not None:
            return _foreign(end, said)
    except OutputLostError as error:
        close_stdout()
        return complain(f"stdout cannot be written ({error}): send it elsewhere.", 1)
    except MemoryError as error:
        return complain(f"out of memory ({error}): lower replicates, K, dim or --record-every.", 1)
    except BaseException as error:
        if hasattr(error, "format_message"):  # the parser's own, whichever package it comes from
            return complain(usage_sentence(error), 2)
        if is_out_of_handles(error):
            return complain("too many files are open: raise ulimit -n, or lower --jobs.", 1)
        if (said := theirs(error)) is not None:
            return _foreign(error, said)
        if not isinstance(error, Exception):
            raise
        if os.environ.get("STEMTHEORY_DEBUG"):
            raise
        text = (
            f"the work failed ({type(error).__name__}: {error}): set STEMTHEORY_DEBUG=1 for more."
        )
        return complain(text, 1)
    return code if isinstance(code, int) else 0


def _foreign(error: BaseException, sentence: str) -> int:
    """Say that a user's own code raised; Python shows no traceback of a SystemExit itself."""
    if os.environ.get("STEMTHEORY_DEBUG"):
        traceback.print_exception(error)
    return complain(sentence, 1)


def usage_sentence(error: Any) -> str:
    """Return the parser's complaint as one sentence that says where help is."""
    text = error.format_message().strip().rstrip(".")
    context = getattr(error, "ctx", None)
    commands = getattr(getattr(context, "command", None), "commands", None)
    if commands and "command" in text.lower():
        text += f"; known are {', '.join(commands)}"
    where = getattr(context, "command_path", "stemtheory")
    return f"{text}: see {where} --help."


def complain(sentence: str, code: int) -> int:
    """Print one line on stderr and return the exit code."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"error: {' '.join(sentence.split())}\n")
    return code


def note(text: str) -> None:
    """Print progress on stderr, where it does not disturb a document on stdout."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def emit(document: Mapping[str, Any], as_json: bool, show: Callable[[], None]) -> None:
    """Print the document as JSON and nothing else, or let ``show`` print it for people."""
    if as_json:
        write(to_json(document))
    else:
        show()


def csv(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print rows as CSV: every column that any of them has, lists and tables as JSON text.

    The rows are gone through twice, and are never held all at once.
    """
    import csv as library

    columns = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = library.writer(buffer, lineterminator="\n")

    def lines() -> Iterator[str]:
        for row in chain([dict(zip(columns, columns, strict=True))], rows):
            writer.writerow([_cell(row.get(name)) for name in columns])
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()

    write_all(lines())


def write_all(pieces: Iterator[str]) -> None:
    """Write very many pieces of text, some hundred at a time."""
    while block := "".join(islice(pieces, PIECES)):
        write(block)


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    title: str = "",
    cut: Sequence[str] = (),
) -> None:
    """Print a table; columns whose cells are all numbers are aligned to the right.

    Cells of the columns in ``cut`` keep to one line, with an ellipsis where they are too long.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    def cell_text(value: object, one_line: bool) -> Text:
        text = number(value)
        return Text(text, no_wrap=True, overflow="ellipsis") if one_line else Text(text)

    grid = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_header=any(columns),
    )
    for i, name in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[i], int | float | None) for row in rows)
        fixed = i == 0 or (bool(cut) and name not in cut)
        # what may not wrap says how wide it is: rich would measure its longest word alone
        width = max(cell_len(text) for text in (name, *(number(row[i]) for row in rows)))
        grid.add_column(
            name,
            justify="right" if numeric else "left",
            no_wrap=fixed,
            min_width=width if fixed else None,
        )
    for row in rows:
        grid.add_row(*(cell_text(c, name in cut) for name, c in zip(columns, row, strict=True)))
    _print(grid)


def line(text: str) -> None:
    """Print one line of text, wrapped to the width of the terminal."""
    _print(text)


def number(value: object) -> str:
    """Return a cell: four digits of a float, a whole number in full, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return rounded(value, 4)
    whole = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if whole else str(value)


def _print(thing: Any) -> None:
    """Print text or a table without the blanks that only fill it up to its width.

    A table is at least as wide as its longest words: a terminal may fold a line, but no digit of a
    number is cut off.
    """
    from rich.console import Console

    tty, text = sys.stdout.isatty(), io.StringIO()
    console = Console(
        file=text,
        force_terminal=tty,
        width=None if tty else WIDTH,
        markup=False,
        emoji=False,
        highlight=False,
    )
    if not isinstance(thing, str):
        wide = console.options.update(width=LARGEST_WIDTH)
        console.width = max(console.width, console.measure(thing, options=wide).minimum)
    console.print(thing)
    lines = (line.rstrip() for line in text.getvalue().splitlines())
    write("".join(f"{line}\n" for line in lines if line))
