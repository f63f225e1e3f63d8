r"""A line as LaTeX and as plain text: the only place that writes formulas of claims.

The signs of letters are the vocabulary's; everything else follows from the tree. Quotients are
fractions, sums over workers carry their index, E is printed around what it is of.
"""

from __future__ import annotations

from fractions import Fraction

from stemtheory.claims.language.expression import (
    At,
    Call,
    Either,
    Exact,
    Expected,
    Expr,
    Index,
    Inner,
    Line,
    Over,
    Product,
    Raised,
    Sum,
    Symbol,
    Young,
    put,
)
from stemtheory.claims.language.letters import LETTERS

ANCHORS = {
    "l": r"\ell",
    "start": r"\bar t_{s-1}",
    "end": r"\bar t_s",
    "xi": r"\xi",
    "xi'": r"\xi'",
}
SIGNS = {"<=": r"\leq", "<": "<", "=": "="}
TURNED = {"<=": r"\geq", "<": ">"}
MINUS = Exact(Fraction(-1))


def latex(line: Line) -> str:
    """Return a line in LaTeX's mathematics; a chain is written as one."""
    shown, last = "", None
    for step in line.steps:
        left, right = (step.right, step.left) if step.turned else (step.left, step.right)
        sign = (TURNED if step.turned else SIGNS)[step.sign]
        if last is not None and last == left:
            shown += f" {sign} {tex(right)}"
        else:
            shown += (r",\quad " if shown else "") + f"{tex(left)} {sign} {tex(right)}"
        last = right
    return shown + (r",\ " if line.distinct else "") + r" \neq ".join(map(tex, line.distinct))


def tex(node: Expr) -> str:
    """Return one side in LaTeX's mathematics."""
    match node:
        case Exact():
            return _number(node)
        case Index(name, shift):
            return _index(name, shift)
        case Symbol(name, at):
            return _symbol(name, at)
        case Sum(terms):
            return _sum(terms)
        case Product():
            return _product(node)
        case Raised(base, exponent):
            return _power(base, exponent)
        case Call():
            return _call(node)
        case At():
            return _at(node)
        case Inner(left, right):
            if left == right:
                return rf"\|{tex(left)}\|^2"
            return rf"\langle {tex(left)}, {tex(right)} \rangle"
        case Over():
            return _over(node)
        case Expected(body):
            return _expected(body)
        case Young(one, other):
            return rf"(1+\beta) {_wrapped(one)} + (1+\tfrac{{1}}{{\beta}}) {_wrapped(other)}"
        case Either(place, there, elsewhere):
            words = rf"\ \mathrm{{(at\ the\ {place}:\ }} {tex(there)}\mathrm{{)}}"
            return f"{tex(elsewhere)}{words}"
    raise TypeError(node)


def text(node: Expr) -> str:
    """Return one side as plain text, for messages and names of mutants."""
    match node:
        case Exact(value, printed):
            return printed or str(value)
        case Index(name, shift):
            return f"{name}{shift:+d}" if name and shift else name or str(shift)
        case Symbol(name, at):
            return f"{name}[{', '.join(map(text, at))}]" if at else name
        case Sum(terms):
            return "(" + " + ".join(map(text, terms)) + ")"
        case Product(factors):
            return " ".join(map(text, factors))
        case Raised(base, exponent):
            return f"{text(base)}^{text(exponent)}"
        case Call(function, arguments):
            return f"{function}({', '.join(map(text, arguments))})"
        case At(function, point, worker):
            return f"{function}{f'_{worker}' if worker else ''}({text(point)})"
        case Inner(left, right):
            return f"||{text(left)}||^2" if left == right else f"<{text(left)}, {text(right)}>"
        case Over(kind, index, body, first, last):
            ends = f"={text(first)}..{text(last)}" if first is not None and last is not None else ""
            return f"{kind}_{index.name}{ends} {text(body)}"
        case Expected(body):
            return f"E[{text(body)}]"
        case Young(one, other):
            return f"young({text(one)}, {text(other)})"
        case Either(place, there, elsewhere):
            return f"{{{text(there)} at the {place}, else {text(elsewhere)}}}"
    raise TypeError(node)


def _number(node: Exact) -> str:
    if node.printed and "/" not in node.printed:
        digits, _, power = node.printed.partition("e")
        return digits + (rf" \cdot 10^{{{power}}}" if power else "")
    top, bottom = (node.printed or str(node.value)).partition("/")[::2]
    return rf"\tfrac{{{top}}}{{{bottom}}}" if bottom else top


def _index(name: str, shift: int) -> str:
    anchor = ANCHORS.get(name, name)
    return f"{anchor}{shift:+d}" if anchor and shift else anchor or str(shift)


def _symbol(name: str, at: tuple[Index, ...]) -> str:
    letter = LETTERS[name]
    shown = letter.latex
    times = [_index(i.name, i.shift + letter.lag) for i in at if i.name not in ("k", "j")]
    workers = [index.name for index in at if index.name in ("k", "j")]
    low = ", ".join(times)
    low = f"_{low}" if len(low) == 1 else f"_{{{low}}}" if low else ""
    return shown + low + (f"^{{({workers[0]})}}" if workers else "")


def _sum(terms: tuple[Expr, ...]) -> str:
    shown = tex(terms[0])
    for term in terms[1:]:
        negative, size = _sign(term)
        shown += f" - {_wrapped(size, Sum)}" if negative else f" + {tex(size)}"
    return shown


def _sign(term: Expr) -> tuple[bool, Expr]:
    """Return whether a term is subtracted, and the term without its sign."""
    match term:
        case Product((first, *rest)) if first == MINUS and rest:
            return True, rest[0] if len(rest) == 1 else Product(tuple(rest))
        case Exact(value, printed) if value < 0:
            return True, Exact(-value, printed.removeprefix("-"))
    return False, term


def _product(node: Product) -> str:
    negative, size = _sign(node)
    if negative:
        return f"-{_wrapped(size, Sum)}"
    above, below = [], []
    for factor in node.factors:
        match factor:
            case Raised(base, Exact(value)) if value < 0:
                below.append(base if value == -1 else Raised(base, Exact(-value)))
            case Exact(value) if value == 1:
                pass
            case _:
                above.append(factor)
    below = [part for base in below for part in (base.children if _plain(base) else (base,))]
    # a fraction holds the sizes, numbers first; norms and sums stand behind it
    above, below = (sorted(parts, key=_is_letter) for parts in (above, below))
    if len(above) == 1 and not below:
        return tex(above[0])
    sizes = [part for part in above if not _long(part)]
    behind = " ".join(_wrapped(part, Sum) for part in above if _long(part))
    if not (under := _juxtaposed(below)):
        front = _wrapped(sizes[0], Sum) if len(sizes) == 1 else _juxtaposed(sizes)
        return f"{front} {behind}".strip()
    return f"\\frac{{{_juxtaposed(sizes) or '1'}}}{{{under}}} {behind}".strip()


def _plain(base: Expr) -> bool:
    """Whether a denominator is a product that needs no brackets of its own."""
    return isinstance(base, Product) and not _sign(base)[0]


def _is_letter(part: Expr) -> bool:
    return not isinstance(part, Exact)


def _long(part: Expr) -> bool:
    return (
        isinstance(part, Inner | Over | Expected | At)
        or part.is_vector
        or (isinstance(part, Sum) and any(_long(term) for term in part.walk() if term is not part))
    )


def _juxtaposed(factors: list[Expr]) -> str:
    if len(factors) == 1:
        return tex(factors[0])
    shown = ""
    for part in filter(None, (_wrapped(factor, Sum) for factor in factors)):
        between = r" \cdot " if part[0].isdigit() or part.startswith(r"\tfrac") else " "
        shown += (between if shown else "") + part
    return shown


def _power(base: Expr, exponent: Expr) -> str:
    if exponent == Exact(Fraction(1, 2)):
        return rf"\sqrt{{{tex(base)}}}"
    if isinstance(exponent, Exact) and exponent.value < 0:
        below = base if exponent.value == -1 else Raised(base, Exact(-exponent.value))
        return rf"\frac{{1}}{{{tex(below)}}}"
    shown = tex(base)
    if _is_later(base) or (
        not isinstance(base, Symbol | Index)
        and not (isinstance(base, Exact) and base.value > 0 and "{" not in shown)
    ):
        shown = f"({shown})"
    plain = str(exponent.value) if isinstance(exponent, Exact) else tex(exponent)
    short = plain if len(plain) == 1 else f"{{{plain}}}"
    return f"{shown}^{short}" if shown else ""


def _call(node: Call) -> str:
    inside = ", ".join(map(tex, node.arguments))
    match node.function:
        case "max" | "min":
            return rf"\{node.function}\{{{inside}\}}"
        case "exp":
            return f"e^{{{inside}}}"
    return rf"\{node.function}({inside})"


def _at(node: At) -> str:
    own = rf"\nabla f^{{({node.worker})}}"
    point = tex(node.point)
    drawn = f"{own}({point};{_index(node.sample, 0)})"
    noise = f"({drawn} - {own}({point}))"
    return {
        "f": f"f({point})",
        "grad": rf"\nabla f({point})",
        "grad_k": f"{own}({point})",
        "sample_k": drawn,
        "sampled_k": drawn,
        "noise_k": noise,
        "mean_noise_k": rf"\frac{{1}}{{b}} \sum_\xi {noise}",
    }[node.function]


def _over(node: Over) -> str:
    if node.kind == "rise" and node.first is not None and node.last is not None:
        later, sooner = (put(node.body, node.index, at) for at in (node.last + 1, node.first))
        return f"E[{tex(later)} - {_wrapped(sooner)}]"
    below = _index(node.index.name, 0)
    if node.first is not None and node.last is not None:
        ends = rf"\sum_{{{tex(node.index)}={tex(node.first)}}}^{{{tex(node.last)}}}"
    else:
        ends = {"sum": rf"\sum_{below}", "mean": rf"\frac{{1}}{{K}} \sum_{below}"}.get(
            node.kind, rf"\max_{{{below}}}"
        )
    return f"{ends} {_wrapped(node.body, Sum)}"


def _expected(body: Expr) -> str:
    return f"E {tex(body)}" if isinstance(body, Inner | At) else f"E[{tex(body)}]"


def _wrapped(node: Expr, *kinds: type[Expr]) -> str:
    """Return a part in brackets where it would be misread without."""
    loose = isinstance(node, kinds or (Sum,)) or _is_later(node) or _sign(node)[0]
    return f"({tex(node)})" if loose else tex(node)


def _is_later(node: Expr) -> bool:
    """Whether a part is a time such as t - 1, which is a sum where it stands as a number."""
    return isinstance(node, Index) and bool(node.name and node.shift)
