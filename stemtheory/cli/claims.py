"""The commands on claims: verify, explain, hunt, and check, a contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stemtheory.cli import console
from stemtheory.cli import options as o
from stemtheory.cli.completion import checked, claim_names
from stemtheory.cli.examples import example
from stemtheory.cli.waiting import waiting
from stemtheory.runtime import UsageError, Verdict, choice, real, whole, write_whole

if TYPE_CHECKING:
    from stemtheory.claims import Claim, ContractRow

_NAMES = "ids, sections, globs, aliases, or package.module:NAME of your own; all without any"
Names = Annotated[list[str] | None, o.argument("[CLAIM|SECTION|GLOB]...", _NAMES, claim_names)]
ClaimName = Annotated[str, o.argument("CLAIM", "see: stemtheory list claims", claim_names)]
_MUTANTS = "also show that every wrong version is rejected"
Mutants = Annotated[bool, o.option(None, "--mutants", _MUTANTS)]
_REPLAY = "run a case file again: a file, a folder, the name of one that is shipped, or all"
Replay = Annotated[str | None, o.option(None, "--replay FILE", _REPLAY)]
_PACK = "of this pack alone: an installed one's name or a folder; may be repeated"
PackNames = Annotated[list[str] | None, o.option(None, "--pack NAME|FOLDER", _PACK)]
_TRUST = "the case file may name modules of yours, whose code is then run"
Trust = Annotated[bool, o.option(None, "--trust", _TRUST)]
_TEX = "write each claim for a paper's appendix: LaTeX that needs no package"
TexFile = Annotated[Path | None, o.option(None, "--tex FILE", _TEX)]
_VERDICTS = "write a table of the verdicts and each claim, as LaTeX that needs no package"
VerdictsTex = Annotated[Path | None, o.option(None, "--tex FILE", _VERDICTS)]
_MARKDOWN = "write the table of the verdicts as Markdown"
VerdictsMarkdown = Annotated[Path | None, o.option(None, "--markdown FILE", _MARKDOWN)]
_FOLDER = "write ledger.csv, .json, .md, .tex and .html"
Folder = Annotated[Path | None, o.option(None, "--out DIR", _FOLDER)]
Jobs = Annotated[str | None, o.option(None, "--jobs INT", "processes; one per core by default")]
_READING = "reading to search; the claim's first by default"
Reading = Annotated[str | None, o.option(None, "--sync NAME", _READING)]
Budget = Annotated[str, o.option(None, "--budget SECONDS", "time to search for", True)]
Hunted = Annotated[str | None, o.argument("CLAIM", "see: stemtheory list claims", claim_names)]
_CERTIFICATE = "attack a round certificate instead: a file, or the name of one that ships"
Certificate = Annotated[str | None, o.option(None, "--certificate FILE", _CERTIFICATE)]


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    for command in (verify, explain, hunt, check):
        app.command(epilog=example(command.__name__))(command)


def verify(
    context: typer.Context,
    names: Names = None,
    pack: PackNames = None,
    quick: o.Quick = False,
    full: o.Full = False,
    mutants: Mutants = False,
    replay: Replay = None,
    trust: Trust = False,
    out: Folder = None,
    tex: VerdictsTex = None,
    markdown: VerdictsMarkdown = None,
    seed: o.Seed = "0",
    jobs: Jobs = None,
    json: o.Json = False,
) -> int:
    """Put a paper's claims to the test: a verdict, a margin and the worst case for each."""
    from stemtheory.certificates import is_certified
    from stemtheory.claims import chosen_packs, select, together, uncovered
    from stemtheory.cli import display_claims
    from stemtheory.report import ledger_files, writable_folder

    if replay is not None:
        o.refuse_beside(
            context,
            ("replay", "trust", "pack", "json"),
            "--replay runs a case file as it stands: leave it out",
        )
        return _replay(replay, trust, pack or (), json)
    if trust:
        raise UsageError("--trust is for a case file, but --replay was not given: leave it out.")
    level = o.mode(quick, full)
    folder = writable_folder(out) if out is not None else None
    with waiting() as tell:
        tell("checking claims")
        outcomes = together.begun(
            names or (),
            level=level,
            mutants=mutants,
            seed=whole("seed", seed, 0),
            jobs=None if jobs is None else whole("jobs", jobs),
            progress=tell,
            packs=pack or (),
        )
        found = outcomes()
    known = {claim.id: claim for claim in select(names or (), pack or ())}
    document = together.document(found, mutants)
    if folder is not None:
        document["files"] = ledger_files.write(
            folder, document, found, level, names or (), pack or ()
        )
    for file, text in _appendices(document, known, level, tex, markdown):
        document.setdefault("files", []).append(str(write_whole(file, text)))
    if not names and any(map(is_certified, known.values())):
        document["certificates"] = _certificates(level)
    packs = chosen_packs(pack or ())
    if pack:
        document["uncovered"] = {each.name: uncovered(each) for each in packs}
    shown = {name: found for each in packs for name, found in each.matrices.items()}
    matrix = shown.get(names[0]) if names and len(names) == 1 else None
    console.emit(document, json, lambda: display_claims.show_ledger(document, known, matrix))
    survivors = [m for m in document.get("mutants", []) if not m["rejected"]]
    refused = [row for row in document.get("certificates", []) if row["why"]]
    return int(bool(document["unexpected"] or survivors or refused))


def _appendices(
    document: dict[str, Any],
    known: dict[str, Claim],
    level: str,
    tex: Path | None,
    markdown: Path | None,
) -> Iterator[tuple[Path, str]]:
    """Yield the files for a paper's appendix that were asked for, each with its text."""
    from stemtheory.claims import told
    from stemtheory.report import claims_latex, verdicts_latex, verdicts_markdown

    rows = document["claims"]
    if tex is not None:
        each = [told(c, [row for row in rows if row["id"] == c.id]) for c in known.values()]
        yield tex, "\n".join((verdicts_latex(document, known, level), claims_latex(each)))
    if markdown is not None:
        yield markdown, verdicts_markdown(document, known, level)


def _certificates(level: str) -> list[dict[str, Any]]:
    """Check the certificates that ship again; a quick run leaves out those that take seconds."""
    from stemtheory.certificates import rows_of_shipped

    return rows_of_shipped(4) if level == "quick" else rows_of_shipped()


def _replay(target: str, trust: bool, packs: Sequence[str], json: bool) -> int:
    from stemtheory.claims import locate, replay
    from stemtheory.cli import display_claims

    found = [replay(file, trust=trust, packs=packs) for file in locate(target, packs)]
    document: dict[str, Any] = {"replays": found}
    console.emit(document, json, lambda: display_claims.show_replays(document))
    return int(not all(found["reproduced"] for found in document["replays"]))


def explain(
    context: typer.Context,
    name: ClaimName,
    pack: PackNames = None,
    tex: TexFile = None,
    json: o.Json = False,
) -> int:
    """A claim's statement, formula, premises, verdicts, counterexamples and repair."""
    from stemtheory.certificates import is_certified, proof_of
    from stemtheory.claims import explain as explained
    from stemtheory.claims import one
    from stemtheory.cli import display_claims
    from stemtheory.report import claims_latex

    # kept by a process of its own alone: in another's what is loaded may have been changed
    document, claim = explained(name, pack or (), keep=bool(context.obj)), one(name, pack or ())
    if is_certified(claim):
        document["certificates"] = _certificates("quick")
    document["proved"] = proof_of(claim)
    if tex is not None:
        document["files"] = [str(write_whole(tex, claims_latex([document])))]
    console.emit(
        document, json, lambda: display_claims.show_explanation(document, claim, pack or ())
    )
    return 0


def hunt(
    context: typer.Context,
    name: Hunted = None,
    pack: PackNames = None,
    sync: Reading = None,
    certificate: Certificate = None,
    budget: Budget = "60",
    seed: o.Seed = "0",
    out: o.OutFolder = Path("out"),
    json: o.Json = False,
) -> int:
    """Search for a counterexample, shrink it and write its case file; else the tightest ratio.

    With --certificate: the worst legal instance of a certified round, by exact second moments.
    """
    from stemtheory.claims import hunt as hunted
    from stemtheory.claims import one
    from stemtheory.cli import display_claims

    if certificate is not None:
        useful = ("certificate", "budget", "seed", "json")
        o.refuse_beside(context, useful, "--certificate attacks that file alone: leave it out")
        return _attack(certificate, budget, seed, json)
    if name is None:
        raise UsageError(
            "nothing to hunt: name a claim (stemtheory list claims), or give --certificate FILE."
        )
    with waiting() as told:
        document = hunted(
            name,
            reading=sync,
            budget=real("budget", budget, positive=True),
            seed=whole("seed", seed, 0),
            out=out,
            progress=told,
            packs=pack or (),
        )
    console.emit(document, json, lambda: display_claims.show_hunt(document))
    wanted = one(name, pack or ()).expectation(document["reading"], document["where"] or "all")
    return int(document["violated"] and wanted != Verdict.VIOLATED)


def _attack(target: str, budget: str, seed: str, json: bool) -> int:
    from stemtheory.certificates import attacked, locate
    from stemtheory.cli import display_claims

    seconds, own = real("budget", budget, positive=True), whole("seed", seed, 0)
    with waiting() as told:
        found = attacked(locate(target), seconds=seconds, seed=own, told=told)
    document = {**found, "certificate": target}
    console.emit(document, json, lambda: display_claims.show_attack(document))
    return int(document["refuted"])


def check(
    name: Annotated[
        str, o.argument("PROBLEM|ALGORITHM", "a name, or package.module:NAME", checked)
    ],
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
    """The contract of a problem (its constants, its oracle) or of an algorithm (its moves).

    Names of problems and of algorithms are different, and package.module:NAME is what NAME is.
    """
    from stemtheory.algorithms import ALGORITHMS, is_algorithm
    from stemtheory.claims import passed, records
    from stemtheory.cli import display_claims
    from stemtheory.oracles import names

    if ":" not in name:
        choice("problem or algorithm", name, [*names("problems", data=True), *ALGORITHMS])
    named = o.given(L=L, sigma=sigma, zeta=zeta, noise=noise, heterogeneity=heterogeneity)
    sizes, own = o.given(K=K, dim=dim, quick=quick or None), whole("seed", seed, 0)
    of = _of_an_algorithm if is_algorithm(name) else _of_a_problem
    document, rows = of(name, sizes, named, set_, own)
    document |= {"rows": records(rows), "passed": passed(rows)}
    console.emit(document, json, lambda: display_claims.show_contract(document))
    return int(not document["passed"])


def _of_a_problem(
    name: str, sizes: dict[str, Any], named: dict[str, Any], pairs: list[str] | None, seed: int
) -> tuple[dict[str, Any], list[ContractRow]]:
    from stemtheory.claims import check_problem

    made = o.problem(name, sizes.get("K"), sizes.get("dim"), pairs, named)
    rows = check_problem(made, quick=sizes.get("quick", False), seed=seed)
    return {"problem": name, "K": made.K, "dim": made.dim}, rows


def _of_an_algorithm(
    name: str, sizes: dict[str, Any], named: dict[str, Any], pairs: list[str] | None, seed: int
) -> tuple[dict[str, Any], list[ContractRow]]:
    from stemtheory.claims import check_algorithm

    groups = o.settings(pairs, {})
    stray = [*sizes, *named, *groups.dials, *(f"schedule.{key}" for key in groups.schedule)]
    if stray:
        raise UsageError(
            f"{', '.join(stray)} was given, but {name} is an algorithm, whose contract has no such"
            " option: leave it out; its own are --set algorithm.NAME=VALUE."
        )
    rows = check_algorithm(name, options=groups.algorithm, seed=seed)
    return {"algorithm": name, "options": groups.algorithm}, rows
