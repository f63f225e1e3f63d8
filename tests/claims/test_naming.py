"""A claim is found by what a person calls it; every label has the number that the PDF prints."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from stemtheory.claims import claims, explain, one, select
from stemtheory.claims.finding import chosen
from stemtheory.claims.naming import Number, meant, nearest, number_of
from stemtheory.claims.pack import Label
from stemtheory.runtime import UsageError
from tests.helpers.sources import ROOT

LABELS = set((ROOT / "tests/data/paper_labels.txt").read_text().split("\n")) - {""}
PRINTED = chosen(["stem"])[0].labels
COUNTED = ("theorem", "lemma")  # one counter for both, begun anew in every section


def faults(printed: Mapping[str, Label]) -> list[str]:
    """Return what cannot be: equations out of order, a theorem left out of its section's count."""
    numbers = [number_of(p.number) for p in printed.values()]
    found = [n for n in numbers if n is not None]
    equations = [int(n.value) for n in found if n.kind == "eq"]
    wrong = [] if equations == list(range(1, len(equations) + 1)) else ["equations"]
    for section in {n.value.rpartition(".")[0] for n in found if n.kind in COUNTED}:
        counts = [int(n.value.rpartition(".")[2]) for n in found
                  if n.kind in COUNTED and n.value.rpartition(".")[0] == section]  # fmt: skip
        wrong += [] if counts == list(range(1, len(counts) + 1)) else [section]
    return wrong


def test_every_label_has_a_number_and_the_counts_have_no_gap() -> None:
    assert set(PRINTED) == LABELS
    assert [label for label, p in PRINTED.items() if number_of(p.number) is None] == []
    assert faults(PRINTED) == []


def test_a_wrong_number_is_noticed() -> None:
    label = "lem: Descent_Batch_App"
    assert faults({**PRINTED, label: Label("Lemma A.6", "Descent Lemma")}) == ["a"]
    assert faults({**PRINTED, "eq: Step-Size": Label("eq. (3)")}) == ["equations"]


def test_every_claim_of_the_ledger_has_its_number() -> None:
    assert [claim.id for claim in claims().values() if not claim.number] == []


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("M3", "M3"),
        ("m3", "M3"),
        ("lem: ErrorContraction_BatchGradients_App", "M3"),
        ("lemma A.6", "M3"),
        ("Lem. a.6", "M3"),
        ("Theorem 1", "T1"),
        ("thm 3.1", "T1"),
        ("theorem 3.2", "SCH11"),
        ("eq. 21", "M7d"),
        ("(21)", "M7d"),
        ("Equation (8)", "M2b"),
        ("contraction", "M3"),
        ("Gradient  Error Contraction", "M3"),
        ("sch10-CURVE", "SCH10-curve"),
    ],
)
def test_a_claim_is_found_by_what_it_is_called(words: str, name: str) -> None:
    assert one(words).id == name


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("lemma 3", "may be P3 (Lemma A.3), F3 (Lemma B.3), U3 (Lemma C.3): name one of them."),
        ("M33", "did you mean M3?"),
        (
            "descent lemm",
            "may be M2 (Lemma A.5), F3 (Lemma B.3), RS4 (Lemma A.5): name one of them.",
        ),
        ("gradient eror contraction", "did you mean M3?"),
        ("nothing of the kind", "stemtheory list claims shows every one."),
        ("", "stemtheory list claims shows every one."),
        ("eq. 99", "is unknown"),
    ],
)
def test_a_name_that_is_none_or_several_gets_a_sentence(words: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        one(words)
    assert sentence in str(caught.value)


def test_verify_takes_the_same_names() -> None:
    assert [claim.id for claim in select(["lemma C.3", "M3"])] == ["M3", "U3"]
    assert {claim.id for claim in select(["lemma 3"])} == {"P3", "F3", "U3"}


def test_explain_tells_number_title_and_neighbours() -> None:
    told = explain("lemma C.1")
    assert (told["id"], told["number"], told["also"]) == ("U1", "Lemma C.1", ["U1-exact"])
    assert explain("M3")["title"] == "Gradient Error Contraction"


def test_words_become_numbers_and_near_names_ids() -> None:
    assert number_of("Lemma A.6") == Number("lemma", "a.6")
    assert number_of("contraction") is None
    assert meant("no such thing", claims().values()) == []
    assert nearest("lemma a.66", claims().values()) == "M3"
