r"""What a line looks like in LaTeX where it could be misread."""

import pytest

from stemtheory.claims.language import Q, latex
from stemtheory.claims.language.letters import E, I, K, L, b, dbar, eta, f, norm2, t, xbar
from stemtheory.claims.language.printing import tex


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (E(f(xbar[t + 1]) - (f(xbar[t]) + L)), r"E[f(\bar x_{t+1}) - (f(\bar x_t) + L)]"),
        (-(eta[t] - L) * norm2(dbar[t]), r"-(\eta_t - L) \|\bar d_t\|^2"),
        (1 / (b * K) + 2 * (1 / K), r"\frac{1}{b K} + \frac{2}{K}"),
        (Q("1.2e-4") + Q("2e-5") * I, r"1.2 \cdot 10^{-4} + 2 \cdot 10^{-5} I"),
        (L * 16 * 2, r"16 \cdot 2 L"),
        (Q("1.0687") ** 2 * (1 * (I + 1)), r"1.0687^2 (I + 1)"),
        (1 * (I + 1), "I + 1"),
    ],
)
def test_what_could_be_misread(expression: object, shown: str) -> None:
    assert tex(expression) == shown  # type: ignore[arg-type]


def test_a_line_is_two_sides_and_a_sign() -> None:
    assert latex(L * I <= Q("1/16")) == r"L I \leq \tfrac{1}{16}"
