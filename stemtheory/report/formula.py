r"""A formula as MathML for a page, and as plain text for a terminal.

latex2mathml reads LaTeX leniently: \nosuch becomes a letter of that name, and half a fraction half
a fraction. What it made of a formula is therefore looked at before a page may show it.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache

from stemtheory.runtime import UsageError

BREAKS = (r"\leq", r"\geq", r"\neq", r"\Rightarrow", r"\approx", r"\Leftrightarrow", *"=+-<>")
OPENING, CLOSING = ("{", "(", "[", r"\{", r"\langle"), ("}", ")", "]", r"\}", r"\rangle")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|.", re.DOTALL)
# What latex2mathml knows by another name, and what a page knows without or without the backslash.
READ = {"{aligned}": "{align*}"}
MEANT = {' xmlns="http://www.w3.org/1998/Math/MathML"': "", r">\{<": ">{<", r">\}<": ">}<"}
# How many things stand in a construction of MathML.
CHILDREN = {
    **dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2),
    **dict.fromkeys(("msubsup", "munderover"), 3),
}

# What ``plain`` writes for a command; for any other its sign in MathML, such as that of \leq.
SIGNS = {
    **dict.fromkeys((r"\quad", r"\,", r"\;", r"\ "), " "),
    **dict.fromkeys((r"\left", r"\right", r"\big", r"\bigl", r"\bigr", r"\Big", r"\limits"), ""),
    **dict.fromkeys((r"\ldots", r"\dots"), "..."),
    r"\sum": "Σ",
    r"\epsilon": "ε",
    r"\phi": "φ",
}
FONTS = (r"\mathrm", r"\mathcal", r"\mathbf", r"\mathbb", r"\text", r"\operatorname")
FRACTIONS = (r"\frac", r"\dfrac", r"\tfrac")
ACCENTS = {r"\bar": "\u0304", r"\hat": "\u0302", r"\tilde": "\u0303"}


def mathml(formula: str, *, inline: bool = False) -> str:
    """Return the formula as MathML: one ``math`` element for each part that may begin a line.

    A formula that is ``inline`` is one element, in the size of the text around it.

    Raises
    ------
    UsageError
        If it is no LaTeX that can be shown.
    """
    try:
        elements = [_element(part) for part in ([formula] if inline else parts(formula))]
    except Exception as error:  # those of latex2mathml have no common kind, and few have a text
        reason = str(error) or type(error).__name__
        raise UsageError(
            f"the formula {formula!r} cannot be shown ({reason}): write it in LaTeX's mathematics."
        ) from error
    for element in elements:
        element.set("displaystyle", "false" if inline else "true")
    for element in elements[1:]:
        # else a sign that begins a part would stand as close as that of -1
        if (sign := element.find(".//mo")) is not None:
            sign.set("form", "infix")
    return "<wbr>".join(ET.tostring(element, "unicode") for element in elements)


def _element(part: str) -> ET.Element:
    """Return one part of a formula as an element, after a look at what became of it."""
    from latex2mathml.converter import convert

    math = ET.fromstring(_replaced(convert(_replaced(part, READ)), MEANT))
    for element in math.iter():
        children = CHILDREN.get(element.tag, len(element))
        if len(element) != children:
            raise ValueError(f"an argument is missing in {part.strip()}")
    unknown = [text for text in math.itertext() if text.startswith("\\")]
    if unknown:
        raise ValueError(f"{unknown[0]} is not known")
    if (tokens := TOKEN.findall(part)).count("{") != tokens.count("}"):
        raise ValueError("its braces do not match")
    return math


def _replaced(text: str, pairs: dict[str, str]) -> str:
    for old, new in pairs.items():
        text = text.replace(old, new)
    return text


def parts(formula: str) -> list[str]:
    """Return the formula cut before every sign of ``BREAKS`` outside of brackets and norms.

    One that sets its own lines, by an environment, is left whole.
    """
    if r"\begin" in formula:
        return [formula]
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
    text = _text(iter(TOKEN.findall(formula)))
    return re.sub(r" ([)\],])", r"\1", " ".join(text.split()))


def in_words(label: str) -> str:
    """Return a text with formulas between dollar signs as one line without them."""
    parts = label.split("$")
    texts = (plain(part) if i % 2 else part for i, part in enumerate(parts))
    return " ".join("".join(texts).split())


def _text(tokens: Iterator[str], until: str = "") -> str:
    """Return the text of the tokens up to a closing brace, or of all that are left."""
    return "".join(_read(token, tokens) for token in iter(lambda: next(tokens, until), until))


def _read(token: str, tokens: Iterator[str]) -> str:
    """Return the text of a token and of its arguments, which are taken from ``tokens``."""
    if token == "{":
        return _text(tokens, "}")
    if token in FONTS:
        return _argument(tokens)
    if token in ACCENTS:
        return _argument(tokens) + ACCENTS[token]
    if token == r"\sqrt":
        return f"√({_argument(tokens)})"
    if token in FRACTIONS:
        return f"{_grouped(_argument(tokens), '+- ')}/{_grouped(_argument(tokens))} "
    if token in ("_", "^"):
        text = _argument(tokens)
        if token == "^" and text in ("2", "3"):
            return {"2": "²", "3": "³"}[text]
        simple = len(text) == 1 or (text.startswith("(") and text.endswith(")"))
        return f"{token}{text}" if simple else f"{token}{{{text}}}"
    return SIGNS[token] if token in SIGNS else _sign(token)


@cache
def _sign(token: str) -> str:
    """Return a letter as itself and a command as its sign, or as its name where it has none."""
    from latex2mathml.converter import convert

    try:
        shown = "".join(ET.fromstring(convert(token)).itertext()) if token[:1] == "\\" else token
    except Exception:  # a command that wants arguments
        shown = token
    return shown.removeprefix("\\")


def _argument(tokens: Iterator[str]) -> str:
    return _read(next((token for token in tokens if not token.isspace()), ""), tokens)


def _grouped(text: str, signs: str = "") -> str:
    """Return a numerator or denominator, in parentheses where it would be misread without."""
    alone = re.fullmatch(r"[\d.]+|\w(_\w)?[²³]?", text) if not signs else not set(signs) & set(text)
    return text if alone else f"({text})"
