"""What a claim is: data. What a comparison is: both sides, in excess form, and where they stand.

Excess form means that terms common to both sides are cancelled before they are compared; otherwise
the quotient of the sides is about 1 whatever happens, and the check cannot fail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from stemtheory.algorithms import Algorithm
from stemtheory.bounds import Premise
from stemtheory.claims.language.expression import Line
from stemtheory.claims.pack import Label, Pack
from stemtheory.runtime import Floats, UsageError, Verdict, whole
from stemtheory.simulator import Run

Kind = Literal["arithmetic", "pathwise", "conditional", "expectation", "rate", "not-checkable"]


@dataclass(frozen=True)
class Case:
    """One run to put claims to: a problem, the sizes, a reading, a start and a seed.

    ``rounds`` rounds of I steps are run (T = rounds I). ``clock`` shifts the schedule's time, so
    that its decaying phase can be entered. Hashable, and written to JSON without loss.
    """

    problem: str
    K: int
    dim: int
    b: float
    I: int
    rounds: int
    dials: tuple[tuple[str, Any], ...] = ()
    reading: str = "literal"
    algorithm: str = "stem"
    B: float | None = None
    x1: float | tuple[float, ...] = 1.0
    seed: int = 0
    replicates: int = 8
    schedule: str = "theorem"
    options: tuple[tuple[str, Any], ...] = ()
    sync_batch: int = 1
    clock: float = 0.0
    algorithm_options: tuple[tuple[str, Any], ...] = ()

    @property
    def T(self) -> int:
        """Iterations."""
        return self.rounds * self.I

    @property
    def run(self) -> Run:
        """The run that these fields spell; the clock is not its own."""
        return _run_of(self)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, JSON-ready."""
        plain = asdict(self)
        plain["dials"], plain["options"] = dict(self.dials), dict(self.options)
        own = dict(plain.pop("algorithm_options"))
        return plain | ({"algorithm_options": own} if own else {})

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Case:
        """Return the case that ``to_json`` wrote.

        Raises
        ------
        UsageError
            If fields are missing or unknown.
        """
        fields = dict(plain)
        try:
            fields["dials"] = tuple(sorted(dict(fields.get("dials", {})).items()))
            for name in ("options", "algorithm_options"):
                fields[name] = tuple(sorted(dict(fields.get(name, {})).items()))
            if isinstance(fields.get("x1"), list):
                fields["x1"] = tuple(fields["x1"])
            if isinstance(fields.get("seed"), float):
                fields["seed"] = whole("seed", fields["seed"], 0)
            made = Case(**fields)
            # a null is no default here: what is left out is
            if missing := [k for k, v in vars(made).items() if v is None and k != "B"]:
                raise ValueError(f"{', '.join(missing)} is null")
            return made
        except (TypeError, ValueError) as error:
            raise UsageError(f"the case is not readable ({error}): give a case file.") from error

    def short(self) -> str:
        """Return the fields that matter most, for tables."""
        dials = ",".join(
            f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.dials
        )
        return f"{self.problem} K={self.K} b={self.b:g} I={self.I} {self.reading} {dials}".strip()


@lru_cache(maxsize=1024)
def _run_of(case: Case) -> Run:
    return Run.of(
        case.problem,
        case.algorithm,
        K=case.K,
        dim=case.dim,
        dials=dict(case.dials),
        algorithm_options=dict(case.algorithm_options),
        sync=case.reading,
        sync_batch=case.sync_batch,
        T=case.T,
        b=case.b,
        I=case.I,
        B=case.B,
        schedule=case.schedule,
        schedule_options=dict(case.options),
        x1=case.x1,
        replicates=case.replicates,
        seed=case.seed,
        backend="numpy",
    )


def dials(**values: Any) -> tuple[tuple[str, Any], ...]:
    """Return dials in the hashable form that ``Case`` keeps."""
    return tuple(sorted(values.items()))


def quadratic(
    K: int,
    b: float,
    I: int,
    rounds: int,
    *,
    dim: int = 1,
    B: float | None = None,
    x1: float = 1.0,
    reading: str = "literal",
    replicates: int = 8,
    **own: Any,
) -> Case:
    """Return a run on quadratics with the dials ``own``: where most lines are sharp, or break."""
    made = dials(**own)
    return Case("quadratic", K, dim, b, I, rounds, made, reading, B=B, x1=x1, replicates=replicates)


noiseless = partial(quadratic, sigma=0.0, replicates=1)
# At the minimum of x^2/2 with equal workers: noise, and the error of the first batch, are all.
resting = partial(quadratic, x1=0.0, h=1.0, sigma=1.0, zeta=0.0, noise="additive")


@dataclass(frozen=True)
class Comparison:
    """Both sides of a claim at n instances, in excess form: arrays of one shape.

    Inequality: left <= right. Identity: ``left`` is the error, ``right`` its float budget.
    Expectation: ``left`` is the mean over replicates, ``spread`` its standard error and ``dof`` the
    degrees of freedom; an equality in expectation also sets ``two_sided`` and has the target on the
    right. Rate: ``left`` the measured exponent, ``right`` the stated one, ``spread`` the interval's
    half-width plus tolerance. ``floor`` is the float resolution of the left side: instances with
    both sides below it are not counted. ``trivial`` is the do-nothing value of a run-level bound.
    ``scale`` is what the error of an equality in expectation is relative to, |right| unless given.
    """

    left: Floats
    right: Floats
    where: Any = "all"
    t: Any = 0
    spread: Any = None
    dof: int = 0
    two_sided: bool = False
    floor: Any = 0.0
    trivial: Any = None
    scale: Any = None

    def flat(self, values: Any) -> Any:
        """Return a scalar, or values of the sides' shape, as one value per instance."""
        shape = np.broadcast_shapes(np.shape(self.left), np.shape(self.right))
        return np.broadcast_to(np.asarray(values), shape).ravel()

    def scaled(self, factor: float) -> Comparison:
        """Return the same comparison with the right side multiplied: the simplest mutant."""
        return replace(self, right=np.asarray(self.right) * factor)


Compare = Callable[..., Comparison]


@dataclass(frozen=True)
class Mutant:
    """A wrong version of a claim or of what it speaks of; the checker must find it violated.

    ``arguments`` are handed to the claim's own comparison, ``compare`` replaces it, ``change``
    replaces every case first (for instance by the reading ``overwrite``), and ``algorithm`` runs it
    by another one. Without any of them the right side is divided by four times the smallest margin
    measured.
    """

    name: str
    compare: Compare | None = None
    change: Callable[[Any], Any] | None = None
    algorithm: Callable[[Case], Algorithm] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


def wrong(name: str, **arguments: Any) -> Mutant:
    """Return the mutant that hands ``arguments`` to the claim's own comparison."""
    return Mutant(name, arguments=arguments)


SCALED = Mutant("right side divided by 4x the smallest margin")
ALL_READINGS = ("literal", "average-first", "overwrite")
RIGHT_READINGS = ("literal", "average-first")


class Printed:
    """A field of text that may be given as a function, which is called when it is first read.

    A pack has a hundred formulas, and most commands show one of them or none.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the field's name."""
        self.name = name

    def __get__(self, claim: object | None, owner: type) -> str:
        """Return the text; of the class, which is the default, an empty one."""
        if claim is None:
            return ""
        given: str | Callable[[], str] = vars(claim)[self.name]
        if callable(given):
            given = vars(claim)[self.name] = given()
        return given

    def __set__(self, claim: object, given: str | Callable[[], str]) -> None:
        """Keep what was given."""
        vars(claim)[self.name] = given


@dataclass(frozen=True)
class Claim:
    """One line of the paper (or of the repair), ready to be checked.

    ``compare`` takes what its kind looks at: a ``SizeGrid`` (arithmetic), a ``Path`` (pathwise and
    conditional) or a ``Case`` (expectation and rate). ``expected`` maps (reading, where) to the
    verdict where it is not ``holds``; ``readings`` are the readings of a path claim. A claim that
    must be violated somewhere ships ``counterexamples``, which join the panel of their reading.
    ``section`` and ``pack`` are those of its module: the ledger says them, a user's claim may name
    a section. ``algorithm`` is what the usual panel is run by, its own or the pack's if empty.

    ``line`` is the expression that ``formula`` is printed from, and both sides unless ``by_hand``
    says why they do not follow from it. ``excess`` is what is compared, in LaTeX, where terms of
    the line have cancelled; empty where it is the line itself. ``claims.stating`` fills these in.
    ``hunted`` makes a case of a point of the unit box and a reading, where the hunt's own runs are
    too short to say anything; ``sharp`` is the reading whose sharpest instance has a case file, of
    a claim that holds.
    """

    id: str
    label: str
    kind: Kind
    statement: str
    formula: Printed = Printed()
    compare: Compare | None = None
    cases: Callable[[str], tuple[Any, ...]] | None = None
    premises: Callable[[Any], tuple[Premise, ...]] = lambda subject: ()
    readings: tuple[str, ...] = ("literal",)
    expected: Mapping[tuple[str, str], Verdict] = field(default_factory=dict)
    counterexamples: tuple[Case, ...] = ()
    mutants: tuple[Mutant, ...] = (SCALED,)
    identity: bool = False
    reason: str = ""
    repair: str = ""
    section: str = ""
    line: Line | None = None
    by_hand: str = ""
    excess: Printed = Printed()
    pack: Pack | None = None
    algorithm: str = ""
    hunted: Callable[[Any, str], Case] | None = None
    sharp: str = ""

    def placed(self, section: str, pack: Pack) -> Claim:
        """Return the claim of a section of a pack; unlike ``replace`` it reads no text."""
        made = copy(self)
        algorithm = self.algorithm or pack.algorithm
        vars(made).update(section=section, pack=pack, algorithm=algorithm)
        return made

    @property
    def printed(self) -> Label:
        """What the paper prints for the label; nothing for a claim outside of a pack."""
        return Label("") if self.pack is None else self.pack.labels[self.label]

    @property
    def number(self) -> str:
        """The number that the paper prints for the label, such as Lemma A.6."""
        return self.printed.number

    @property
    def title(self) -> str:
        """The title that the paper prints there, or nothing."""
        return self.printed.title

    def expectation(self, reading: str, where: str) -> Verdict:
        """Return the verdict that this row must show."""
        if self.kind == "not-checkable":
            return Verdict.NOT_CHECKABLE
        return self.expected.get((reading, where), Verdict.HOLDS)


@dataclass(frozen=True)
class InMeans:
    """What a mean over ``replicates`` says where a conditional claim is broken on one of them.

    ``conditional`` is the margin of the worst replicate given its past, ``low`` and ``high`` a 95 %
    interval of E left / E right at the worst instance of the means.
    """

    replicates: int
    conditional: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Finding:
    """The verdict of one claim on one case, at one kind of place.

    ``means`` is set where a conditional claim is broken: verdict, margin and worst instance are
    then those in expectation. ``detectable`` holds what each of its equalities would notice.
    """

    claim: str
    reading: str
    where: str
    verdict: Verdict
    margin: float | None
    worst: Mapping[str, Any]
    n: int
    unmet: tuple[str, ...] = ()
    means: InMeans | None = None
    detectable: tuple[float, ...] = ()
