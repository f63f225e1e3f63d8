"""Who may import whom, and where random numbers may come from.

Everything is read from the source text, so a module that cannot be imported on this machine (no
CUDA, no compiler) is held to the same rules. Each rule is shown to reject a mutant.
"""

import ast
import graphlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sources import module_name, package_files, parse

# From the bottom up: a module imports from its own layer and from those below it. The catalogue
# stands low because it finds entries by name at run time and knows only what a problem is.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "files", "_version", "jsontext", "notebook"),
    ("backend",),
    ("streams", "philox"),
    ("noise", "heterogeneity", "dials"),
    ("oracle", "separable", "finite_sum", "finite_sum_constants"),
    ("data_files", "data", "layers", "network", "image_estimates", "image_problem"),
    ("catalogue",),
    ("curves", "stepsizes", "fedavg_stepsizes", "schedule"),
    ("algorithms",),
    ("settings", "trace"),
    ("plan",),
    ("array_engine", "fused"),
    ("image_training",),
    ("simulate", "walk", "images"),
    ("bound_formulas", "stem_bounds", "fedavg_bounds", "bounds", "inversion", "table1"),
    ("linear_model", "moment_maps", "moment_run", "moments"),
    ("margins", "trace_files", "contract", "bound_report", "hitting"),
    ("advise",),
    ("advise_measured",),
    ("claims",),
    ("experiment",),
    ("formula", "pages", "ledger_rows", "over_seeds"),
    (
        "drawing",
        "manifest",
        "problem_pages",
        "ledger_plot",
        "ledger_page",
        "ledger_report",
        "findings",
        "replication",
    ),
    ("advise_plot",),
    ("report_sweeps", "report"),
    ("inventory",),
)
LEVEL = {module: level for level, layer in enumerate(LAYERS) for module in layer}
ENTRIES = ("problems", "figures", "sweeps")
TOP = (
    "cli",
    "cli_options",
    "console",
    "display",
    "__main__",
    "cli_claims",
    "display_claims",
    "cli_sweeps",
    "cli_advise",
)

FORBIDDEN_MODULES = {
    "random": "draw from a stream with an address (stemtheory.streams)",
    **dict.fromkeys(
        ("pickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"),
        "store arrays as npz without pickle, and settings as JSON",
    ),
    **dict.fromkeys(ENTRIES, "import it as stemtheory.<folder>"),
}
# Files of a user's own may be pickles; this module alone reads them, through an unpickler that
# refuses whatever is no array and no plain container (tests/test_data_files.py attacks it).
PICKLE_READERS = {"stemtheory.data_files"}
ARRAY_MODULES = {"np", "numpy", "xp", "cp", "cupy"}
GENERATORS = {
    "Generator",
    "BitGenerator",
    "SeedSequence",
    "default_rng",
    "SFC64",
    "Philox",
    "PCG64",
}
DEVICE_GENERATORS = {"XORWOW", "MRG32k3a", "Philox4x3210"}


@dataclass(frozen=True)
class Import:
    """One imported module and the line it stands on; ``eager`` if importing the file runs it."""

    target: str
    line: int
    eager: bool


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _import_nodes(
    nodes: Iterable[ast.AST], eager: bool = True
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, eager
        elif isinstance(node, ast.If) and _is_type_checking(node):
            yield from _import_nodes(node.orelse, eager)
        else:
            lazy = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _import_nodes(ast.iter_child_nodes(node), eager and not lazy)


def imports(tree: ast.Module, module: str, known: set[str], package: bool = False) -> list[Import]:
    """Return what a module imports; ``from p import m`` counts as ``p.m`` where that is a module.

    Imports for type checkers alone are left out: they never run.
    """
    found = []
    for node, eager in _import_nodes(tree.body):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, eager) for alias in node.names]
            continue
        base = node.module or ""
        if node.level:
            here = module.split(".")
            up = len(here) - node.level + package
            base = ".".join([*here[:up], *([base] if base else [])])
        for alias in node.names:
            full = f"{base}.{alias.name}"
            found.append(Import(full if full in known else base, node.lineno, eager))
    return found


def layer_faults(module: str, found: list[Import]) -> list[str]:
    """Return one sentence for every import that the layers do not allow."""
    faults = []
    for item in found:
        where = f"{module}:{item.line} imports {item.target}"
        head, _, rest = item.target.partition(".")
        exempt = head == "pickle" and module in PICKLE_READERS
        if head in FORBIDDEN_MODULES and not exempt:
            faults.append(f"{where}: {FORBIDDEN_MODULES[head]}")
        if head != "stemtheory":
            continue
        reason = _layer_fault(module.partition(".")[2].split(".")[0], rest.split(".")[0])
        if reason:
            faults.append(f"{where}: {reason}")
    return list(dict.fromkeys(faults))


def _layer_fault(source: str, target: str) -> str | None:
    """Say why a module of part ``source`` may not import part ``target``; '' is the package."""
    if source in TOP:
        return None
    if target in TOP:
        return "nothing imports the command line"
    if source == "" or source in ENTRIES:
        return None
    if target == "":
        return "the engine imports from the module itself, not from the package's front"
    if target in ENTRIES:
        return "the engine finds entries by name at run time"
    if target not in LEVEL:
        return f"'{target}' has no layer yet: give it one in LAYERS"
    if source in LEVEL and LEVEL[source] < LEVEL[target]:
        return f"'{target}' lies above '{source}'"
    return None


def dotted(node: ast.expr) -> tuple[str, ...]:
    """Return the names of ``a.b.c``, or as many of the last ones as are plain attributes."""
    if isinstance(node, ast.Attribute):
        return (*dotted(node.value), node.attr)
    return (node.id,) if isinstance(node, ast.Name) else ()


def random_faults(tree: ast.Module, module: str) -> list[str]:
    """Return one sentence for every use of a global, unseeded or unknown random source."""
    faults = []
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.ImportFrom) and node.module in {"numpy", "cupy"}:
            faults += [
                f"{module}:{line} imports a whole random module: write np.random.<generator>"
                for alias in node.names
                if alias.name == "random"
            ]
        elif isinstance(node, ast.ImportFrom) and node.module in {"numpy.random", "cupy.random"}:
            faults += [
                f"{module}:{line} takes {alias.name} from {node.module}"
                for alias in node.names
                if alias.name not in GENERATORS | DEVICE_GENERATORS
            ]
        elif isinstance(node, ast.Attribute):
            *owner, name = dotted(node)
            if _is_random_module(owner) and name not in GENERATORS | DEVICE_GENERATORS:
                faults.append(f"{module}:{line} uses {ast.unparse(node)}, a global generator")
        elif isinstance(node, ast.Call):
            faults += _call_faults(node, module)
    return faults


def _is_random_module(names: list[str]) -> bool:
    return len(names) >= 2 and names[-1] == "random" and names[-2] in ARRAY_MODULES


def _call_faults(call: ast.Call, module: str) -> list[str]:
    faults = []
    names = dotted(call.func)
    seeded = bool(call.args or call.keywords)
    if names and names[-1] in GENERATORS | DEVICE_GENERATORS and not seeded:
        faults.append(f"{module}:{call.lineno} calls {ast.unparse(call)}, seeded by the machine")
    if any(
        word.arg == "allow_pickle" and ast.unparse(word.value) != "False" for word in call.keywords
    ):
        faults.append(f"{module}:{call.lineno} allows pickles: write allow_pickle=False")
    return faults


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return one circle of imports, first module repeated at the end, or an empty list."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


FILES = package_files()
KNOWN = {module_name(path) for path in FILES}


def _imports_of(path: Path) -> list[Import]:
    return imports(parse(path), module_name(path), KNOWN, path.name == "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_follow_the_layers(path: Path) -> None:
    assert layer_faults(module_name(path), _imports_of(path)) == []


def test_every_module_has_a_layer() -> None:
    parts = {name.split(".")[1] for name in KNOWN if "." in name}
    assert parts - set(LEVEL) - set(ENTRIES) - set(TOP) == set()


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_random_numbers_have_an_address(path: Path) -> None:
    assert random_faults(parse(path), module_name(path)) == []


def test_imports_go_in_no_circle() -> None:
    graph = {
        module_name(path): {
            item.target for item in _imports_of(path) if item.eager and item.target in KNOWN
        }
        for path in FILES
    }
    assert cycle(graph) == []


MODULES = {"stemtheory", *(f"stemtheory.{name}" for name in (*LEVEL, *ENTRIES, *TOP))}

LAYER_MUTANTS = {
    "upwards": ("stemtheory.streams", "from stemtheory.simulate import simulate"),
    "upwards, by the package": ("stemtheory.streams", "from stemtheory import simulate"),
    "upwards, relative": ("stemtheory.algorithms.stem", "from ..claims import Claim"),
    "upwards, inside a function": (
        "stemtheory.oracle",
        "def f() -> None:\n    import stemtheory.report",
    ),
    "engine to entry": ("stemtheory.simulate", "from stemtheory.problems import cosine"),
    "engine to front": ("stemtheory.simulate", "from stemtheory import load_problem"),
    "entry to command line": ("stemtheory.figures.table1", "import stemtheory.cli"),
    "front to command line": ("stemtheory", "from stemtheory.cli import app"),
    "entry by its bare name": ("stemtheory.claims.thm", "import problems.cosine"),
    "no layer": ("stemtheory.cells", "from stemtheory.cells import Cell"),
    "pickle": ("stemtheory.trace", "import pickle"),
    "random": ("stemtheory.report", "from random import shuffle"),
    "not for type checkers": (
        "stemtheory.streams",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import stemtheory.claims",
    ),
}


@pytest.mark.parametrize(("module", "text"), LAYER_MUTANTS.values(), ids=LAYER_MUTANTS)
def test_a_forbidden_import_is_rejected(module: str, text: str) -> None:
    assert len(layer_faults(module, imports(ast.parse(text), module, MODULES))) == 1


def test_allowed_imports_pass() -> None:
    text = (
        "from typing import TYPE_CHECKING\n"
        "import numpy as np\n"
        "from stemtheory.errors import UsageError\n"
        "from .oracle import Problem\n"
        "if TYPE_CHECKING:\n    from stemtheory.report import Page\n"
    )
    found = imports(ast.parse(text), "stemtheory.simulate", MODULES)
    assert [item.target for item in found] == [
        "typing",
        "numpy",
        "stemtheory.errors",
        "stemtheory.oracle",
    ]
    assert layer_faults("stemtheory.simulate", found) == []


RANDOM_MUTANTS = {
    "global function": "import numpy as np\nx = np.random.rand(3)",
    "global seed": "import numpy\nnumpy.random.seed(0)",
    "on the device": "def f(backend): return backend.xp.random.standard_normal(3)",
    "whole module": "from numpy import random",
    "single function": "from numpy.random import normal",
    "unseeded": "import numpy as np\nrng = np.random.default_rng()",
    "pickles": "import numpy as np\nz = np.load('a.npz', allow_pickle=True)",
}


@pytest.mark.parametrize("text", RANDOM_MUTANTS.values(), ids=RANDOM_MUTANTS)
def test_a_global_random_source_is_rejected(text: str) -> None:
    assert len(random_faults(ast.parse(text), "mutant")) == 1


def test_seeded_generators_pass() -> None:
    text = (
        "from numpy.random import SFC64, Generator, SeedSequence\n"
        "rng = Generator(SFC64(SeedSequence(0)))\n"
        "device = xp.random.Generator(xp.random.Philox4x3210(seed))\n"
        "z = np.load('a.npz', allow_pickle=False)\n"
        "y = rng.normal(size=3)\n"
    )
    assert random_faults(ast.parse(text), "sample") == []


def test_a_circle_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) != []
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
