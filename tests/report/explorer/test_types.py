"""The page's modules say their types, and a type checker agrees where there is one."""

import re
import shutil
import subprocess

import pytest

from stemtheory.report.explorer.page import TEMPLATES

TSC = shutil.which("tsc")
STRICT = ("--allowJs", "--checkJs", "--strict", "--noEmit", "--target", "es2022")
FOUND = ("--module", "es2022", "--moduleResolution", "bundler", "--lib", "es2022,dom,dom.iterable")
MODULES = sorted(TEMPLATES.glob("*.mjs"))


def test_every_function_says_its_types() -> None:
    bare = []
    for path in MODULES:
        text = path.read_text("utf-8")
        for found in re.finditer(r"^(?:export )?function (\w+)\((.*)", text, re.MULTILINE):
            comment = text[: found.start()].rstrip().endswith("*/")
            if not comment and not found[2].startswith(")"):
                bare.append(f"{path.name}: {found[1]}")
    assert bare == []
    assert len(MODULES) > 2


def code(text: str) -> list[str]:
    """Return the lines that are no comment, as types are, and not empty."""
    bare = re.sub(r"/\*\*.*?\*/|^\s*//[^\n]*", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in bare.splitlines() if line.strip()]


def test_the_modules_are_small() -> None:
    lines = [line for path in MODULES for line in code(path.read_text("utf-8"))]
    assert len(lines) <= 1200
    assert max(map(len, lines)) <= 110


@pytest.mark.skipif(TSC is None, reason="no tsc, TypeScript's checker")
def test_the_checker_agrees() -> None:
    done = subprocess.run(
        [str(TSC), *STRICT, *FOUND, *map(str, MODULES)], capture_output=True, text=True
    )
    assert done.stdout == ""
