"""What is known of the future: conditional expectations in closed form, as rules for lines.

Each rule takes what stands under E, and returns it in letters that a recorded run gives.

Paper: Lemma (Lem: e_bar_bound_Batch), Lemma (lem: Fn_Descent_FedAvg).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from stemtheory.claims.language import (
    At,
    Expr,
    Index,
    Inner,
    Over,
    Relation,
    Symbol,
    excess,
    letters,
)


@cache
def compared(step: Relation, given: Index, rules: tuple[Any, ...]) -> Relation:
    """Return a comparison in excess form, with what the rules know of the time after F_u."""
    return excess(step, tuple(partial(rule, given=given) for rule in rules))


def future(index: Index, given: Index) -> bool:
    """Whether a direction at this time is not known where F_u is given."""
    return index.name not in ("", "start") and index.shift > (
        given.shift if index.name == "t" else 0
    )


def _next_error(body: Expr, given: Index) -> Expr | None:
    """E||ebar_{u+1}||^2 = (1 - a_{u+1})^2 ||ebar_u||^2 + growth_u."""
    match body:
        case Inner(Symbol("ebar", (at,)) as one, other) if one == other and future(at, given):
            before = at - 1
            shrunk = (1 - letters.a[at]) ** 2 * letters.norm2(letters.ebar[before])
            return shrunk + letters.growth[before]
    return None


def _next_drift(body: Expr, given: Index) -> Expr | None:
    """E sum_k ||d_{u+1}^(k) - dbar_{u+1}||^2 is a closed form."""
    match body:
        case Over("sum", Index("k"), Inner(one, other)) if one == other:
            for part in one.walk():
                match part:
                    case Symbol("dbar", (at,)) if future(at, given) and body == letters.drift(at):
                        return letters.next_drift[at - 1]
    return None


def _bracket_noise(body: Expr, given: Index) -> Expr | None:
    """E||n(fresh) - (1 - a) n(stale)||^2 for one sample."""
    at, k = given + 1, letters.k
    bracket = letters.noise_k(letters.fresh[at, k]) - (1 - letters.a[at]) * letters.noise_k(
        letters.stale[at, k]
    )
    return letters.bracket_noise[given, k] if body == letters.norm2(bracket) else None


def _moved_gradients(body: Expr, given: Index) -> Expr | None:
    """E of the spread over workers of g(fresh) - (1 - a) g(stale), one minibatch for both."""
    at = given + 1
    new = letters.about_mean(letters.sampled_k, letters.fresh, at)
    old = letters.about_mean(letters.sampled_k, letters.stale, at)
    known = letters.sum_k(letters.norm2(new - (1 - letters.a[at]) * old))
    return letters.moved_gradients[given] if body == known else None


def _apart_gradients(body: Expr, given: Index) -> Expr | None:
    """E of the spread over workers of a minibatch's gradients at the older points."""
    old = letters.about_mean(letters.sampled_k, letters.stale, given + 1)
    known = letters.sum_k(letters.norm2(old))
    return letters.apart_gradients[given] if body == known else None


def _direction_noise(body: Expr, given: Index) -> Expr | None:
    """E||dbar_u - (1/K) sum_k grad f^(k)(x_u^(k))||^2 of FedAvg, whose d_u is not known at F_u."""
    mean = letters.mean_k(letters.grad_k(letters.x[given, letters.k]))
    wanted = letters.norm2(letters.dbar[given] - mean)
    return letters.direction_noise[given] if body == wanted else None


def _next_value(body: Expr, given: Index) -> Expr | None:
    """E f(xbar_{u+1}) of FedAvg."""
    known = body == letters.f(letters.xbar[given + 1])
    return letters.next_value[given] if known else None


def _sampled(body: Expr, given: Index) -> Expr | None:
    """E||.||^2 of one sample's gradients at p, at p2 or of their difference: mean and variance."""
    if not isinstance(body, Inner) or body.left != body.right:
        return None
    drawn = {n.point for n in body.walk() if isinstance(n, At) and n.function == "sample_k"}
    if not drawn:
        return None
    alone: dict[Expr, Expr] = {
        letters.p: letters.sample_noise,
        letters.p2: letters.sample_noise2,
    }
    noise = alone[drawn.pop()] if len(drawn) == 1 else letters.sample_change
    mean = _mean_gradients(body.left)
    exact = letters.grad_k(letters.p)
    return noise if mean == exact - exact else letters.norm2(mean) + noise


def _mean_gradients(node: Expr) -> Expr:
    """Return an expression with what a sample's gradient is in the mean."""
    if isinstance(node, At) and node.function == "sample_k":
        return replace(node, function="grad_k")
    return node.rebuilt(_mean_gradients)


STEM = (_next_error, _next_drift, _bracket_noise, _moved_gradients, _apart_gradients)
FEDAVG = (_direction_noise, _next_value)
SAMPLED = (_sampled,)
