"""Vectors and letters drawn at random, and the value of a line in them: no ring, plain sums."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from stemtheory.certificates.lemmas.ring import SUMS, Ring
from stemtheory.certificates.lemmas.statement import Lemma
from stemtheory.claims.language import (
    At,
    Either,
    Exact,
    Expected,
    Expr,
    Index,
    Inner,
    Over,
    Product,
    Raised,
    Sum,
    Symbol,
    Young,
    put,
    text,
)
from stemtheory.claims.language.letters import k, l

STEPS, DIM = 2, 2
At_ = Mapping[str, int]  # where the worker k and the time l stand


class World:
    """One draw; a lemma's definitions are put for letters, nothing else is known of them."""

    def __init__(self, lemma: Lemma, where: str, seed: int = 0, K: int = 3) -> None:
        self.K = K
        self.meaning = {**lemma.definitions, **lemma.at[where]}
        self.spans, self.jump = lemma.spans, where == "the jump"
        self.seed = seed

    @cache  # noqa: B019  a world lives as long as its test
    def drawn(self, name: str, worker: int, time: int) -> Any:
        """Return the vector of a name at a worker and a time: always the same one."""
        key = [self.seed, worker, time, *name.encode()]
        return np.random.Generator(np.random.PCG64(key)).normal(size=DIM)

    def letter(self, name: str, time: int = 0) -> float:
        """Return a positive number; K and the number of terms are what they are."""
        fixed = {"K": float(self.K), "i": float(STEPS)}
        return fixed.get(name) or 0.5 + abs(float(self.drawn(f"letter {name}", 0, time)[0]))

    def value(self, node: Expr, at: At_) -> Any:
        """Return an expression's number, or its vector [DIM]."""
        if node in self.meaning:
            return self.value(self.meaning[node], at)
        match node:
            case Exact(value):
                return float(value)
            case Index(name, shift):
                return (self.letter(name) if name else 0) + shift
            case Sum(terms):
                return sum(self.value(term, at) for term in terms)
            case Product(factors):
                found: Any = 1.0
                for factor in factors:
                    found = found * self.value(factor, at)
                return found
            case Raised(base, exponent):
                return self.value(base, at) ** self.value(exponent, at)
            case Inner(left, right):
                return float(np.dot(self.value(left, at), self.value(right, at)))
            case Expected(body):
                return self.value(body, at)
            case Young(one, other):
                beta = self.letter("beta")
                return (1 + beta) * self.value(one, at) + (1 + 1 / beta) * self.value(other, at)
            case Either(_, there, elsewhere):
                return self.value(there if self.jump else elsewhere, at)
            case Over():
                return self._over(node, at)
            case At("f"):
                return self.letter(text(node))
            case At() | Symbol():
                return self._leaf(node, at)
        raise TypeError(node)

    def _over(self, node: Over, at: At_) -> Any:
        if node.first is None:
            body = _of_worker(node.body, node.index)
            each = [self.value(body, {**at, "k": worker}) for worker in range(self.K)]
            return sum(each) / (self.K if node.kind == "mean" else 1)
        assert node.last is not None
        if (node.first, node.last) not in self.spans:
            shorter = Over(node.kind, node.index, node.body, node.first, node.last - 1)
            return self.value(shorter, at) + self.value(put(node.body, node.index, node.last), at)
        body = put(node.body, node.index, l)
        each = [self.value(body, {**at, "l": time}) for time in range(STEPS)]
        return sum(each) / (STEPS if node.kind == "mean" else 1)

    def _leaf(self, node: At | Symbol, at: At_) -> Any:
        time = at.get("l", 0)
        if isinstance(node, Symbol):
            if not node.is_vector:
                return self.letter(text(node), time if node.at and node.at[0].name == "l" else 0)
            means = {"xbar": "x", "dbar": "d"}
            if node.name in means:
                own = Symbol(means[node.name], (*node.at, k), True)
                return np.mean(
                    [self._stacked(text(own), own.at, {**at, "k": w}) for w in range(self.K)], 0
                )
            return self._stacked(text(node), node.at, at)
        if node.function in SUMS:
            return sum(self._leaf(At(f, node.point, node.worker), at) for f in SUMS[node.function])
        renamed = self.meaning.get(node.point)
        point = renamed if isinstance(renamed, Symbol) else node.point
        indices = (*(point.at if isinstance(point, Symbol) else ()), k)
        if node.function == "grad":
            return self._mean(f"grad_k({text(point)})", indices, at)
        return self._stacked(f"{node.function}({text(point)})", indices, at)

    def _mean(self, name: str, indices: tuple[Index, ...], at: At_) -> Any:
        each = [self._stacked(name, indices, {**at, "k": worker}) for worker in range(self.K)]
        return np.mean(each, axis=0)

    def _stacked(self, name: str, indices: tuple[Index, ...], at: At_) -> Any:
        names = {index.name for index in indices}
        worker = at["k"] if "k" in names else 0
        return self.drawn(name, worker, 1 + at["l"] if "l" in names else 0)

    # --- what the ring's symbols are here ---------------------------------------------------------

    def gram(self, ring: Ring, symbol: Any) -> float:
        """Return the mean inner product that a symbol stands for."""
        u, v = (self._part(ring, key, key[2]) for key in ring.grams[symbol])
        return float((u * v).sum(axis=-1).mean())

    def _part(self, ring: Ring, key: Any, part: tuple[str, ...]) -> Any:
        """Return means over the indices that do not deviate, deviations over those that do."""
        name, scale, _ = key
        stack = np.array(
            [
                [
                    self._named(name, worker, time) * self._scale(ring, scale, time)
                    for time in range(STEPS)
                ]
                for worker in range(self.K)
            ]
        )
        for axis, index in enumerate(("k", "l")):
            mean = stack.mean(axis=axis, keepdims=True)
            stack = stack - mean if index in part else mean
        return stack

    def _named(self, name: str, worker: int, time: int) -> Any:
        of_worker = ", k]" in name or name.startswith(("grad_k(", "mean_noise_k("))
        of_time = "[l" in name
        return self.drawn(name, worker if of_worker else 0, 1 + time if of_time else 0)

    def _scale(self, ring: Ring, scale: Any, time: int) -> float:
        known = {symbol: self.letter(str(symbol), time) for symbol in scale.free_symbols}
        return float(scale.subs(known))


def _of_worker(node: Expr, index: Index) -> Expr:
    """Return an expression said of the worker k in place of j, in gradients as well."""
    if isinstance(node, At) and node.worker == index.name:
        return At(node.function, put(node.point, index, k), "k", node.sample)
    if isinstance(node, Symbol):
        return put(node, index, k)
    return node.rebuilt(lambda part: _of_worker(part, index))
