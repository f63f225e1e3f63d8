"""The repaired theorem: its one-step, drift and jump inequalities, and parts (a), (b) and (c).

They hold for the literal and the average-first reading, with or without a sync batch, I >= 2.
The proof is in docs/repaired-theorem.md; step 7 and the consequences are in ``repaired_range``.

Paper: Thm: PR_Convergence_Main_App.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stemtheory.bounds import REPAIRED_LAM
from stemtheory.claims.base import RIGHT_READINGS, SCALED, Claim, Comparison, wrong
from stemtheory.claims.evidence.counterexamples import read_as
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.rounds import on_rounds
from stemtheory.claims.repaired.coefficients import DRIFT, METHOD, PARTS, SUM
from stemtheory.claims.repaired.runs import beside, coefficients, run_cases, run_premises
from stemtheory.claims.repaired.steps import (
    at_least_two,
    drift,
    jump_size,
    one_step,
    round_cases,
    step_cases,
)


def potential(
    path: Path, lam: float = REPAIRED_LAM, m: float | None = None, jump: float = 1.0
) -> Comparison:
    """(R1) with the three theta of parts (a), (b) and (c)."""
    w = float(METHOD.w)
    found = [one_step(path, lam, float(p.theta), w, m=m, jump=jump) for p in PARTS.values()]

    def together(name: str) -> Any:
        return np.stack([getattr(comparison, name) for comparison in found])

    return Comparison(
        together("left"), together("right"), together("where"), found[0].t, floor=together("floor")
    )


def _run_level(name: str, part: str, statement: str) -> Claim:
    A, longest = coefficients(part), PARTS[part].longest
    return Claim(
        id=name,
        label=SUM,
        kind="expectation",
        statement=statement,
        formula=r"\sum_t \tfrac{\eta_t}{2} E\|\nabla f(\bar x_t)\|^2 \leq \Delta_f"
        r" + \frac{b\sigma^2}{240 L^2 B\eta_0}"
        r" + \frac{c^2}{L^2}[A_\sigma\sigma^2 + A_\zeta\zeta^2]\sum_t \eta_t^3",
        compare=beside(REPAIRED_LAM, A),
        cases=run_cases,
        premises=run_premises(longest),
        readings=RIGHT_READINGS,
        mutants=(
            SCALED,
            wrong("initial batch over 280 instead of 240", lam=280),
            wrong("no term in sigma", noise=0.0),
            read_as("overwrite"),
        ),
    )


per_round = partial(
    Claim,
    label=DRIFT,
    kind="expectation",
    cases=round_cases,
    premises=at_least_two,
    readings=RIGHT_READINGS,
)
CLAIMS = (
    Claim(
        id="R1",
        label="Lem: Potential_Descent_App",
        kind="conditional",
        statement="One step of the sharper potential, every t, with the jump's own term.",
        formula=r"E[\Psi_{t+1}-\Psi_t] \leq -\tfrac{\eta}{2}\|\nabla f\|^2"
        r" - (\tfrac{\eta}{2}-\tfrac{\eta^2L}{2}-\tfrac{1+\theta}{240}\eta)\|\bar d\|^2"
        r" + 15.5\tfrac{\eta L^2}{K}X + \tfrac{(1+1/\theta)c^2\sigma^2\eta^3}{240L^2}"
        r" + \{\tfrac{(1+\theta)\eta\Delta}{240K}, \tfrac{(1+\theta)X}{240mK\eta}\}",
        compare=potential,
        cases=step_cases,
        premises=at_least_two,
        readings=RIGHT_READINGS,
        mutants=(
            SCALED,
            wrong("lam = 320 instead of 240", lam=320),
            wrong("no term for the jump", jump=0.0),
            wrong("a sync batch of 3 not drawn", m=3),
            read_as("overwrite"),
            read_as("average-both"),
        ),
    ),
    per_round(
        id="R2",
        statement="Within a round the drift of the directions is at most G times its forcing.",
        formula=r"Y_i := (E\Delta_{t_0+i})^{1/2} \leq G\,[Lh\sqrt K\sum_{j<i}\|\bar d_{t_0+j}\|"
        r" + \kappa L Z_{s-1} + i\alpha\sqrt{K/2}\,\zeta + \alpha\sqrt{iK/b}\,\sigma]",
        compare=on_rounds(drift),
        mutants=(
            SCALED,
            wrong("the first direction left out", first=0.0),
            wrong("zeta left out", zeta=0.0),
            wrong("sigma left out", sigma=0.0),
        ),
    ),
    per_round(
        id="R3",
        statement="The consensus error at the jump, per round; nearly sharp without noise.",
        formula=r"Z_s \leq G\,[Lh^2\sqrt K I^{3/2}\sqrt{Q_s/3} + \tfrac{\kappa}{16}Z_{s-1}"
        r" + h\alpha\sqrt{K/2}\,\zeta I^2/2 + \tfrac23 h\alpha\sqrt{K/b}\,\sigma I^{3/2}]",
        compare=on_rounds(jump_size),
        mutants=(
            SCALED,
            wrong("Q/5 instead of Q/3", third=5.0),
            wrong("I instead of I^{3/2}", power=1.0),
            wrong("zeta left out", zeta=0.0),
            wrong("sigma left out", sigma=0.0),
        ),
    ),
    _run_level("Ra", "a", "Part (a), I/m <= 20000: A_s = 0.0087, A_z = 1.2e-4 + 2e-5 I/m."),
    _run_level("Rb", "b", "Part (b), I/m <= 40000: A_s = 0.089, A_z = 1.2e-4 + 1.01e-5 I/m."),
    _run_level("Rc", "c", "Part (c), I/m <= 7500: A_s = 0.0465, A_z = 1.2e-4 + 3.92e-6 I/m."),
)
