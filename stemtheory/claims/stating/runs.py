"""Claims about recorded runs, given the past: every replicate at every t."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from stemtheory.claims.base import Claim, Comparison
from stemtheory.claims.evidence.fedavg_path import Recording
from stemtheory.claims.evidence.futures import FEDAVG, SAMPLED, STEM, compared
from stemtheory.claims.evidence.point_scenes import points_of
from stemtheory.claims.evidence.scenes import RunScene, scene_of
from stemtheory.claims.language import Expr, Index, Line, valued
from stemtheory.claims.language.letters import t
from stemtheory.claims.stating.sides import claim_of, together

Values = Mapping[str, Expr]  # letters without indices, by name


def stated(
    line: Line,
    *,
    given: Index = t,
    place: tuple[str, Index] = ("all", t),
    literal: Line | None = None,
    values: tuple[Values, ...] = ({},),
    opened: Callable[[Any], RunScene] = scene_of,
    **more: Any,
) -> Claim:
    """Return the claim that a line about a recorded run is.

    ``opened`` gives the letters of a run; those of a line about any points are ``points_of``.

    Raises
    ------
    UsageError
        If the line is not homogeneous, or speaks of what no run has.
    """
    compare = partial(on_run, line=line, given=given, place=place, literal=literal)
    compare = partial(compare, values=values, opened=opened)
    return claim_of(line, compare, lambda line: in_excess(line, given, opened), **more)


def on_run(
    path: Recording,
    line: Line,
    given: Index = t,
    place: tuple[str, Index] = ("all", t),
    literal: Line | None = None,
    values: tuple[Values, ...] = ({},),
    opened: Callable[[Any], RunScene] = scene_of,
) -> Comparison:
    """Return both sides of a line at every t and replicate of a recorded run.

    ``literal`` is what the literal reading makes of it, where a round's points agree one step
    later; ``values`` gives letters such as theta, and the line is asked with each of them;
    ``opened`` makes the scene.
    """
    if literal and path.case.reading == "literal":
        line, given = literal, t - 1
    scene = opened(path)
    times = scene.times(given)
    steps = [scene.compared(step, given) for own in values for step in valued(line, own).steps]
    return together(scene.evaluation, steps, times, scene.where(place[0], times[place[1]]))


def in_excess(line: Line, given: Index, opened: Callable[[Any], RunScene]) -> Line:
    """Return what is compared of a line about any run, with the closed forms of both algorithms."""
    rules = SAMPLED if opened is points_of else (*STEM, *FEDAVG)
    return Line(tuple(compared(step, given, rules) for step in line.steps))
