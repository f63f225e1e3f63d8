"""How long advice with measured runs takes for a hundred workers, compiling included and not.

The whole command, from the start of Python to the end; its first run here compiles two kernels.

    python benchmarks/advise.py [--K 100] [--out benchmarks/results/advise.json]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from _common import arguments, machine, write

QUESTIONS = {  # the first one compiles
    "compiling": (),
    "samples alone": (),
    "a round costs 100 samples": ("--round-cost", "100"),
    "a share of a tenth": ("--participation", "0.1"),
}
COMMAND = ("-m", "stemtheory", "advise", "--epsilon", "1e-3", "--problem", "geman_mcclure")


def seconds(K: int, words: tuple[str, ...], cache: str) -> float:
    """Return the wall seconds of one command, kernels kept in a folder."""
    start = time.perf_counter()
    argv = [sys.executable, *COMMAND, "--K", str(K), *words]
    environment = {**os.environ, "STEMTHEORY_CACHE": cache}
    subprocess.run(argv, check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def main() -> None:
    """Measure every question and print it as JSON; the folder of kernels is empty at first."""
    options = arguments(__doc__, K=100)
    found: dict[str, object] = {"K": options.K}
    with tempfile.TemporaryDirectory() as cache:
        for name, words in QUESTIONS.items():
            found[name] = seconds(options.K, words, cache)
    found |= machine()
    print(json.dumps(found, indent=1))
    write(options.out, found)


if __name__ == "__main__":
    main()
