"""Check a round certificate in exact fractions: ``python checker.py FILE [KEY=VALUE ...]``.

Only the statement (C) is known. Accepted is sum_c y_c (phi_c + Q_c) - goal = <S_M, M> + <S_D, D>
with y, S_M, S_D >= 0, and C_sigma and C_zeta of at least the sums of multipliers.
"""

import json
import math
import re
import sys
from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

COUNTS = ["I", "K", "b", "m"]
RATIONALS = ["eta", "a", "delta", "lambda", "mu", "C_sigma", "C_zeta"]
FIELDS = ["algorithm", "reading", *COUNTS, *RATIONALS]
KINDS = [("stem", "average-first"), ("stem", "literal"), ("fedavg", "none")]
RATIONAL = re.compile(r"-?[0-9]{1,4000}(/(?=0*[1-9])[0-9]{1,4000})?")


def need(condition: object, why: str) -> bool:
    """Refuse the file, in one line, unless the condition holds."""
    if not condition:
        raise ValueError(why)
    return True


def rational(text: Any, what: str) -> Fraction:
    """Return the fraction that a text such as -3/4 writes."""
    need(isinstance(text, str) and RATIONAL.fullmatch(text), f"{what} is no rational text")
    return Fraction(text)


def parse(data: bytes) -> Any:
    """Return the JSON document, without floats and repeated keys."""
    need(len(data) <= 32 << 20, "the file has more than 32 MB")
    no: Any = lambda text: need(False, f"{text[:20]} is a number, but no integer")  # noqa: E731
    once = lambda p: need(len(dict(p)) == len(p), "a key occurs twice") and dict(p)  # noqa: E731
    return json.loads(data.decode(), object_pairs_hook=once, parse_float=no, parse_constant=no)


def read_statement(given: Any) -> dict[str, Any]:
    """Return the parameters of (C) as numbers, each in its range, and the kind of algorithm."""
    need(isinstance(given, dict) and given.keys() == set(FIELDS), "the statement has other fields")
    need((given["algorithm"], given["reading"]) in KINDS, "no such algorithm and reading")
    s: dict[str, Any] = given | {name: rational(given[name], name) for name in RATIONALS}
    for name, most in zip(COUNTS, (32, 10**9, 10**9, 10**9), strict=True):
        need(type(s[name]) is int and 1 <= s[name] <= most, f"{name} is no count up to {most}")
    s |= {"stem": s["algorithm"] == "stem", "literal": s["reading"] == "literal"}
    need(s["eta"] > 0 and 0 <= s["a"] <= 1 and 0 <= s["delta"] < 1, "eta, a or delta out of range")
    need(s["lambda"] >= 0 and s["mu"] >= 0, "lambda or mu is negative")
    need(s["literal"] or s["mu"] == 0, "mu is not 0, but the reading is not literal")
    need(s["I"] > 1 or (s["m"] == 1 and not s["literal"]), "I = 1 is stated average-first, m = 1")
    need(
        s["stem"] or (s["a"], s["lambda"], s["m"]) == (1, 0, 1), "FedAvg has a = m = 1, lambda = 0"
    )
    return s


def combine(*terms: Any) -> dict[Any, Fraction]:
    """Return sum c v; a vector maps (block D or M, basis name) to its coefficient."""
    total: dict[Any, Fraction] = defaultdict(Fraction)
    for c, vector in terms:
        for key, value in vector.items():
            total[key] += c * value
    return total


def derive(s: dict[str, Any]) -> tuple[list[str], Any, dict[str, Any]]:
    """Return the basis, vectors, and rows (function values, products (w, u, v, blocks), u, v)."""
    I, K, eta, a, stem, literal = (s[key] for key in ("I", "K", "eta", "a", "stem", "literal"))
    apart = range(2, I + literal) if stem else range(1, I)
    basis = ["e0"] * stem + ["g0"] + ["X0", "U0"] * literal
    basis += [n for j in range(1, I + 1) for n in [f"H{j}"] + [f"U{j}"] * (j in apart)]
    basis += [f"{n}{j}" for j in range(stem, I + stem) for n in ("DP" if stem else "P")]
    one = Fraction(1)  # what is no vector of this round is 0
    v: Any = defaultdict(dict, {name: {("D", name): one, ("M", name): one} for name in basis})
    part: Any = lambda u, block: {k: c for k, c in u.items() if k[0] == block}  # noqa: E731
    for j in range(I + 1):
        v[f"B{j}"] = combine((1, v[f"B{j - 1}"]), (1, v[f"H{j}"])) if j else v["g0"]
        v[f"G{j}"] = combine((1, v[f"B{j}"]), (1, v[f"U{j}"]))
    v["x0"] = v["X0"]
    r = combine((1, v["e0"]), (-stem, part(v["G0"], "D")), (1, v["P0"]))  # d = G + r
    for j in range(1, I + 1):
        v[f"x{j}"] = combine((1, v[f"x{j - 1}"]), (-eta, v[f"G{j - 1}"]), (-eta, r))
        if j == (1 if literal else I):
            v[f"x{j}"] = part(v[f"x{j}"], "M")
        r = combine((1 - a, r), (1 - a, v[f"D{j}"]), (a, v[f"P{j}"]))  # FedAvg has a = 1
    v |= {f"xbar{j}": part(v[f"x{j}"], "M") for j in range(I + 1)} | {"ebar": part(r, "M")}
    line: Any = lambda *names: [(c, n) for c, n in zip((1, -1), names)]  # noqa: B905, E731
    square: Any = lambda c, u, blocks="DM": (c, u, u, blocks)  # noqa: E731
    points = {f"m{j}": (f"xbar{j}", f"B{j}") for j in range(I + 1)}
    points |= {f"l{j}": (f"x{j}", f"G{j}") for j in range(I + 1) if f"U{j}" in basis}
    rows: dict[str, Any] = {}
    half, jump = Fraction(1, 2), 1 if literal else I
    for (p, (x, g)), (q, (y, h)) in product(points.items(), repeat=2):
        slope, dx = [(half, g), (half, h), (-1, "B0")], line(x, y)
        Q = [(1, slope, dx, "DM"), square(half / 2, line(g, h)), square(-half / 2, dx)]
        rows |= {f"interp:{p}:{q}": ({q: 1, p: -1}, Q, 0, 0)} if p != q else {}
    for j in range(stem, I + stem):
        b, i = s["b"] * (s["m"] if j == jump else 1), j - 1
        rows[f"var:{j}"] = {}, [square(b, line(f"P{j}"))], 1, 0
        if stem:
            Q = [square(1, line(f"G{j}", f"G{i}")), square(-1, line(f"x{j}", f"x{i}"))]
            rows[f"A1:{j}"] = {}, [square(b, line(f"D{j}")), *Q], 0, 0
            rows[f"var-old:{j}"] = {}, [square(b, line(f"P{j}", f"D{j}"))], 1, 0
    for j in range(I + 1) if K > 1 else ():
        rows[f"het:{j}"] = {}, [square(Fraction(2 * K, K - 1), line(f"B{j}"), "D")], 0, 1
    gain, lam, mu = (1 - s["delta"]) * eta / 2, s["lambda"], s["mu"]
    Q = [(1, line("B0"), line(f"x{I}"), "M"), *(square(gain, line(f"B{j}"), "M") for j in range(I))]
    Q += [square(-lam, line("e0"), "M"), square(lam, line("ebar"), "M")]
    Q += [square(-mu, line("x0"), "D"), square(mu, line(f"x{I}"), "D")]
    return basis, v, rows | {"goal": ({f"m{I}": 1}, Q, 0, 0)}


def matrix(products: Any, v: Any) -> dict[Any, Fraction]:
    """Return sum w u v^T, not yet symmetric, by two pairs of block and basis name."""
    pairs: Any = defaultdict(lambda: defaultdict(Fraction))
    for w, left, right, blocks in products:
        for block, (c, u), (d, t) in product(blocks, left, right):
            pairs[block, u][t] += w * c * d
    T: dict[Any, Fraction] = defaultdict(Fraction)
    for (block, u), others in pairs.items():
        image = combine(*((w, v[t]) for t, w in others.items()))
        for (i, c), (j, d) in product(v[u].items(), image.items()):
            if i[0] == block == j[0]:
                T[i, j] += c * d
    return T


def semidefinite(triangle: list[list[Fraction]]) -> bool:
    """Return whether a symmetric matrix is, by elimination without fractions: all pivots >= 0."""
    scale, before = math.lcm(*(x.denominator for row in triangle for x in row)), 1
    A = [[int(x * scale) for x in row] for row in triangle]
    for k, row in enumerate(A):
        pivot, column = row[k], [0] * (k + 1) + [below[k] for below in A[k + 1 :]]
        if pivot < 0 or (pivot == 0 and any(column)):
            return False
        for i in range(k + 1, len(A)) if pivot else ():
            for j in range(k + 1, i + 1):
                A[i][j] = (A[i][j] * pivot - column[i] * column[j]) // before
        before = pivot or before
    return True


def check(file: Any, **wanted: object) -> dict[str, Any]:
    """Return the statement that a document proves; ValueError if it proves none or another."""
    names = {"format", "version", "statement", "basis", "multipliers", "gram"}
    need(isinstance(file, dict) and file.keys() == names, "the file has other fields")
    kind = (file["format"], repr(file["version"]))
    need(kind == ("round-certificate", "1"), "format or version is another")
    s, told = read_statement(file["statement"]), file["statement"]
    for key, value in wanted.items():
        need(key in FIELDS, f"{key} is no field of the statement")
        want = rational(str(value), key) if key in COUNTS + RATIONALS else value
        need(s[key] == want, f"{key} is {told[key]}, but {value} was asked for")
    (basis, v, rows), y, given, gram = derive(s), {}, file["multipliers"], file["gram"]
    need(file["basis"] == basis, "the basis is not that of the statement")
    need(isinstance(given, dict), "the multipliers are no object")
    for name, text in given.items():
        need(name in rows and name != "goal", f"{name[:40]} is no row")
        y[name] = rational(text, f"the multiplier {name}")
        need(y[name] >= 0, f"the multiplier {name} is negative")
    signed = y | {"goal": Fraction(-1)}
    for point, left in combine(*((c, rows[name][0]) for name, c in signed.items())).items():
        need(left == 0 or point == "m0", f"the function value {point} is not balanced")
    T = matrix([(c * w, *uv) for name, c in signed.items() for w, *uv in rows[name][1]], v)
    need(isinstance(gram, dict) and gram.keys() == {"M", "D"}, "gram has other fields")
    need(s["K"] > 1 or gram["D"] == [], "gram D is not empty, but K is 1")
    S = {block: gram[block] for block in ("DM" if s["K"] > 1 else "M")}
    for block, G in S.items():
        shape = isinstance(G, list) and [isinstance(row, list) and len(row) for row in G]
        need(shape == list(range(1, len(basis) + 1)), f"gram {block} has another shape")
        S[block] = [[rational(x, f"an entry of gram {block}") for x in row] for row in G]
    for (i, u), (j, t) in ((p, q) for p in enumerate(basis) for q in enumerate(basis[: p[0] + 1])):
        late = [int(name[1:]) for name in (u, t) if name[0] in "DP"]  # draws, of noise
        known = [int(name[1:]) for name in (u, t) if name[0] not in "DP"]
        zero = late and (known[0] <= late[0] if known else late[0] != late[1])
        free = "DM" if zero else "D" * ("e0" in (u, t)) + "M" * ("X0" in (u, t))
        far = {b: S[b][i][j] - (T[(b, u), (b, t)] + T[(b, t), (b, u)]) / 2 for b in S}
        if late and not known and not zero:  # D = (K - 1) M
            far = {"M": far["M"] + (s["K"] - 1) * far.get("D", 0)}
        need(not any(x for b, x in far.items() if b not in free), f"({u}, {t}) does not match")
    for block, triangle in S.items():
        need(semidefinite(triangle), f"gram {block} is not semidefinite")
    for place, name in ((2, "C_sigma"), (3, "C_zeta")):
        least = sum(c * rows[row][place] for row, c in y.items())
        need(s[name] >= least, f"{name} is below the sum of its multipliers")
    return dict(told)


if __name__ == "__main__":
    try:
        wanted = dict(pair.split("=", 1) for pair in sys.argv[2:])
        print("accepted:", check(parse(Path(sys.argv[1]).read_bytes()), **wanted))  # noqa: T201
    except (OSError, IndexError, ValueError, RecursionError) as error:
        sys.exit(f"refused: {error}")
