"""The commands on claims: verify, explain, hunt, and check, the contract of a problem."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.runtime import Verdict, real, whole, write_whole

_NAMES = (
    "ids, sections, globs, synchronisation, or package.module:NAME of your own; all without any"
)
Names = Annotated[list[str] | None, o.argument("[CLAIM|SECTION|GLOB]...", _NAMES)]
ClaimName = Annotated[str, o.argument("CLAIM", "see: stemtheory list claims")]
_MUTANTS = "also show that every wrong version is rejected"
Mutants = Annotated[bool, o.option(None, "--mutants", _MUTANTS)]
_REPLAY = "run a case file again: a file, a folder, the name of one that is shipped, or all"
Replay = Annotated[str | None, o.option(None, "--replay FILE", _REPLAY)]
_TEX = "write each claim for a paper's appendix: LaTeX that needs no package"
TexFile = Annotated[Path | None, o.option(None, "--tex FILE", _TEX)]
_FOLDER = "write ledger.csv, .json, .md, .tex and .html"
Folder = Annotated[Path | None, o.option(None, "--out DIR", _FOLDER)]
Jobs = Annotated[str | None, o.option(None, "--jobs INT", "processes; one per core by default")]
_READING = "reading to search; the claim's first by default"
Reading = Annotated[str | None, o.option(None, "--sync NAME", _READING)]
Budget = Annotated[str, o.option(None, "--budget SECONDS", "time to search for", True)]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    for command in (verify, explain, hunt, check):
        app.command()(command)


def verify(
    names: Names = None,
    quick: o.Quick = False,
    full: o.Full = False,
    mutants: Mutants = False,
    replay: Replay = None,
    out: Folder = None,
    tex: TexFile = None,
    seed: o.Seed = "0",
    jobs: Jobs = None,
    json: o.Json = False,
) -> int:
    """Put the paper's claims to the test: a verdict, a margin and the worst case for each."""
    from stemtheory.claims import select, together, told
    from stemtheory.cli import display_claims
    from stemtheory.report import claims_latex, ledger_files, writable_folder

    if replay is not None:
        return _replay(replay, json)
    level = o.mode(quick, full)
    folder = writable_folder(out) if out is not None else None
    tell = console.live_line() or (lambda text: None)
    found = together.outcomes(
        names or (),
        level=level,
        mutants=mutants,
        seed=whole("seed", seed, 0),
        jobs=None if jobs is None else whole("jobs", jobs),
        progress=tell,
    )
    tell("")
    known = {claim.id: claim for claim in select(names or ())}
    document = together.document(found, mutants)
    if folder is not None:
        document["files"] = ledger_files.write(folder, document, found, level, names or ())
    if tex is not None:
        rows = document["claims"]
        each = [told(c, [row for row in rows if row["id"] == c.id]) for c in known.values()]
        document.setdefault("files", []).append(str(write_whole(tex, claims_latex(each))))
    show = (
        display_claims.show_synchronisation
        if names == ["synchronisation"]
        else display_claims.show_ledger
    )
    console.emit(document, json, lambda: show(document, known))
    survivors = [m for m in document.get("mutants", []) if not m["rejected"]]
    return int(bool(document["unexpected"] or survivors))


def _replay(target: str, json: bool) -> int:
    from stemtheory.claims import locate, replay
    from stemtheory.cli import display_claims

    document: dict[str, Any] = {"replays": [replay(file) for file in locate(target)]}
    console.emit(document, json, lambda: display_claims.show_replays(document))
    return int(not all(found["reproduced"] for found in document["replays"]))


def explain(name: ClaimName, tex: TexFile = None, json: o.Json = False) -> int:
    """A claim's statement, formula, premises, verdicts, counterexamples and repair."""
    from stemtheory.claims import explain as explained
    from stemtheory.claims import one
    from stemtheory.cli import display_claims
    from stemtheory.report import claims_latex

    document, claim = explained(name), one(name)
    if tex is not None:
        document["files"] = [str(write_whole(tex, claims_latex([document])))]
    console.emit(document, json, lambda: display_claims.show_explanation(document, claim))
    return 0


def hunt(
    name: ClaimName,
    sync: Reading = None,
    budget: Budget = "60",
    seed: o.Seed = "0",
    out: o.OutFolder = Path("out"),
    json: o.Json = False,
) -> int:
    """Search for a counterexample, shrink it and write its case file; else the tightest ratio."""
    from stemtheory.claims import hunt as hunted
    from stemtheory.claims import one
    from stemtheory.cli import display_claims

    show = console.live_line() or (lambda text: None)
    document = hunted(
        name,
        reading=sync,
        budget=real("budget", budget, positive=True),
        seed=whole("seed", seed, 0),
        out=out,
        progress=show,
    )
    show("")
    console.emit(document, json, lambda: display_claims.show_hunt(document))
    wanted = one(name).expectation(document["reading"], document["where"] or "all")
    return int(document["violated"] and wanted != Verdict.VIOLATED)


def check(
    problem: Annotated[str, o.argument("PROBLEM", "a name, or package.module:NAME of your own")],
    K: o.K = None,
    dim: o.Dim = None,
    L: o.L = None,
    sigma: o.Sigma = None,
    zeta: o.Zeta = None,
    noise: o.Noise = None,
    heterogeneity: o.Heterogeneity = None,
    set_: o.Set = None,
    seed: o.Seed = "0",
    quick: o.Quick = False,
    json: o.Json = False,
) -> int:
    """The contract of a problem: every constant declared, attained and nowhere exceeded."""
    from stemtheory.claims import check_problem, passed, records
    from stemtheory.cli import display_claims

    named = o.given(L=L, sigma=sigma, zeta=zeta, noise=noise, heterogeneity=heterogeneity)
    made = o.problem(problem, whole("K", "4" if K is None else K), dim, set_, named)
    rows = check_problem(made, quick=quick, seed=whole("seed", seed, 0))
    document = {
        "problem": problem,
        "K": made.K,
        "dim": made.dim,
        "rows": records(rows),
        "passed": passed(rows),
    }
    console.emit(document, json, lambda: display_claims.show_contract(document))
    return int(not document["passed"])
