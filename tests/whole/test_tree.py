"""The tree speaks of itself alone: no path of a machine, no package index, no foreign host."""

from __future__ import annotations

import re

import pytest

from tests.helpers.sources import tree_files

# A path of one machine, an address of a package index, any host but a paper's.
MACHINE = re.compile(r"(?<![\w.$}*])/(?:home|root|Users|tmp|work|workspace|mnt|scratch)/\w")
INDEX = re.compile(r"--(?:extra-)?index-url|--find-links|://[^\s/]+/simple\b|pythonhosted|pypi\.")
HOST = re.compile(
    r"\bhttps?://(?!www\.w3\.org/|www\.w3\.org\b|example\.org\b|arxiv\.org/abs/)[\w.-]+"
)
# These show such texts on purpose: a table of mounts, the mutants below, and a library's own file,
# kept as it came, with the place where it is made.
EXEMPT = {
    "tests/experiment/store/test_store.py",
    "tests/whole/test_tree.py",
    "stemtheory/report/explorer/templates/uplot.min.js",
}


def faults(text: str) -> list[str]:
    """Return what a text names of a machine, an index or a host."""
    return [found.group() for rule in (MACHINE, INDEX, HOST) for found in rule.finditer(text)]


def test_no_file_names_a_machine_or_an_index() -> None:
    found = {name: faults(text) for name, text in tree_files().items() if name not in EXEMPT}
    assert len(found) > 300
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "text",
    [
        "cd /home/me/project",
        '{"store": "/tmp/x.sqlite"}',
        "pip install --index-url https://example.org/simple x",
        f"see files.{'python'}hosted.org",
        "http://build.internal:8080/",
    ],
)
def test_such_a_text_is_found(text: str) -> None:
    assert faults(text) != []


def test_a_link_to_a_standard_passes() -> None:
    relative = "/".join(("..", "tmp", "x $HOME", "work", "x"))
    assert faults(f'xmlns="http://www.w3.org/2000/svg" {relative}') == []
