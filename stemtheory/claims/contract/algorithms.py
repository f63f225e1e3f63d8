"""The contract of an algorithm: what every engine, sweep and bound takes for granted about it.

    options        each is checked with a sentence, and settled values settle to themselves
    deterministic  the same run has the same bits, made anew or run twice
    random numbers global generators are neither moved nor looked at, and no noise is its own
    replicates     each is the run that it would be alone
    costs          what is stated is what an oracle counts that looks at its samples
    sent           exchanges and vectors stated are no fewer and no more than are seen to pass
    synchronised   workers hold one point after a synchronisation, or the entry says why not
    dtype, finite  every array of the state keeps its dtype, and a short run stays finite

Everything is seeded and nothing here is statistical: a sound algorithm never fails.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stemtheory.algorithms import Entry, load_algorithm
from stemtheory.claims.contract import moves
from stemtheory.claims.contract.counting import cost_fault
from stemtheory.claims.contract.moves import Tried
from stemtheory.claims.contract.rows import ContractRow, faultless
from stemtheory.claims.contract.sending import sending_fault
from stemtheory.runtime import UsageError, Verdict, raised, whole

ALONE = "one worker has nobody to send to: what is stated of that is believed"
ANYTHING = object()  # no option means this
ODD_VALUES: tuple[Any, ...] = (ANYTHING, "no such value", float("nan"), -1, [1.0], {}, 2.5j)


def check_algorithm(
    algorithm: str | Entry, *, options: Mapping[str, Any] | None = None, seed: int = 0
) -> list[ContractRow]:
    """Return the rows of the contract of an algorithm.

    Parameters
    ----------
    algorithm
        A name of ``ALGORITHMS``, ``package.module:NAME``, or an ``Entry``.
    options
        Its options; their defaults unless given.
    seed
        That of all noise.

    Returns
    -------
    list of ContractRow
        One for each property, with what is wrong and whether it is ``ok``.

    Raises
    ------
    UsageError
        For an unknown name, what is no entry, and options that it does not take.

    Examples
    --------
    >>> from stemtheory import check_algorithm
    >>> [row.constant for row in check_algorithm("fedavg") if not row.ok]
    []
    """
    entry = load_algorithm(algorithm)
    tried = Tried(entry, entry.settle(options), whole("seed", seed, 0))
    return [_row(tried, name, check, note) for name, (check, note) in CHECKS.items()]


def option_fault(tried: Tried) -> str:
    """Return what is wrong with the checks of the options."""
    entry = tried.entry
    found = (_one_option(entry, name, option.default) for name, option in entry.options.items())
    return "; ".join(filter(None, found))


def _one_option(entry: Entry, name: str, default: Any) -> str:
    """Return what is wrong with the check of one option, or an empty text."""
    for value in ODD_VALUES:
        shown = "any object" if value is ANYTHING else repr(value)
        try:
            entry.options[name].check(name, value)
            settled = entry.settle({name: value})
        except UsageError:
            continue
        except Exception as error:
            return f"{name} = {shown} raises {type(error).__name__} instead of a UsageError"
        if value is ANYTHING or (isinstance(default, int | float) and value != value):
            return f"{name} takes {shown}: check it with a sentence"
        if entry.settle(settled) != settled:
            return f"{name} = {shown} settles to another value each time"
    return ""


def count_fault(tried: Tried) -> str:
    """Return where the costs that are stated are not those that an oracle counts."""
    K, I = tried.K, tried.I
    found = (cost_fault(tried.made(), K, *size) for size in ((2, I, 3 * I), (1, 1, 4)))
    return next(filter(None, found), "")


def sent_fault(tried: Tried) -> str:
    """Return where what is sent cannot be what is stated."""
    return sending_fault(tried.made(), tried.K, tried.I)


CHECKS: dict[str, tuple[Callable[[Tried], str], str]] = {
    "options": (option_fault, "each is checked with a sentence"),
    "deterministic": (moves.repeat_fault, "two runs of a seed have the same bits"),
    "random numbers": (moves.random_fault, "none but those that it is handed"),
    "replicates": (moves.mixing_fault, "each is the run that it would be alone"),
    "costs": (count_fault, "samples and full passes are those that were counted"),
    "sent": (
        sent_fault,
        "as seen from a shaken worker; what is sent again is believed",
    ),
    "synchronised": (moves.apart_fault, "workers hold one point after a synchronisation"),
    "dtype": (moves.dtype_fault, "float64 and float32 stay what they are"),
    "finite": (moves.finite_fault, "a short run by its own step sizes stays finite"),
}


def _row(tried: Tried, name: str, check: Callable[[Tried], str], note: str) -> ContractRow:
    """Return one row; what the algorithm itself raises is a violation of it."""
    if name == "synchronised" and tried.entry.apart:
        return ContractRow(name, True, None, None, Verdict.INAPPLICABLE, tried.entry.apart)
    if name == "sent" and tried.K == 1:
        return ContractRow(name, True, None, None, Verdict.INAPPLICABLE, ALONE)
    try:
        return faultless(name, check(tried), note)
    except (Exception, SystemExit) as error:
        return faultless(name, f"it raised {raised(error)}", note)
