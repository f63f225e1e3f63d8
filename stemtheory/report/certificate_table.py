"""A certificate's statement and constants for the appendix of a paper: LaTeX without a package."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_LETTERS = {name: name for name in ("c_D", "c_S", "c_Z")} | {
    name: rf"\{name}" for name in ("lambda", "mu")
}
_LETTERS |= {"C_sigma": r"C_\sigma", "C_zeta": r"C_\zeta"}


def certificate_latex(d: Mapping[str, Any]) -> str:
    """Return the statement and its constants as a LaTeX float that needs no package."""
    s = d["statement"]
    of = s["algorithm"].upper() if s["algorithm"] == "stem" else "FedAvg"
    of += "" if s["reading"] == "none" else f", reading {s['reading']}"
    numbers = ", ".join(f"${n} = {s[n]}$" for n in ("I", "K", "b", "m"))
    steps = rf"$\eta L = {s['eta']}$, $a = {_tidy(s['a'])}$"
    rows = [rf"${_LETTERS[n]}$ & {c['value']:.6g} \\" for n, c in d["constants"].items()]
    rows += [
        rf"${_LETTERS[n]}$ & {float(Fraction(s[n])):.6g} \\"
        for n in ("lambda", "mu", "C_sigma", "C_zeta")
        if s[n] != "0"
    ]
    lines = [
        r"\begin{table}[htbp]",
        rf"\caption{{Proved by machine and checked in exact fractions: a round of {of}, {numbers},",
        rf"  {steps}, for all problems with A1 and A2 (units with $L = 1$; sha256 of the",
        rf"  certificate {d['sha256'][:16]}).}}",
        rf"\label{{certificate:{d['sha256'][:16]}}}",
        r"\raggedright",
        r"$\displaystyle E V_I \le E V_0 - (1-\delta) \frac{\eta}{2} \sum_{j<I}",
        r"  E\|\nabla f(\bar x_j)\|^2 + C_\sigma \sigma^2 + C_\zeta \zeta^2$",
        r"\par\medskip",
        r"\begin{tabular}{lr}",
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tidy(text: str) -> str:
    return text if len(text) <= 24 else f"{float(Fraction(text)):.6g}"
