"""What quick sweeps, a figure and claims cost where runs that share a kernel are compiled.

    python benchmarks/shared_kernels.py [--before TREE] [--times 3] [--out FILE]

CPU seconds of one fresh command each: cold, with no kernel in the cache, once; warm, with those
that it left there, the least of ``--times``. With ``--before`` the same of another tree of the
package, in turn, and before over after.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from _common import arguments, machine, process_seconds, trees, write

SWEEPS = ("complexity", "heterogeneity", "margins", "slack", "speedup", "systems", "tradeoff")
COMMANDS = {
    **{f"sweep {name}": ("sweep", name, "--quick", "--store", "S.sqlite") for name in SWEEPS},
    "figure synchronisation": ("figure", "synchronisation", "--quick", "--out", "F"),
    "verify M7 M7b": ("verify", "M7", "M7b", "--quick"),
}


def seconds(words: tuple[str, ...], tree: str, cache: str) -> float:
    """Return the CPU seconds of a command in an empty folder, on one job."""
    with tempfile.TemporaryDirectory() as folder:
        own = {word: str(Path(folder, word)) for word in ("S.sqlite", "F")}
        given = ("-m", "stemtheory", *(own.get(word, word) for word in words))
        return process_seconds(given, tree, STEMTHEORY_CACHE=cache)


def measured(words: tuple[str, ...], compared: dict[str, str], times: int) -> dict[str, float]:
    """Return cold and warm seconds of a command by every tree, and before over after."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        caches = {when: str(Path(folder, when)) for when in compared}
        for when, tree in compared.items():
            found[f"cold {when}"] = seconds(words, tree, caches[when])
        turns = [
            {when: seconds(words, tree, caches[when]) for when, tree in compared.items()}
            for _ in range(times)
        ]
    found |= {f"warm {when}": min(turn[when] for turn in turns) for when in compared}
    if "before" in compared:
        found |= {
            f"{x} ratio": found[f"{x} before"] / found[f"{x} after"] for x in ("cold", "warm")
        }
    return {name: round(value, 2) for name, value in found.items()}


def main() -> None:
    """Measure every command and print it as JSON."""
    options = arguments(__doc__, times=3, before="")
    compared = trees(options.before)
    found = {
        "machine": machine(),
        **{name: measured(words, compared, options.times) for name, words in COMMANDS.items()},
    }
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    main()
