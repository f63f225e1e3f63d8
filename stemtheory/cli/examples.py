"""What stands under a command's help: a line to try, and what it does. A test runs them."""

from __future__ import annotations

APART = (
    "verify: are the paper's lines true? explain: one line in full. probe: one line at settings of"
    " your own. hunt: search for a counterexample. check: does a problem or an algorithm keep its"
    " contract? doctor: what is installed here?"
)

_LINES = {
    "doctor": ("doctor", "what is installed, and why there is no GPU"),
    "list": ("list algorithms", "every algorithm with what it needs and promises"),
    "bound": ("bound stem-log-free --epsilon 1e-3", "what epsilon = 0.001 takes by that bound"),
    "run": ("run geman_mcclure stem --T 1024", "one run beside every bound on it"),
    "figure": ("figure tradeoff_curve --quick", "a picture, its numbers and its caption in out/"),
    "reproduce": ("reproduce --quick", "everything, in some minutes, into out/"),
    "verify": ("verify SCH3 SCH4", "two lines of the paper; without names all of them"),
    "explain": ('explain "lemma A.6"', "what it says, where it fails and what holds instead"),
    "probe": ("probe M3 --set I=50 --set zeta=2", "both sides over t, at I = 50 and zeta = 2"),
    "hunt": ("hunt M3 --sync overwrite --budget 10", "ten seconds of search, and a case file"),
    "check": ("check cosine --quick", "every constant that it declares, tried"),
    "constants": ("constants cosine --T 64", "L, sigma and zeta met along a run"),
    "sweep": ("sweep tradeoff --dry-run", "what it would take; without --dry-run it runs"),
    "results": ("results results/tradeoff.sqlite", "the cells of a store"),
    "certify": ("certify stem --K 4 --I 4 --b 1", "a proof by machine, for all problems at once"),
    "tighten": ("tighten --weights 1,4,1", "steps and theorem where sigma^2 is 4 L gap"),
    "slack": ("slack --K 2 --I 2", "what each step of the proof costs at K = 2, I = 2"),
    "explore": ("explore --out explorer.html", "the theorems under sliders, in one page"),
    "new": ("new pack mypack", "a pack with two claims and its tests in mypack/, to start from"),
    "advise": ("advise --epsilon 1e-3 --round-cost 100", "the cheapest proved way to epsilon"),
}


def example(command: str) -> str:
    """Return the line under a command's help."""
    line, does = _LINES[command]
    return f"Example: stemtheory {line}  ({does})"
