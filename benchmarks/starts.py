"""How long commands take to start: CPU seconds over those of ``import numpy``.

    python benchmarks/starts.py [--times 5] [--before TREE] [--out benchmarks/results/starts.json]

With ``--before`` the same is measured of another tree of the package, in turn.
"""

from __future__ import annotations

import json
import tempfile

from _common import arguments, machine, process_seconds, trees, write

STARTS = {
    "import stemtheory": ("-c", "import stemtheory"),
    "from stemtheory import *": ("-c", "from stemtheory import *"),
    "--help": ("-m", "stemtheory", "--help"),
    "list problems": ("-m", "stemtheory", "list", "problems"),
    "list claims": ("-m", "stemtheory", "list", "claims"),
    "bound stem-theorem": ("-m", "stemtheory", "bound", "stem-theorem"),
    "run quadratic": ("-m", "stemtheory", "run", "quadratic"),
    "explain M3": ("-m", "stemtheory", "explain", "M3"),
    # a call of the function keeps nothing of the claim's verdicts, and finds nothing kept
    "explain M3, judged": ("-c", "from stemtheory.cli import main; main(['explain', 'M3'])"),
}


def seconds(words: tuple[str, ...], times: int, tree: str) -> float:
    """Return the least CPU seconds of a fresh process that takes the package from a tree."""
    # the first start compiles the sources, wherever a machine forbids or lacks what that leaves
    with tempfile.TemporaryDirectory() as bytecode:
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
        found = [process_seconds(words, tree, **kept) for _ in range(times + 1)]
    return min(found[1:])


def main() -> None:
    """Measure every start and print it as JSON."""
    options = arguments(__doc__, times=5, before="")
    unit = seconds(("-c", "import numpy"), options.times, "")
    found = {"machine": machine(), "import_numpy_seconds": round(unit, 3)}
    for when, tree in trees(options.before).items():
        starts = {name: seconds(words, options.times, tree) for name, words in STARTS.items()}
        found[when] = {name: round(one / unit, 2) for name, one in starts.items()}
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    main()
