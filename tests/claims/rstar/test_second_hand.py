"""The constants of Theorem R* against a second transcription, made from the page alone."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pytest

from stemtheory.bounds import RSTAR
from stemtheory.claims.language import Line, wrong_versions
from stemtheory.claims.ledger import claims
from stemtheory.claims.rstar.coefficients import CURVE, CURVE_ONE, RSTAR_PARTS
from tests.claims import second_hand
from tests.claims.random_scene import RandomScene
from tests.claims.test_second_hand import STARRED

SEEDS = range(5)


class Compared(NamedTuple):
    """A claim, the parts that it is about, and which of the page's numbers are those at I = 1."""

    name: str
    parts: str = "bcde"
    one_step: bool = False


COMPARED = [
    Compared("RS11"),
    Compared("RS12", "a"),
    Compared("RS13"),
    Compared("RS14"),
    Compared("RS15", "abcde", one_step=True),
    Compared("RS16", "abcde"),
    Compared("RS17", ""),
]


def chosen(part: str, one_step: bool) -> dict[str, float]:
    """Return the letters of a part."""
    own = {"Lam": RSTAR[part].lam_one, "C_s": CURVE_ONE[part]} if one_step else {}
    return {k: float(x) for k, x in {**RSTAR_PARTS[part], **CURVE[part], **own}.items()}


def agrees(compared: Compared, line: Line, seed: int) -> bool:
    """Whether the steps of a line that differ from the claim's are those of the transcription.

    Of the claim's own line that is every step.
    """
    r: Any = copy(second_hand.random_run(seed))
    parts, own = compared.parts, line_of(compared).steps
    part = [parts[seed % len(parts)]] if len(parts) > 1 else []
    if parts:
        vars(r).update(chosen(parts[seed % len(parts)], compared.one_step))
    asked = [i for i, step in enumerate(line.steps) if line.steps == own or step != own[i]]
    pairs = getattr(second_hand, compared.name)(r, 6, *part)
    found = RandomScene(r, 6).sides(Line(tuple(line.steps[i] for i in asked)))
    return bool(np.allclose(found, [pairs[i] for i in asked], rtol=1e-9, atol=0))


def line_of(compared: Compared) -> Line:
    """Return the line of its claim."""
    line = claims()[compared.name].line
    assert line is not None
    return line


@pytest.mark.parametrize("compared", COMPARED, ids=lambda compared: compared.name)
def test_constants_are_what_is_read_on_the_page(compared: Compared) -> None:
    assert all(agrees(compared, line_of(compared), seed) for seed in SEEDS)


@pytest.mark.parametrize("compared", COMPARED, ids=lambda compared: compared.name)
def test_every_wrong_version_is_noticed(compared: Compared) -> None:
    for version in wrong_versions(line_of(compared)):
        if not version.refused:
            assert not all(agrees(compared, version.line, seed) for seed in SEEDS), version.name


def test_every_claim_between_constants_is_compared() -> None:
    assert {compared.name for compared in COMPARED} == set(STARRED)
