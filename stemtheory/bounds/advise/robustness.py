"""Whether a choice survives constants that nobody gave: each of them 4 times smaller and larger.

A choice stays where keeping its algorithm, b and I costs at most a tenth more than the cheapest
proved way with the changed constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stemtheory.bounds.advise.search import Offer, Question, cheapest, cheapest_at, rank
from stemtheory.runtime import rounded

FACTOR = 4.0
STAYS = 1.1  # cost of keeping the choice, over the least


def robustness(
    q: Question, best: Mapping[str, Offer], choice: Offer, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return, for each constant in ``names`` divided and multiplied by 4, what would be chosen.

    ``cost_of_keeping`` is the cost of the choice's algorithm, b and I over the least; None where
    nothing is proved of them, or where ``algorithm`` is None since the start is good enough.
    ``best`` are the cheapest offers of each algorithm, from which the search goes on.
    """
    found = []
    for name in names:
        for factor in (1 / FACTOR, FACTOR):
            changed = replace(q, **{name: factor * getattr(q, name)})
            found.append({"constant": name, "factor": factor} | _instead(changed, best, choice))
    return found


def _instead(q: Question, best: Mapping[str, Offer], choice: Offer) -> dict[str, Any]:
    if q.start_is_enough:
        return dict.fromkeys(("algorithm", "b", "I", "cost_of_keeping")) | {"stays": True}
    other = min((cheapest(q, name, best[name]) for name in q.bounds), key=rank)
    kept = cheapest_at(q, choice.algorithm, choice.b, choice.I)
    ratio = None if kept is None else kept.cost / other.cost
    return {
        "algorithm": other.algorithm,
        "b": other.b,
        "I": other.I,
        "cost_of_keeping": ratio,
        "stays": ratio is not None and ratio <= STAYS,
    }


def said(defaults: Sequence[str], q: Question, found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return in words which constants nobody gave, and for which of them the choice changes."""
    if not defaults:
        return []
    named = ", ".join(f"{name} = {getattr(q, name):g}" for name in defaults)
    texts = [f"Defaults that nobody gave: {named}."]
    stays = [_factor(row) for row in found if row["stays"]]
    if stays:
        texts.append(f"The choice stays (at most 10 % from the cheapest) for {', '.join(stays)}.")
    for row in found:
        if not row["stays"]:
            kept = row["cost_of_keeping"]
            cost = "proves nothing" if kept is None else f"costs {rounded(kept)} times as much"
            texts.append(
                f"It changes to {row['algorithm']} with b = {row['b']}, I = {row['I']} for"
                f" {_factor(row)}: keeping it {cost}."
            )
    return texts


def _factor(row: Mapping[str, Any]) -> str:
    return f"{row['constant']} {'x' if row['factor'] > 1 else '/'} {FACTOR:g}"
