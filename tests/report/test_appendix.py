"""Claims as LaTeX that the class article compiles without a package."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from stemtheory.claims import claims, explain, verify
from stemtheory.cli.app import main
from stemtheory.report.appendix import claim_latex, claims_latex, in_latex, verdicts_latex

# Every command that a file may use: LaTeX's own, none of a package.
WORDS = """
    alpha bar begin beta bigl bigr caption cdot cdots delta Delta displaystyle ell end epsilon
    eta exp footnotesize frac geq hline in kappa label lambda Lambda langle lceil ldots left
    leftarrow leq Leftrightarrow ln log mathcal mathrm max mbox medskip min mu nabla neq nu par
    Phi Psi quad raggedright rangle rceil right Rightarrow sigma smallskip sqrt sum tau
    textasciicircum theta Theta textasciitilde textbackslash textbar textgreater textless
    textwidth tilde to varphi xi zeta
"""
KNOWN = set(re.findall(r"\w+", WORDS))


def faults(text: str) -> list[str]:
    """Return what plain LaTeX would stumble over."""
    found = sorted(set(re.findall(r"\\([A-Za-z]+)", text)) - KNOWN)
    bare = re.sub(r"\\[{}$%&#_\\]", "", text)
    found += ["braces"] if bare.count("{") != bare.count("}") else []
    found += ["dollars"] if bare.count("$") % 2 else []
    begun, ended = (re.findall(rf"\\{w}{{(\w+)}}", text) for w in ("begin", "end"))
    found += ["environments"] if sorted(begun) != sorted(ended) else []
    found += [f"not ASCII: {c}" for c in sorted(set(text)) if ord(c) > 127]
    for row in re.findall(r"^(?!\\hline).* & .*\\\\$", text, re.MULTILINE):
        found += [] if row.count(" & ") == 5 else [f"cells: {row}"]
    return found


@pytest.fixture(scope="module")
def m3() -> str:
    return claim_latex(explain("M3"))


def test_every_formula_of_the_ledger_needs_no_package() -> None:
    assert {c.id: faults(f"${in_latex(c.formula)}$") for c in claims().values()
            if faults(f"${in_latex(c.formula)}$")} == {}  # fmt: skip


def test_a_float_tells_formula_verdicts_sides_and_parameters(m3: str) -> None:
    assert faults(m3) == []
    for piece in (
        r"\caption{M3 (Lemma A.6, Gradient Error Contraction): The mean error of the direction",
        r"\label{claim:M3}",
        r"\frac{8 (1 - a_{t+1})^2 L^2 (I - 1) \eta_t^2}{b K^2 I}",
        r"noise\_smoothness",
    ):
        assert piece in m3
    assert re.search(r"^literal & sync & violated & [\d.e-]+ & [\d.e-]+ & \d+ ", m3, re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (r"\frac", r"\tfrac", "tfrac"),
        (r"\end{tabular}", "", "environments"),
        (r"\label{", "\\label", "braces"),
        ("literal & sync", "literal sync", "cells"),
    ],
)
def test_what_would_not_compile_is_noticed(m3: str, old: str, new: str, fault: str) -> None:
    assert any(fault in found for found in faults(m3.replace(old, new, 1)))


def test_the_commands_write_it(tmp_path: Path, capsys: pytest.CaptureFixture[str], m3: str) -> None:
    one, several = tmp_path / "one.tex", tmp_path / "several.tex"
    assert main(["explain", "lemma A.6", "--tex", str(one)]) == 0
    assert one.read_text() == m3
    assert main(["verify", "SCH3", "SCH4", "--tex", str(several)]) == 0
    assert f"written: {several}" in capsys.readouterr().out
    text = several.read_text()
    assert faults(text) == []
    assert [label in text for label in (r"\label{claim:SCH3}", r"\label{claim:SCH4}")] == [True] * 2


@pytest.mark.skipif(
    not (shutil.which("pdflatex") or shutil.which("tectonic")), reason="there is no LaTeX"
)
def test_it_compiles(tmp_path: Path) -> None:
    names = ("M3", "SCH4", "T1")
    table = verdicts_latex(verify(names, jobs=1), claims(), "quick")
    body = table + claims_latex([explain(name) for name in names])
    (tmp_path / "a.tex").write_text(
        "\\documentclass{article}\n\\begin{document}\n" + body + "\\end{document}\n"
    )
    program = shutil.which("pdflatex") or "tectonic"
    flags = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in program else []
    subprocess.run([program, *flags, "a.tex"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "a.pdf").stat().st_size > 0
