"""Files are written whole, through symbolic links, and nothing is left behind."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stemtheory.cli.app import main
from stemtheory.runtime.errors import UsageError
from stemtheory.runtime.files import write_file, write_whole

Write = Callable[[Path, str], Any]


def names(folder: Path) -> list[str]:
    """Return what lies in a folder."""
    return sorted(path.name for path in folder.iterdir())


def replaces_the_link(path: Path, text: str) -> None:
    """Mutant: the part takes the place of the name that was given."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def writes_into_it(path: Path, text: str) -> None:
    """Mutant: a reader sees half a file, and what was there is gone when it fails."""
    with path.open("w", encoding="utf-8") as file:
        file.write(text[:1])
        file.write(text[1:])


def goes_through_links(write: Write, folder: Path) -> bool:
    """Whether a link stays one and the file that it means is replaced, there or not."""
    (folder / "far").mkdir()
    (folder / "far" / "old").write_text("old", encoding="utf-8")
    found = []
    for name in ("old", "new"):
        link = folder / f"{name}-link"
        link.symlink_to(Path("far") / name)  # relative to the folder of the link
        write(link, "text")
        target = folder / "far" / name
        found += [link.is_symlink(), target.exists() and target.read_text("utf-8") == "text"]
    return all(found) and names(folder / "far") == ["new", "old"]


def keeps_the_old_one(write: Write, folder: Path) -> bool:
    """Whether a writer that is stopped halfway leaves what was there, and nothing else."""
    path = folder / "file"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(UnicodeEncodeError):
        write(path, "h\udcff")
    return path.read_text("utf-8") == "old" and names(folder) == ["file"]


def in_pieces(path: Path, text: str) -> Path:
    """Write one letter after the other; one that has no UTF-8 raises in the middle."""

    def fill(file: Any) -> None:
        for letter in text:
            file.write(letter.encode())

    return write_file(path, fill)


def test_links_are_written_through(tmp_path: Path) -> None:
    for number, write in enumerate((write_whole, in_pieces)):
        (tmp_path / str(number)).mkdir()
        assert goes_through_links(write, tmp_path / str(number))
    (tmp_path / "mutant").mkdir()
    assert not goes_through_links(replaces_the_link, tmp_path / "mutant")


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    for name in ("file", "mutant"):
        (tmp_path / name).mkdir()
    assert keeps_the_old_one(in_pieces, tmp_path / "file")
    assert not keeps_the_old_one(writes_into_it, tmp_path / "mutant")


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "stray").symlink_to(Path("none") / "file")
    for name in ("none/file", "a", "stray"):
        with pytest.raises(UsageError, match=r"cannot be written \(.+\): choose another folder"):
            write_whole(tmp_path / name, "text")
    assert names(tmp_path) == ["a", "b", "stray"]


def test_no_two_writers_share_a_part(tmp_path: Path) -> None:
    """Eight threads that write one file at a time all succeed, and nothing is left over."""
    with ThreadPoolExecutor(8) as pool:
        texts = [str(n) * 1000 for n in range(80)]
        for done in [pool.submit(write_whole, tmp_path / "file", text) for text in texts]:
            done.result()
    assert (tmp_path / "file").read_text("utf-8") in texts
    assert names(tmp_path) == ["file"]


def test_a_planted_part_is_neither_written_nor_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even one whose name was foretold: the part is made new, or not at all."""
    (tmp_path / "victim").write_text("old", "utf-8")
    monkeypatch.setattr("os.urandom", lambda n: b"\0" * n)
    (tmp_path / f".{'00' * 8}.part").symlink_to("victim")
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "file", "new")
    assert (tmp_path / "victim").read_text("utf-8") == "old"


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []
    flush = os.fsync

    def noted(descriptor: int) -> None:
        done.append((tmp_path / "file").exists())
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    write_whole(tmp_path / "file", "text")
    assert done == [False, True]  # the file, then the folder


RUN = ["run", "cosine", "stem", "--T", "8", "--dim", "2", "--replicates", "2", "--out"]


def test_a_run_writes_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "trace.json", tmp_path / "far" / "real.json"
    link.symlink_to(target)
    assert main([*RUN, str(link)]) == 0
    assert f"written: {link}" in capsys.readouterr().out.replace("\n", "")
    assert link.is_symlink()
    assert target.read_text("utf-8").startswith("{")
    stray = tmp_path / "stray.json"
    stray.symlink_to(tmp_path / "none" / "real.json")
    assert main([*RUN, str(stray)]) == 2
    assert "stray.json cannot be written (No such file" in capsys.readouterr().err
