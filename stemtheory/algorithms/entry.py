"""What the registry knows of an algorithm: how it is made, what it needs, what it promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast

from stemtheory.algorithms.base import Algorithm
from stemtheory.runtime import UsageError, by_name, choice, mapping, real, whole
from stemtheory.schedules import Constant, Curve, Schedule, coupled

Options = Mapping[str, Any]
MOST = 10**9  # of whatever is counted by an option


@dataclass(frozen=True)
class Option:
    """One option of an algorithm: its default, how a value is checked, and what it does.

    ``values`` are the names that it takes, where it takes names.
    """

    default: Any
    check: Callable[[str, object], Any]
    text: str
    values: tuple[str, ...] = ()


class Facts(NamedTuple):
    """The setting that a theory's step sizes depend on."""

    T: int
    K: int
    b: float
    I: int
    L: float
    sigma: float


@dataclass(frozen=True)
class Entry:
    """A named algorithm: its recursion (``base``), its trade-off curve, and what it pins.

    ``pinned`` fixes I, K or nu; ``batch`` returns the minibatch size from (T, K, L) where I is
    pinned. ``build`` makes the algorithm from its checked options, L among them. ``bounds`` are
    the names of the bounds that are proved about it: none unless it says so. ``family`` names the
    schedules it uses: stem (with momentum a_t) or fedavg; ``theory`` returns its own step sizes
    under schedule theorem, from the setting and the options, and ``coupling`` the c of
    a = c eta^2 under schedule coupled, where that is not STEM's. ``needs`` and ``promises`` say
    what its theory assumes and claims; ``row`` is its row of Table 1, ``footnote`` that row's.
    ``apart`` says why workers hold different points after a synchronisation, where they do.

    Paper: Table: Comparison.
    """

    name: str
    base: str
    summary: str
    curve: Callable[[float, int, float], Curve]
    pinned: tuple[tuple[str, float], ...] = ()
    batch: Callable[[int, int, float], float] | None = None
    build: Callable[[Options], Algorithm] | None = None
    bounds: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)
    family: str = "fedavg"
    theory: Callable[[Facts, Options], Schedule] | None = None
    coupling: Callable[[Facts, Options], float] | None = None
    needs: str = ""
    promises: str = ""
    row: str = ""
    footnote: str = ""
    apart: str = ""

    def make(self, options: Options | None = None, L: float = 1.0) -> Algorithm:
        """Return the algorithm with these options on a problem of smoothness L.

        Raises
        ------
        UsageError
            As ``settle``; also where nothing is built, or what is built has no such moves.
        """
        settled = {**self.settle(options), "L": L}
        made = None if self.build is None else self.build(settled)
        moves = [name for name in vars(Algorithm) if not name.startswith("_")]
        if missing := [name for name in moves if not hasattr(made, name)]:
            raise UsageError(
                f"{self.name} makes no algorithm, its {type(made).__name__} lacks"
                f" {', '.join(missing)}: let build return one, see stemtheory.algorithms.Algorithm."
            )
        return cast("Algorithm", made)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by its name."""
        return by_name(self, self.build, self.theory, self.curve)

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself: nothing of it changes."""
        return self

    @property
    def readings(self) -> tuple[str, ...]:
        """The readings of its synchronisation; only STEM has more than one."""
        return self.options["sync"].values if "sync" in self.options else ("literal",)

    def settle(self, options: Options | None) -> dict[str, Any]:
        """Return every option of this algorithm, checked, defaults filled in.

        Raises
        ------
        UsageError
            For an unknown option, a value out of range, and what maps no names to values.
        """
        given = mapping("algorithm_options", options)
        known = ", ".join(sorted(self.options)) or "none"
        for name in given:
            if name not in self.options:
                raise UsageError(
                    f"algorithm option '{name}' is unknown for {self.name}; known are {known}:"
                    " drop it or choose another algorithm."
                )
        # a default that is None means "not given", so settled options settle to themselves
        return {
            name: option.default
            if given.get(name, option.default) is option.default
            else self._checked(name, given[name])
            for name, option in self.options.items()
        }

    def _checked(self, name: str, value: object) -> Any:
        try:
            return self.options[name].check(name, value)
        except UsageError:
            raise
        except Exception as error:  # a check of a user's own that refuses in its own way
            raise UsageError(
                f"{name} is {value!r:.60}, which {self.name} does not take"
                f" ({type(error).__name__}: {error}): give another value."
            ) from error

    def chosen(self, options: Options | None) -> dict[str, Any]:
        """Return the options that differ from their defaults: what tells one run from another.

        Raises
        ------
        UsageError
            As ``settle``.
        """
        settled = self.settle(options)
        return {name: v for name, v in settled.items() if v != self.options[name].default}

    def pin(self, name: str) -> float | None:
        """Return the value this entry fixes for I, K or nu, or None."""
        return dict(self.pinned).get(name)


# Checks of options; each takes the option's name and the value given.


def named(default: str, values: tuple[str, ...], text: str) -> Option:
    """Return an option that takes one of some names."""
    return Option(default, lambda name, value: choice(name, value, values), text, values)


def positive(name: str, value: object) -> float:
    """Return a finite number above 0."""
    return real(name, value, positive=True)


def not_negative(name: str, value: object) -> float:
    """Return a finite number of at least 0."""
    return real(name, value, minimum=0)


def count(name: str, value: object) -> int:
    """Return a whole number from 1 to ``MOST``, such as that of samples or rounds."""
    number = whole(name, value)
    if number > MOST:
        raise UsageError(f"{name} is {number:.3g}, but it must be at most {MOST:.0e}: lower it.")
    return number


def share(name: str, value: object) -> float:
    """Return a share of the workers: above 0, at most 1."""
    number = real(name, value, positive=True)
    if number > 1:
        raise UsageError(
            f"{name} is {number:g}, but it is a share: give a number above 0 and at most 1."
        )
    return number


def below_one(name: str, value: object) -> float:
    """Return a momentum or a probability: in [0, 1)."""
    number = real(name, value, minimum=0)
    if number >= 1:
        raise UsageError(f"{name} is {number:g}, but it must lie in [0, 1): give 0.9 or so.")
    return number


def unit(name: str, value: object) -> float:
    """Return a number in [0, 1]."""
    number = real(name, value, minimum=0)
    if number > 1:
        raise UsageError(f"{name} is {number:g}, but it must lie in [0, 1]: give 1 or less.")
    return number


PARTICIPATION = Option(1.0, share, "share of the workers sampled afresh in every round")
SERVER_STEP = Option(1.0, positive, "eta_g: how far the server goes along the mean change")


def capped(facts: Facts, cap: float, workers: float | None = None, scale: float = 1.0) -> Schedule:
    """Return a constant step: FedAvg's sqrt(bn/T)/L times ``scale``, but at most ``cap``.

    n is how many workers share a round's noise (K unless given). The 1/L makes it invariant to
    the units of x.
    """
    n = facts.K if workers is None else workers
    return Constant(min(cap, scale * math.sqrt(facts.b * n / facts.T) / facts.L))


def recursive(facts: Facts, cap: float, server_step: float = 1.0) -> Schedule:
    """Return constant (eta, a) for an estimate d that is renewed once a round: a = 8 (L h)^2.

    Over a round of length h = eta I eta_g the error obeys E|e'|^2 <= (1-a)^2 E|e|^2 + 2 a^2 s^2 +
    2 (1-a)^2 L^2 h^2 E|d|^2 and f descends by (h/2)(1 - hL)|d|^2 - (h/2)|e|^2. In the potential
    f + w |e|^2 the last terms cancel if w = 1/(8 L^2 h) and a >= h/(2w) = 4 L^2 h^2. What is left
    per round is 16 h^3 L^2 s^2 with s^2 = sigma^2/(bK), so over R rounds h = (bK/R)^{1/3}/L gives
    R^{-2/3}.
    """
    rounds = facts.T / facts.I
    reach = facts.I * server_step
    length = min(cap, (facts.b * facts.K) ** (1 / 3) * rounds ** (-1 / 3) / facts.L)
    return coupled(length / reach, round_coupling(facts, {"server_step": server_step}))


def round_coupling(facts: Facts, options: Options) -> float:
    """Return the c of a = c eta^2 where d is renewed once a round: 8 (L I eta_g)^2."""
    return float(8 * (facts.L * facts.I * options.get("server_step", 1.0)) ** 2)
