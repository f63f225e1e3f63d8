"""Names the tests near a file: ``python -m tests.near stemtheory/bounds/inversion.py``.

Near are the test module of the same path, the test modules of that folder that import the file (or,
where there is neither, all of that folder), and what COVERS names besides.
"""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath

from tests.helpers.sources import ROOT

CONTRACT = "tests/claims/contract/test_contract.py"
# What covers a file besides, by the beginning of its path.
COVERS: dict[str, tuple[str, ...]] = {
    "CONTRIBUTING.md": ("tests/docs/test_contributing.py",),
    "README.md": ("tests/docs/test_readme.py",),
    "docs/": ("tests/docs",),
    "figures/": ("tests/figures",),
    "packs/": ("tests/packs",),
    "problems/": ("tests/oracles", CONTRACT),
    "pyproject.toml": ("tests/whole/test_layers.py", "tests/whole/test_packaging.py"),
    "stemtheory/oracles/heterogeneity.py": (CONTRACT, "tests/docs/test_guides.py"),
    "stemtheory/oracles/noise.py": (CONTRACT, "tests/docs/test_guides.py"),
    "stemtheory/report/explorer/": ("tests/report/explorer",),
    "stemtheory/schedules/": ("tests/docs/test_guides.py",),
    "stemtheory/cli/pytest_items.py": ("tests/whole/test_pytest_items.py",),
    "stemtheory_pytest.py": ("tests/whole/test_pytest_items.py",),
    "sweeps/": ("tests/experiment/test_builtin_sweeps.py",),
}
BY_NAME = ("problems/", "sweeps/")  # of these tests only those whose names hold the entry's


def near(name: str) -> list[str]:
    """Return the arguments for pytest, for a path as it is seen from the root of the tree."""
    path = PurePosixPath(name)
    if path.parts[0] == "tests" and path.name.startswith("test_"):
        return [name]
    found = mirrored(path) if path.parts[0] == "stemtheory" else []
    found += [test for start, tests in COVERS.items() if name.startswith(start) for test in tests]
    chosen = ["-k", path.stem] if name.startswith(BY_NAME) else []
    return [*dict.fromkeys(found or ["tests/whole/test_tree.py"]), *chosen]


def mirrored(path: PurePosixPath) -> list[str]:
    """Return the tests in the folder of the same path, or in the nearest one above that exists."""
    folder = ROOT.joinpath("tests", *path.parent.parts[1:])
    while not any(folder.glob("test_*.py")) and folder != ROOT / "tests":
        folder = folder.parent
    if folder == ROOT / "tests":
        return ["tests/whole/test_packaging.py"]
    tests = sorted(folder.glob("test_*.py"))
    module = ".".join(path.with_suffix("").parts)
    room, _, own = module.rpartition(".")
    used = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(room)} import .*\b{own}\b")
    using = [t for t in tests if t.stem == f"test_{own}" or used.search(t.read_text("utf-8"))]
    return [test.relative_to(ROOT).as_posix() for test in using or tests]


if __name__ == "__main__":
    sys.stdout.write(" ".join(near(sys.argv[1].removeprefix("./"))) + "\n")
