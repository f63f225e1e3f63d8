"""A formula as a small picture that stands in the text, and as plain text for a terminal.

matplotlib's mathtext knows most of LaTeX's mathematics and needs no TeX. The formulas of one page
share their glyphs (``Typesetter``); they take the colour of the text around them, and one that is
too wide for its place is broken before a relation or a sum.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stemtheory.runtime import UsageError

SIZE = 16.0  # of the letters, in CSS pixels
WIDEST = 560.0  # of a line, likewise
GAP = 3.0  # above and below a line
BREAKS = (r"\leq", r"\geq", r"\neq", r"\Rightarrow", r"\approx", r"\Leftrightarrow", *"=+-<>")
OPENING, CLOSING = ("{", "(", "[", r"\{", r"\langle"), ("}", ")", "]", r"\}", r"\rangle")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)

GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "varsigma", "sigma", "tau", "upsilon"),
    *("phi", "chi", "psi", "omega"),
)
# What ``plain`` writes for a command; any other command is its own name.
SIGNS = {
    r"\leq": "≤",
    r"\geq": "≥",
    r"\neq": "≠",
    r"\approx": "≈",
    r"\Rightarrow": "⇒",
    r"\Leftrightarrow": "⇔",
    r"\to": "→",
    r"\cdot": "·",
    r"\times": "×",
    r"\ldots": "...",
    r"\dots": "...",
    r"\|": "‖",
    r"\nabla": "∇",
    r"\sum": "Σ",
    r"\infty": "∞",
    r"\in": "∈",
    r"\pm": "±",
    r"\ell": "ℓ",
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\quad": " ",
    r"\,": " ",
    r"\;": " ",
    r"\ ": " ",
    **{f"\\{name}": chr(0x3B1 + i) for i, name in enumerate(GREEK)},
    r"\Delta": "Δ",
    r"\Phi": "Φ",
    r"\Theta": "Θ",
    r"\Omega": "Ω",
}  # fmt: skip
FONTS = (r"\mathrm", r"\mathcal", r"\mathbf", r"\mathbb", r"\text", r"\operatorname")
FRACTIONS = (r"\frac", r"\dfrac", r"\tfrac")
ACCENTS = {r"\bar": "\u0304", r"\hat": "\u0302", r"\tilde": "\u0303"}
SILENT = (r"\left", r"\right", r"\big", r"\bigl", r"\bigr", r"\Big", r"\limits")


@dataclass(frozen=True)
class Line:
    """One line of a formula: what stands where, and the box around it (y upwards)."""

    shapes: str
    left: float
    bottom: float
    right: float
    top: float


@dataclass
class Typesetter:
    """Draws formulas whose glyphs are kept once: ``defs()`` must stand on the same page."""

    glyphs: dict[str, str] = field(default_factory=dict)
    _known: dict[str, Any] = field(default_factory=dict)

    def svg(self, formula: str) -> str:
        """Return the formula as an SVG element that refers to the glyphs of ``defs``.

        Raises
        ------
        UsageError
            If mathtext cannot read it.
        """
        lines = self.lines(formula)
        groups, y, width = [], 0.0, 0.0
        for i, line in enumerate(lines):
            y += line.top + GAP
            indent = 1.5 * SIZE if i else 1 - line.left
            groups.append(f'<g transform="translate({indent:.4g} {y:.4g})">{line.shapes}</g>')
            y += GAP - line.bottom
            width = max(width, line.right + indent + 1)
        return (
            f'<svg class="formula" role="img" aria-label="{html.escape(plain(formula))}"'
            f' width="{width:.1f}" height="{y:.1f}" viewBox="0 0 {width:.1f} {y:.1f}"'
            f' fill="currentColor">{"".join(groups)}</svg>'
        )

    def lines(self, formula: str) -> list[Line]:
        """Return the formula's lines: one if it fits, else broken before a relation or a sum."""
        whole = self._line(formula)
        if whole.right <= WIDEST:
            return [whole]
        texts, used = [""], 0.0
        for part in parts(formula):
            width = self._line(part).right
            if texts[-1] and used + width > WIDEST:
                texts.append("")
                used = 0.0
            texts[-1] += part
            used += width
        return [self._line(text) for text in texts]

    def defs(self) -> str:
        """Return an invisible SVG element with every glyph that was used."""
        paths = "".join(f'<path id="{name}" d="{d}"/>' for name, d in self.glyphs.items())
        return f'<svg width="0" height="0" aria-hidden="true"><defs>{paths}</defs></svg>'

    def _line(self, formula: str) -> Line:
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(family="DejaVu Sans", math_fontfamily="cm")
        try:
            # the empty group gives a sign at the start of a line the space of an infix one
            glyphs, shapes, bars = text_to_path.get_glyphs_mathtext(
                font, f"${{}}{readable(formula)}$", self._known
            )
        except ValueError as error:
            reason = str(error).strip().splitlines()[-1]
            raise UsageError(
                f"the formula {formula!r} cannot be drawn ({reason}): use matplotlib's mathtext."
            ) from error
        self._known.update(shapes)
        scale = SIZE / text_to_path.FONT_SCALE
        return self._placed(glyphs, shapes, bars, scale)

    def _placed(self, glyphs: Any, shapes: Any, bars: Any, scale: float) -> Line:
        out, xs, ys = [], [0.0], [0.0]
        for name, x, y, size in glyphs:
            vertices, codes = shapes[name]
            key = self._keep(str(name), vertices, codes)
            by = size * scale
            out.append(f'<use href="#{key}" transform="translate({x * scale:.4g}'
                       f' {-y * scale:.4g})scale({by:.3g})"/>')  # fmt: skip
            if len(vertices):
                xs += [
                    x * scale + float(v) * by for v in (min(vertices[:, 0]), max(vertices[:, 0]))
                ]
                ys += [
                    y * scale + float(v) * by for v in (min(vertices[:, 1]), max(vertices[:, 1]))
                ]
        for vertices, _ in bars:
            corners = np.asarray(vertices[:4]) * scale  # the last two close the path
            (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
            out.append(f'<rect x="{x0:.4g}" y="{-y1:.4g}" width="{x1 - x0:.4g}"'
                       f' height="{max(y1 - y0, 0.8):.3g}"/>')  # fmt: skip
            xs, ys = [*xs, x0, x1], [*ys, y0, y1]
        return Line("".join(out), min(xs), min(ys), max(xs), max(ys))

    def _keep(self, name: str, vertices: Any, codes: Any) -> str:
        """Store a glyph's outline, y downwards, and return its id."""
        key = "g" + re.sub(r"\W", "", name)
        if key not in self.glyphs:
            self.glyphs[key] = outline(vertices, codes)
        return key


def outline(vertices: Any, codes: Any) -> str:
    """Return the SVG path of a glyph: matplotlib's codes, y turned downwards."""
    letters = {1: ("M", 1), 2: ("L", 1), 3: ("Q", 2), 4: ("C", 3), 79: ("Z", 1)}
    out, i = [], 0
    while i < len(codes):
        letter, points = letters[int(codes[i])]
        numbers = vertices[i : i + points].ravel() if letter != "Z" else []
        flipped = (float(v) if j % 2 == 0 else -float(v) for j, v in enumerate(numbers))
        out.append(letter + " ".join(f"{v:.4g}" for v in flipped))
        i += points
    return "".join(out)


def readable(formula: str) -> str:
    r"""Return the formula in the part of LaTeX that mathtext reads: \tfrac1K is \frac{1}{K}."""
    text = re.sub(r"\\[td]frac", r"\\frac", formula)
    text = re.sub(r"\\sqrt\s*([A-Za-z0-9]|\\[A-Za-z]+)", r"\\sqrt{\1}", text)
    text = re.sub(r"\\frac\s*(\d|[A-Za-z])", r"\\frac{\1}", text)
    return re.sub(r"(\\frac\{[^{}]\})\s*(\\[A-Za-z]+|\w)", r"\1{\2}", text)


def parts(formula: str) -> list[str]:
    """Return the formula cut before every sign of ``BREAKS`` outside of brackets and norms."""
    cuts, depth, norm = [0], 0, False
    for found in TOKEN.finditer(formula):
        token = found.group()
        depth += (token in OPENING) - (token in CLOSING)
        norm ^= token == r"\|"
        if (
            depth == 0
            and not norm
            and token in BREAKS
            and formula[cuts[-1] : found.start()].strip()
        ):
            cuts.append(found.start())
    return [formula[a:b] for a, b in zip(cuts, [*cuts[1:], len(formula)], strict=True)]


def plain(formula: str) -> str:
    """Return the formula as one line of text, Greek letters and signs as themselves."""
    tokens = [found.group() for found in TOKEN.finditer(formula)]
    text = "".join(_read(tokens, 0)[0])
    return re.sub(r" ([)\],])", r"\1", " ".join(text.split()))


def _read(tokens: list[str], i: int, until: str = "") -> tuple[list[str], int]:
    """Return the text of tokens from i up to a closing brace, and where that is."""
    out: list[str] = []
    while i < len(tokens) and tokens[i] != until:
        text, i = _item(tokens, i)
        out.append(text)
    return out, i + 1


def _item(tokens: list[str], i: int) -> tuple[str, int]:
    """Return the text of one token with its arguments, and where the next one is."""
    token, i = tokens[i], i + 1
    if token == "{":
        text, i = _read(tokens, i, "}")
        return "".join(text), i
    if token in FONTS:
        return _argument(tokens, i)
    if token in ACCENTS:
        text_, i = _argument(tokens, i)
        return (text_ + ACCENTS[token] if len(text_) == 1 else f"{text_}{ACCENTS[token]}"), i
    if token == r"\sqrt":
        text_, i = _argument(tokens, i)
        return f"√({text_})", i
    if token in FRACTIONS:
        above, i = _argument(tokens, i)
        below, i = _argument(tokens, i)
        return f"{_grouped(above, '+- ')}/{_grouped(below)} ", i
    if token in "_^":
        text_, i = _argument(tokens, i)
        if token == "^" and text_ in ("2", "3"):
            return {"2": "²", "3": "³"}[text_], i
        simple = len(text_) == 1 or (text_.startswith("(") and text_.endswith(")"))
        return f"{token}{text_}" if simple else f"{token}{{{text_}}}", i
    if token in SILENT:
        return "", i
    return SIGNS.get(token, token.removeprefix("\\")), i


def _argument(tokens: list[str], i: int) -> tuple[str, int]:
    while i < len(tokens) and tokens[i].isspace():
        i += 1
    return _item(tokens, i) if i < len(tokens) else ("", i)


def _grouped(text: str, signs: str = "") -> str:
    """Return a numerator or denominator, in parentheses where it would be misread without."""
    alone = re.fullmatch(r"[\d.]+|\w(_\w)?[²³]?", text) if not signs else not set(signs) & set(text)
    return text if alone else f"({text})"
