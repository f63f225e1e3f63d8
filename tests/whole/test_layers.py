"""The rules about imports and random numbers refuse what they forbid, and the house keeps its size.

The rules themselves stand in pyproject.toml: import-linter's contracts and ruff's banned names.
Here each is shown a copy of the tree with one violation planted.
"""

from __future__ import annotations

import graphlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests.helpers.sources import PACKAGE, ROOT, package_files

CATALOGUES = ("figures", "problems", "sweeps")
LINT_IMPORTS = (
    "-c",
    "from importlinter.cli import lint_imports_command as run; run()",
    "--no-cache",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of all that the two linters read."""
    tree = tmp_path_factory.mktemp("layers")
    skip = shutil.ignore_patterns("__pycache__")
    for folder in ("stemtheory", *CATALOGUES):
        if (ROOT / folder).is_dir():  # an sdist holds the catalogues inside of the package alone
            shutil.copytree(ROOT / folder, tree / folder, symlinks=True, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", tree)
    return tree


def refused(tree: Path, *command: str) -> str:
    """Return what a linter prints about the tree, or '' if nothing is wrong."""
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout if done.returncode else ""


def planted(tree: Path, module: str, line: str, *command: str) -> str:
    """Return what a linter prints with a line added to a module; the module is put back."""
    path = tree / module
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n", encoding="utf-8")
    try:
        return refused(tree, *command)
    finally:
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")


# The contract that must be broken, the module that breaks it, and how.
IMPORTS = {
    "upwards": (
        "A room imports from those below it",
        "stemtheory/runtime/streams.py",
        "from stemtheory.simulator import simulate",
    ),
    "upwards, relative": (
        "A room imports from those below it",
        "stemtheory/algorithms/stem.py",
        "from ..claims import Claim",
    ),
    "upwards, inside a function": (
        "A room imports from those below it",
        "stemtheory/oracles/problem.py",
        "def f() -> None:\n    import stemtheory.report",
    ),
    "upwards, not for type checkers": (
        "A room imports from those below it",
        "stemtheory/runtime/streams.py",
        "import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    import stemtheory.claims",
    ),
    "moments know no bounds": (
        "A room imports from those below it",
        "stemtheory/moments/maps.py",
        "from stemtheory.bounds import evaluate",
    ),
    "a room without a place": (
        "A room imports from those below it",
        "stemtheory/cellar.py",
        "",
    ),
    "an entry to the command line": (
        "Nothing imports the command line",
        "stemtheory/figures/table1.py",
        "import stemtheory.cli",
    ),
    "the front to the command line": (
        "Nothing imports the command line",
        "stemtheory/__init__.py",
        "from stemtheory.cli.app import main",
    ),
    "an engine to an entry": (
        "Entries are found by their names",
        "stemtheory/simulator/simulation.py",
        "from stemtheory.problems import cosine",
    ),
    "the front to an entry": (
        "Entries are found by their names",
        "stemtheory/__init__.py",
        "import stemtheory.problems.cosine",
    ),
    "an engine to the front": (
        "Nothing imports the package's front",
        "stemtheory/simulator/simulation.py",
        "from stemtheory import load_problem",
    ),
    "a circle of modules": (
        "No circles",
        "stemtheory/runtime/errors.py",
        "from stemtheory.runtime import files",
    ),
    "a circle of folders": (
        "No circles",
        "stemtheory/claims/evidence/path.py",
        "from stemtheory.claims.paper import useful",
    ),
    "past a face": (
        "The face of schedules",
        "stemtheory/simulator/simulation.py",
        "from stemtheory.schedules.curves import Curve",
    ),
    "images into experiment": (
        "The face of experiment",
        "stemtheory/images/training.py",
        "from stemtheory.experiment.design.cells import Cell",
    ),
}


def test_the_tree_itself_passes(copy: Path) -> None:
    assert refused(copy, *LINT_IMPORTS) == ""
    assert refused(copy, "-m", "ruff", "check", "--no-cache", ".") == ""


@pytest.mark.parametrize(("contract", "module", "line"), IMPORTS.values(), ids=IMPORTS)
def test_a_forbidden_import_is_refused(copy: Path, contract: str, module: str, line: str) -> None:
    printed = planted(copy, module, line, *LINT_IMPORTS)
    assert re.search(rf"^{re.escape(contract)}.* BROKEN", printed, re.MULTILINE), printed


def test_every_face_is_closed() -> None:
    """The contracts of faces are alike, so one mutant speaks for all that exist."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    closed = set(
        re.findall(r'^protected_modules = \["stemtheory\.(\w+)\.\*\*"\]$', text, re.MULTILINE)
    )
    assert closed == rooms - {"cli", *CATALOGUES}


BANNED = {
    "random": "from random import shuffle\nshuffle([1])",
    "another generator": "import numpy as np\nx = np.random.default_rng(0)",
    "another bit generator": "from numpy.random import PCG64\nx = PCG64(0)",
    "seeded by the machine": "import numpy as np\nx = np.random.Generator(np.random.SFC64())",
    "a global function": "import numpy as np\nx = np.random.rand(3)",
    "a global seed": "import numpy\nnumpy.random.seed(0)",
    "a module of global functions": "from numpy import random\nx = random.rand()",
    "a single global function": "from numpy.random import normal\nx = normal()",
    "pickle": "import pickle\nx = pickle.loads(b'')",
    "pickle by another name": "import joblib\nx = joblib.load('a')",
    "an entry by its bare name": "import problems.cosine\nx = problems.cosine.ENTRY",
    "the network": "from urllib.request import urlopen\nx = urlopen('a')",
}


@pytest.mark.parametrize("line", BANNED.values(), ids=BANNED)
def test_a_banned_name_is_refused(copy: Path, line: str) -> None:
    module = "stemtheory/simulator/trace.py"
    printed = planted(copy, module, line, "-m", "ruff", "check", "--no-cache", module)
    assert "TID251" in printed or "NPY002" in printed


# -- what no linter sees: pickles asked for, the machine's seed, a device's global generator

UNSEEN = re.compile(
    r"allow_pickle\s*=\s*(?!False\b)|SeedSequence\(\s*\)"
    r"|\b(?:xp|cp|cupy)\.random\.(?!Generator\b|Philox4x3210\b)\w+"
)


def test_nothing_is_drawn_or_unpickled_unseen() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in package_files()}
    assert [path for path, text in texts.items() if UNSEEN.search(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "z = np.load('a.npz', allow_pickle=True)",
        "z = np.load('a.npz', allow_pickle=flag)",
        "rng = generator(np.random.SeedSequence())",
        "def f(backend): return backend.xp.random.standard_normal(3)",
    ],
)
def test_what_no_linter_sees_is_found(text: str) -> None:
    assert UNSEEN.search(text)
    assert not UNSEEN.search("np.load('a', allow_pickle=False); SeedSequence(0); np.random.SFC64")


# -- the shape of the house


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    """Return what every module of the package imports from it, imports inside functions too."""
    built = grimp.build_graph("stemtheory", exclude_type_checking_imports=True, cache_dir=None)
    return {module: built.find_modules_directly_imported_by(module) for module in built.modules}


def room_of(module: str) -> str:
    """Return the folder of the package that a module lives in, '' for its front."""
    return ".".join(module.split(".")[1:2])


def longest_chain(arrows: dict[str, set[str]]) -> list[str]:
    """Return the longest way along arrows; a circle raises CycleError."""
    best: dict[str, list[str]] = {}
    for node in graphlib.TopologicalSorter(arrows).static_order():
        below = [best[other] for other in arrows.get(node, ())]
        best[node] = [node, *max(below, key=len, default=[])]
    return max(best.values(), key=len)


def test_modules_go_in_no_circle(graph: dict[str, set[str]]) -> None:
    """Faces included, which the contract on siblings cannot see."""
    assert len(longest_chain(graph)) > 10
    with pytest.raises(graphlib.CycleError):
        longest_chain(graph | {"stemtheory.runtime.errors": {"stemtheory.runtime"}})


def test_the_longest_chain_of_rooms(graph: dict[str, set[str]]) -> None:
    arrows: dict[str, set[str]] = {}
    for module, imported in graph.items():
        others = {room_of(other) for other in imported} - {"_version", room_of(module)}
        arrows.setdefault(room_of(module), set()).update(others)
    rooms = {name: others for name, others in arrows.items() if name not in ("", "__main__")}
    assert len(longest_chain(rooms)) <= 12, longest_chain(rooms)


def test_the_front_of_the_house_is_small() -> None:
    entries = [path for path in PACKAGE.iterdir() if path.name != "__pycache__"]
    links = [path for path in entries if path.is_symlink() or path.name in CATALOGUES]
    files = [path for path in entries if path.is_file()]
    assert len(links) == 3
    assert len(files) <= 5
    assert len(entries) - len(links) - len(files) <= 14


def test_no_folder_is_a_heap() -> None:
    """A catalogue has one file per entry and grows with them; a folder of the engine does not."""
    count: dict[Path, int] = {}
    for path in package_files():
        if path.name != "__init__.py" and path.relative_to(PACKAGE).parts[0] not in CATALOGUES:
            count[path.parent] = count.get(path.parent, 0) + 1
    assert {str(folder): n for folder, n in count.items() if n > 18} == {}
