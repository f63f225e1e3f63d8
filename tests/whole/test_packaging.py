"""What a wheel and an sdist carry: the package, all of it, and nothing beside it."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from stemtheory._version import __version__
from tests.helpers.sources import ROOT, package_files

SHIPPED = (
    *(".py", ".toml", ".mplstyle", ".json", ".html", ".css", ".js", ".mjs", ".svg", ".txt"),
    *(".LICENSE", "py.typed"),
)


def expected_files() -> set[str]:
    """Return the paths inside the wheel that the tree calls for."""
    return {path.relative_to(ROOT).as_posix() for path in package_files(SHIPPED)}


def stray_names(names: list[str]) -> set[str]:
    """Return what would be installed beside ``stemtheory``, its metadata and its plugin."""
    tops = {name.split("/")[0] for name in names}
    return {
        top for top in tops if not re.fullmatch(r"stemtheory(-[^/]+\.dist-info|_pytest\.py)?", top)
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree with its links, so that a build leaves nothing in the checkout."""
    copy = tmp_path_factory.mktemp("source") / "tree"
    skip = shutil.ignore_patterns(
        ".*", "build", "dist", "out", "results", "__pycache__", "*.egg-info"
    )
    shutil.copytree(ROOT, copy, symlinks=True, ignore=skip)
    # A stand-in for the one file of the metadata that may be missing while the tree is young.
    (copy / "README.md").touch()
    # A catalogue entry that is data must travel, whatever the tree holds at the moment.
    (copy / "sweeps" / "packaging_probe.toml").write_text("", encoding="utf-8")
    return copy


def _build(source: Path, kind: str) -> list[str]:
    """Build with the installed setuptools, without a network, and return the archive's names."""
    pytest.importorskip("setuptools", minversion="77")
    out = source.parent / kind
    out.mkdir()
    code = f"import sys, setuptools.build_meta as b; b.build_{kind}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(out)], cwd=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (archive,) = out.iterdir()
    if kind == "wheel":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.namelist()
    with tarfile.open(archive) as sdist:
        return [name.partition("/")[2] for name in sdist.getnames()]


def test_the_wheel_carries_the_package_and_nothing_else(source: Path) -> None:
    names = _build(source, "wheel")
    assert stray_names(names) == set()
    carried = {name for name in names if name.startswith("stemtheory/")}
    assert carried == expected_files() | {"stemtheory/sweeps/packaging_probe.toml"}
    assert "stemtheory/py.typed" in carried
    assert "stemtheory_pytest.py" in names


def test_the_sdist_carries_the_package_and_its_papers(source: Path) -> None:
    names = set(_build(source, "sdist"))
    assert expected_files() | {"stemtheory_pytest.py"} <= names
    assert {"LICENSE", "CITATION.cff", "CHANGELOG.md", "tests/data/paper_labels.txt"} <= names


def test_a_stray_top_level_name_is_rejected() -> None:
    names = ["stemtheory/__init__.py", "stemtheory-0.2.0.dist-info/METADATA", "problems/a.py"]
    assert stray_names([*names, "stemtheory_pytest.py"]) == {"problems"}


@pytest.mark.parametrize("folder", ["problems", "sweeps", "figures"])
def test_catalogue_folders_are_relative_links(folder: str) -> None:
    link = ROOT / "stemtheory" / folder
    if not (ROOT / folder).is_dir():
        pytest.skip("an sdist holds the folders themselves")
    assert link.readlink() == Path("..", folder)


def test_the_version_is_the_same_everywhere() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [__version__]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{__version__}]" in changelog
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["dynamic"] == ["version"]


def test_the_installed_version_is_this_one() -> None:
    try:
        installed = importlib.metadata.version("stemtheory")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("a bare checkout: the package is not installed")
    assert installed == __version__
