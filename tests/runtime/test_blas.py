"""What is measured has the same bits however many threads BLAS may use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from stemtheory.runtime import BLAS_THREADS
from tests.helpers.sources import ROOT

RUN = """
from stemtheory import load_problem, simulate
problem = load_problem("logistic", dim=300, points=512)
trace = simulate(problem, "stem", T=8, b=2, I=2, replicates=2)
print(trace.grad_sq.tobytes().hex(), problem.constants().L.hex())
"""
CLAIM = """
from dataclasses import replace
import numpy as np
from stemtheory.claims.checking import judged
from tests.helpers.example_claim import CONTRACTION

def compare(subject):
    rows = np.sin(np.arange(300 * 512.0)).reshape(300, 512)
    print((rows @ rows.T @ np.ones(300)).tobytes().hex())
    return CONTRACTION.compare(subject)

judged(replace(CONTRACTION, compare=compare))
"""
COMMAND = """
from stemtheory.cli.app import main
sizes = ["--dim", "300", "--set", "points=512", "--T", "8", "--replicates", "2"]
main(["run", "logistic", "stem", *sizes, "--json"])
"""
LATER = """
import os
import numpy
from threadpoolctl import ThreadpoolController
from stemtheory.runtime import one_blas_thread

def threads():
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return sorted(library.num_threads for library in found)

outside = threads()
with one_blas_thread():
    assert "OPENBLAS_NUM_THREADS" in os.environ
    assert set(threads()) == {1}
    import scipy.linalg
    assert set(threads()) == {1} and len(threads()) > len(outside)
assert set(threads()) == set(outside)
with one_blas_thread():
    assert set(threads()) == {1}
assert set(threads()) == set(outside)
print(os.environ["OPENBLAS_NUM_THREADS"])
"""


def printed(code: str, threads: str) -> str:
    """Return what a fresh process prints that BLAS gives so many threads."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **dict.fromkeys(BLAS_THREADS, threads)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="BLAS has one thread here anyway")
@pytest.mark.parametrize("code", [RUN, CLAIM, COMMAND], ids=["simulate", "claim", "run"])
def test_the_bits_do_not_depend_on_the_threads_of_blas(code: str) -> None:
    """At this size two threads of OpenBLAS sum otherwise than one."""
    assert printed(code, "1") == printed(code, "2") != ""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="BLAS has one thread here anyway")
def test_a_blas_that_scipy_brings_meanwhile_has_one_thread_and_then_all() -> None:
    """NumPy and SciPy of wheels have an OpenBLAS each; where they share one there is no later."""
    assert printed(LATER, "2") == "2\n"
