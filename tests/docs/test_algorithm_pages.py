"""docs/algorithms.md: a section for every algorithm, and the table of costs is the registry's."""

from __future__ import annotations

import re

from stemtheory.algorithms import ALGORITHMS
from stemtheory.cli.inventory import entries
from tests.helpers.sources import ROOT

TEXT = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")


def test_every_recursion_has_a_section() -> None:
    headed = {
        name
        for line in re.findall(r"^## .*$", TEXT, re.MULTILINE)
        for name in re.findall(r"`(.*?)`", line)
    }
    assert headed == {entry.base for entry in ALGORITHMS.values()}


def test_every_option_is_named() -> None:
    written = set(re.findall(r"`([a-z_]+)", TEXT))
    assert {name for entry in ALGORITHMS.values() for name in entry.options} - written == set()


def test_costs() -> None:
    columns = ("gradients_per_step", "full_gradients_per_round", "vectors_up", "vectors_down")
    wanted = [
        [f"`{row['name']}`", *(str(row[c]) for c in columns)] for row in entries("algorithms")
    ]
    lines = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in lines] == wanted
