"""Makes small wrong changes in the source, one at a time, and lists those that no test notices.

Every mutant is run against the tests near its module, in a copy of the tree: those that
``tests.near`` finds, then those that ``NEAR`` names. A survivor is a line that may be wrong without
anybody noticing; each is explained in the record or gets a test. Every module draws its places by
itself, from the seed and its path: ``--seed 1`` tries others. The record is written module by
module, so that a part of them can be tried at a time.

    python -m benchmarks.mutants [--only GLOB] [--each N] [--seed S] [--jobs J] [--nearest] [--list]

With ``--nearest`` the nearest test alone is run, in a tenth of the time: a mutant that it does not
notice may be noticed by another one, and the record says of a module how it was tried.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

from stemtheory._version import __version__
from tests.near import near

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks/results/mutants.json"
LONGEST = 3600  # seconds; a mutant that never ends is noticed
FAILED = re.compile(r"(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$")
SKIPPED = (".*", "__pycache__", "*.egg-info", "out", "results", "build", "dist")

# What is mutated, the core and the last mile, and which tests are near besides those of tests.near.
NEAR: dict[str, tuple[str, ...]] = {
    "schedules": ("tests/schedules", "tests/bounds"),
    "bounds": ("tests/bounds",),
    "algorithms": ("tests/algorithms",),
    "simulator/fused/tables": ("tests/simulator/test_stepwise.py", "tests/simulator/fused"),
    "simulator/fused/progress": ("tests/simulator/fused",),
    "simulator/[!f]*": ("tests/simulator/test_stepwise.py", "tests/simulator", "tests/algorithms"),
    "moments": ("tests/moments",),
    "claims/judge": ("tests/claims",),
    "claims/intervals": ("tests/claims",),
    "experiment/fits": ("tests/experiment/fits", "tests/experiment"),
    "experiment/store": ("tests/experiment/store", "tests/experiment"),
    "report": ("tests/report",),
    "figures": ("tests/figures",),
}
EVERYWHERE = ("tests/whole/test_frozen.py",)
IGNORED = ("--ignore=tests/simulator/fused/cuda",)

COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
COMPUTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/"}
# Names that stand for each other's opposite or neighbour; what people mix up.
SWAPPED = {
    name: other
    for one, two in (
        ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("fmin", "fmax"),
        ("all", "any"), ("floor", "ceil"), ("low", "high"), ("lo", "hi"), ("head", "tail"),
        ("first", "last"), ("left", "right"), ("mean", "sum"), ("std", "var"), ("log", "log1p"),
        ("samples_per_worker", "samples_total"), ("rounds", "exchanges"),
        ("vectors_up", "vectors_down"), ("b", "I"), ("sigma", "zeta"), ("mean", "median"),
        ("xs", "ys"), ("upper", "lower"), ("set_xscale", "set_yscale"),
    )
    for name, other in ((one, two), (two, one))
}  # fmt: skip


class Mutant(NamedTuple):
    """One changed place: the file from the root, line, and what stands there before and after."""

    path: str
    line: int
    before: str
    after: str
    source: str


def modules(pattern: str) -> list[str]:
    """Return the modules to mutate, from the root, that match ``pattern``."""
    found = sorted(
        str(path.relative_to(ROOT))
        for folder in ("stemtheory", "figures")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "__init__.py"
    )
    return [path for path in found if tests_near(path) and fnmatch(path, pattern)]


def tests_near(path: str) -> list[str]:
    """Return the tests that should notice a change of a module; none where it is not mutated."""
    name = path.removeprefix("stemtheory/").removesuffix(".py")
    places = [place for place in NEAR if fnmatch(name, place) or fnmatch(name, f"{place}/*")]
    besides = [test for place in places for test in NEAR[place]]
    if path.startswith("figures/"):  # the tests that name the figure come first
        named = [t for t in sorted(ROOT.glob("tests/figures/test_*.py")) if _names(t, path)]
        besides = [*(test.relative_to(ROOT).as_posix() for test in named), *besides]
        return [*dict.fromkeys([*besides, *EVERYWHERE])]
    own = f"test_{Path(path).stem}"
    nearest = sorted(near(path), key=lambda test: Path(test).stem != own)
    return [*dict.fromkeys([*nearest, *besides, *EVERYWHERE])] if places else []


def _names(test: Path, path: str) -> bool:
    return re.search(rf"\b{Path(path).stem}\b", test.read_text(encoding="utf-8")) is not None


def sites(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield (expression, what is put in its place) for every place that may be wrong."""
    silent = {id(part) for node in ast.walk(tree) for part in _words_and_types(node)}
    for node in ast.walk(tree):
        if id(node) not in silent and isinstance(node, ast.expr):
            for wrong in _wrong(node):
                yield node, wrong


def _words_and_types(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what no test of behaviour can see: annotations, and the sentences of errors."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield from ast.walk(node.returns)
    if isinstance(node, ast.Raise | ast.JoinedStr):
        yield from ast.walk(node)


def _wrong(node: ast.expr) -> Iterator[str]:
    """Yield the text of wrong versions of an expression."""
    text = ast.unparse
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARED:
            yield f"({text(left)} {COMPARED[type(operator)]} {text(right)})"
        case ast.BinOp(left, operator, right) if type(operator) in COMPUTED:
            yield f"(({text(left)}) {COMPUTED[type(operator)]} ({text(right)}))"
        case ast.BoolOp(operator, values):
            joint = " or " if isinstance(operator, ast.And) else " and "
            yield "(" + joint.join(f"({text(value)})" for value in values) + ")"
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield f"({text(operand)})"
        case ast.IfExp(test, body, orelse):
            yield f"(({text(orelse)}) if ({text(test)}) else ({text(body)}))"
        case ast.Constant(bool() as value):
            yield str(not value)
        case ast.Constant(int() as value):
            yield f"({value + 1})"
        case ast.Constant(float() as value):
            yield f"({value * 1.1 or 1.0})"
        case ast.Attribute(value, name) if name in SWAPPED:
            yield f"{text(value)}.{SWAPPED[name]}"
        case ast.Name(name, ast.Load()) if name in SWAPPED:
            yield SWAPPED[name]


def mutants(path: str, each: int, seed: int) -> list[Mutant]:
    """Return ``each`` mutants of a module, drawn by the seed and its path alone."""
    source = (ROOT / path).read_text(encoding="utf-8")
    found = list(sites(ast.parse(source)))
    drawn = random.Random(f"{seed} {path}").sample(found, min(each, len(found)))
    return [
        _changed(path, source, node, wrong)
        for node, wrong in sorted(drawn, key=lambda s: s[0].lineno)
    ]


def _changed(path: str, source: str, node: ast.expr, wrong: str) -> Mutant:
    lines = source.encode().splitlines(keepends=True)  # columns of the tree count bytes
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    whole = source.encode()
    before, changed = whole[start:end].decode(), whole[:start] + wrong.encode() + whole[end:]
    return Mutant(path, node.lineno, before, wrong, changed.decode())


def noticed(tree: Path, path: str, source: str, tests: list[str]) -> str:
    """Return the test that fails where ``path`` of ``tree`` holds ``source``; "" if none does.

    The first of the tests, which is the nearest, runs alone: most mutants need no more.
    """
    honest = (tree / path).read_text(encoding="utf-8")
    (tree / path).write_text(source, encoding="utf-8")
    try:
        return failing(tree, tests[:1]) or (failing(tree, tests[1:]) if tests[1:] else "")
    finally:
        (tree / path).write_text(honest, encoding="utf-8")


def failing(tree: Path, tests: list[str]) -> str:
    """Return the first test that fails, or how pytest ended without one; "" if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", *IGNORED]
    # bytecode is told apart by second and size, in which a mutant may not differ
    quiet = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=tree, env=os.environ | quiet,
            timeout=LONGEST, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"nothing within {LONGEST} s"
    if done.returncode == 0:
        return ""
    found = [FAILED.match(line) for line in done.stdout.splitlines()]
    return next((m[1] for m in found if m), f"pytest ended with {done.returncode}")


def copy_of(tree: Path, folder: Path) -> Path:
    """Return a copy of a tree, links kept, without what is built or measured in it."""
    shutil.copytree(
        tree, folder, symlinks=True,
        ignore=lambda where, names: {
            name for name in names if any(fnmatch(name, skip) for skip in SKIPPED)
        } - ({"results", "build"} if Path(where) != tree else set()),
    )  # fmt: skip
    return folder


def tried(
    path: str, drawn: list[Mutant], tests: list[str], jobs: int, passed: set[str]
) -> Iterator[str]:
    """Yield for every mutant of a module the one of its tests that notices it, "" if none does.

    ``passed`` holds the tests that are known to pass without a mutant.

    Raises
    ------
    SystemExit
        If a test that fails with a mutant fails without it too.
    """
    free: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for job in range(jobs):
            free.put(copy_of(ROOT, Path(folder, str(job))))

        def result(source: str) -> str:
            tree = free.get()
            try:
                found = noticed(tree, path, source, tests)
                if found and found not in passed:
                    alone = [found] if found.startswith("tests/") else tests
                    if failing(tree, alone):
                        sys.exit(f"{path} without a mutant: {found}")
                    passed.add(found)
                return found
            finally:
                free.put(tree)

        yield from pool.map(result, [mutant.source for mutant in drawn])


def recorded(known: dict[str, Any], drawn: list[Mutant], results: list[str]) -> dict[str, Any]:
    """Return what became of a module; reasons that a person wrote into the last record are kept."""
    reasons = {(s["before"], s["after"]): s["why"] for s in known.get("survivors", ())}
    alive = [m for m, found in zip(drawn, results, strict=True) if not found]
    survivors = [
        {
            "line": m.line,
            "before": m.before,
            "after": m.after,
            "why": reasons.get((m.before, m.after), ""),
        }
        for m in alive
    ]
    return {"mutants": len(drawn), "noticed": len(drawn) - len(alive), "survivors": survivors}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--only", default="*", help="modules, such as 'stemtheory/bounds/*'")
    parser.add_argument("--each", type=int, default=3, help="mutants of a module (3)")
    parser.add_argument("--seed", type=int, default=0, help="of the places that are drawn (0)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (1)")
    parser.add_argument("--nearest", action="store_true", help="run the nearest test alone")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    asked = parser.parse_args()
    drawn = {path: mutants(path, asked.each, asked.seed) for path in modules(asked.only)}
    if asked.list:
        print("\n".join(shown(mutant) for found in drawn.values() for mutant in found))
        return
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {"modules": {}}
    passed: set[str] = set()
    for path, found in drawn.items():
        results, tests = [], tests_near(path)[: 1 if asked.nearest else None]
        for mutant, test in zip(found, tried(path, found, tests, asked.jobs, passed), strict=True):
            print(f"{shown(mutant)}: {test or 'SURVIVED'}", flush=True)
            results.append(test)
        known = record["modules"].get(path, {})
        record["modules"][path] = recorded(known, found, results) | {
            "tests": "nearest" if asked.nearest else "all near"
        }
        record |= {"version": __version__, "each": asked.each, "seed": asked.seed, **tally(record)}
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def tally(record: dict[str, Any]) -> dict[str, int]:
    """Return how many mutants of all modules in the record there are, and were noticed."""
    modules_ = record["modules"].values()
    return {name: sum(module[name] for module in modules_) for name in ("mutants", "noticed")}


def shown(mutant: Mutant) -> str:
    return f"{mutant.path}:{mutant.line}: {mutant.before} -> {mutant.after}"


if __name__ == "__main__":
    main()
