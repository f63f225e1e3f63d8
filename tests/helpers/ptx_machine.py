"""A device for PTX: the text of a compiled kernel, run number by number in Python.

Each kernel becomes a generator, which yields where threads meet; the threads of a block take turns.
Registers are integers without a sign or floats rounded to their width, addresses are looked up in
the arrays that were given, and whatever leaves an array, reads a register that was never written,
or touches what another thread has touched since they last met, is an error. What is left out:
the assembler behind PTX, and the last bit of a product and a sum rounded at once.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from tests.simulator.fused.cuda.simulated import RaceError

LINE = re.compile(r"^\t(?:@(!?)%(p\d+) )?\s*([a-z][\w.]*)\s*(.*?);?$")
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
COMPARED |= {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
ARITHMETIC = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "mul": "*"}
SPECIAL = {"%tid.x": "tid[0]", "%tid.y": "tid[1]", "%ctaid.x": "block", "%ntid.x": "size[0]"}
DTYPES = {"f32": "<f4", "f64": "<f8", "u32": "<u4", "u64": "<u8", "b32": "<u4", "b64": "<u8"}
ARRAY_SPACE = 2**40  # bytes between the beginnings of two arrays


class UnknownInstructionError(Exception):
    """PTX has more instructions than the kernels used when this was written."""


def single(x: float) -> float:
    """Return x rounded to float32."""
    return float(np.float32(x))


def signed(x: int, bits: int) -> int:
    """Return what the bits mean as a number with a sign."""
    return x - (x >> (bits - 1) << bits)


def divided(a: float, b: float) -> float:
    return float(np.float64(a) / np.float64(b))


def rooted(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def recast(source: str, target: str, x: Any) -> Any:
    return struct.unpack(target, struct.pack(source, x))[0]


def whole(x: float) -> int:
    return int(x) if math.isfinite(x) else 0


class Memory:
    """Arrays at made-up addresses; those that threads share know who touched what."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.touched: dict[int, tuple[int, bool]] = {}
        self.first_shared = 0

    def put(self, array: Any) -> int:
        """Return the address of an array."""
        self.arrays.append(array)
        return len(self.arrays) * ARRAY_SPACE

    def _find(self, address: int, kind: str) -> tuple[int, Any, int]:
        number, offset = divmod(address, ARRAY_SPACE)
        flat = self.arrays[number - 1].reshape(-1)
        assert flat.dtype == DTYPES[kind] or flat.dtype.kind in "iu"
        assert flat.dtype.itemsize == np.dtype(DTYPES[kind]).itemsize
        index, rest = divmod(offset, flat.dtype.itemsize)
        assert rest == 0
        return number, flat, index

    def load(self, address: int, kind: str, me: int) -> Any:
        number, flat, index = self._find(address, kind)
        if number > self.first_shared:
            who, wrote = self.touched.get(address, (me, False))
            if wrote and who != me:
                raise RaceError(f"thread {me} reads what another has just written")
            if address not in self.touched:
                self.touched[address] = (me, False)
        return flat[index].item()

    def store(self, address: int, kind: str, value: Any, me: int) -> None:
        number, flat, index = self._find(address, kind)
        if number > self.first_shared:
            if self.touched.get(address, (me, False))[0] != me:
                raise RaceError(f"thread {me} writes what another has just touched")
            self.touched[address] = (me, True)
        flat[index] = value


def _operand(text: str, kind: str) -> str:
    """Return an operand in Python: a register, a special one, or a number."""
    text = text.strip()
    if text in SPECIAL:
        return SPECIAL[text]
    if text.startswith("%"):
        return text[1:]
    if text.startswith("0f"):
        value = struct.unpack(">f", bytes.fromhex(text[2:]))[0]
        return f"float('{value!r}')"
    if text.startswith("0d"):
        value = struct.unpack(">d", bytes.fromhex(text[2:]))[0]
        return f"float('{value!r}')"
    if re.fullmatch(r"-?\d+", text):
        return str(int(text) % 2 ** int(kind[1:])) if kind != "pred" else str(bool(int(text)))
    return f"symbols[{text!r}]"


def _value(name: str, mods: list[str], kind: str, a: list[str]) -> str:
    """Return the value of an instruction in Python, before it is cut to its width."""
    floats, bits = kind[0] == "f", int(kind[1:]) if kind != "pred" else 1
    with_sign = [f"signed({x}, {bits})" for x in a] if kind[0] == "s" else a
    if name == "setp":
        relation = mods[0]
        if relation in ("num", "nan"):
            return f"({a[0]} == {a[0]} and {a[1]} == {a[1]}) is {relation == 'num'}"
        if floats and relation.endswith("u"):
            unordered = f"{a[0]} != {a[0]} or {a[1]} != {a[1]} or "
            return f"{unordered}{a[0]} {COMPARED[relation[:-1]]} {a[1]}"
        return f"{with_sign[0]} {COMPARED[relation]} {with_sign[1]}"
    if name == "selp":
        return f"{a[0]} if {a[2]} else {a[1]}"
    if name in ("min", "max"):
        return f"{name}({with_sign[0]}, {with_sign[1]})"
    if name == "mul" and "hi" in mods:
        return f"({with_sign[0]} * {with_sign[1]}) >> {bits}"
    if name == "mul":
        return f"{with_sign[0]} * {with_sign[1]}"
    if name in ("fma", "mad"):
        return f"{with_sign[0]} * {with_sign[1]} + {a[2]}"
    if name in ARITHMETIC:
        return f"{a[0]} {ARITHMETIC[name]} {a[1]}"
    if name == "not":
        return f"not {a[0]}" if kind == "pred" else f"~{a[0]}"
    if name in ("neg", "abs"):
        return f"-{with_sign[0]}" if name == "neg" else f"abs({with_sign[0]})"
    if name == "shl":
        return f"{a[0]} << min({a[1]}, {bits})"
    if name == "shr":
        return f"{with_sign[0]} >> min({a[1]}, {bits})"
    if name == "bfi":
        part = f"((1 << {a[3]}) - 1 << {a[2]})"
        return f"{a[1]} & ~{part} | {a[0]} << {a[2]} & {part}"
    if name in ("div", "rem"):
        if floats:
            return f"divided({a[0]}, {a[1]})"
        return f"{a[0]} {'//' if name == 'div' else '%'} {a[1]}"  # of numbers without a sign
    if name == "sqrt":
        return f"rooted({a[0]})"
    raise UnknownInstructionError(name)


def _cut(value: str, kind: str) -> str:
    """Return the value cut to the width of its kind."""
    if kind == "f32":
        return f"single({value})"
    if kind in ("f64", "pred"):
        return value
    return f"({value}) & {2 ** int(kind[1:]) - 1}"


def _converted(mods: list[str], a: str) -> str:
    target, source = mods[-2], mods[-1]
    if source[0] == "f":
        return _cut(f"whole({a})" if target[0] != "f" else a, target)
    meant = f"signed({a}, {source[1:]})" if source[0] == "s" else a
    return _cut(f"float({meant})" if target[0] == "f" else meant, target)


def _moved(kind: str, target: str, source: str) -> str:
    """Return a copy, or the same bits as another type."""
    a = _operand(source, kind)
    if kind[0] != "b" or not source.strip().startswith("%"):
        return a
    letters = {"f": "<f", "fd": "<d", "r": "<I", "rd": "<Q"}
    one, other = (re.match(r"%([a-z]+)", x.strip()) for x in (source, target))
    assert one is not None
    assert other is not None
    same = one[1] == other[1]
    return a if same else f"recast({letters[one[1]]!r}, {letters[other[1]]!r}, {a})"


def _statement(op: str, operands: list[str]) -> str:
    """Return one instruction in Python."""
    name, *mods = op.split(".")
    kind = mods[-1] if mods else ""
    if name in ("ld", "st"):
        place = operands[1 if name == "ld" else 0].strip("[] ")
        if mods[0] == "param":
            return f"{operands[0][1:]} = parameters[{place.rpartition('_param_')[2]}]"
        register, _, offset = place.partition("+")
        address = f"{_operand(register, 'u64')} + {offset or 0}"
        if name == "ld":
            return f"{operands[0][1:]} = memory.load({address}, {kind!r}, me)"
        return f"memory.store({address}, {kind!r}, {_operand(operands[1], kind)}, me)"
    target = operands[0][1:]
    if name == "cvta":
        return f"{target} = {_operand(operands[1], 'u64')}"
    if name == "mov":
        return f"{target} = {_moved(kind, operands[0], operands[1])}"
    if name == "cvt":
        return f"{target} = {_converted(mods, _operand(operands[1], 'u64'))}"
    wide = {"s32": "s64", "u32": "u64"}[kind] if "wide" in mods else kind
    values = [_operand(x, kind) for x in operands[1:]]
    result = "pred" if name == "setp" else wide
    return f"{target} = {_cut(_value(name, mods, kind, values), result)}"


def _body(text: str) -> Iterator[str]:
    """Yield the lines of a generator that does what the kernel does."""
    lines = text[text.index("{", text.index(".visible .entry")) + 1 :].splitlines()
    labels = [m[1] for line in lines if (m := re.match(r"(\$L\w+):", line))]
    number = {label: i + 1 for i, label in enumerate(labels)}
    yield "def kernel(parameters, symbols, memory, tid, block, size, me):"
    yield "  if not size: yield"  # a generator, also where threads never meet
    yield "  at = 0"
    yield "  while True:"
    yield "    if at == 0:"
    for line in lines:
        if line.startswith("}"):
            break
        if label := re.match(r"(\$L\w+):", line):
            yield f"      at = {number[label[1]]}"
            yield f"    if at == {number[label[1]]}:"
        elif (found := LINE.match(line)) and not line.startswith("\t."):
            negated, guard, op, rest = found.groups()
            operands = [part.strip() for part in rest.split(",")] if rest else []
            if op == "ret":
                yield "      return"
            elif op == "bar.sync":
                yield "      yield"
            elif op.split(".")[0] == "bra":
                if guard:
                    yield f"      if {'not ' if negated else ''}{guard}:"
                    yield f"        at = {number[operands[0]]}; continue"
                else:
                    yield f"      at = {number[operands[0]]}; continue"
            elif guard:
                raise UnknownInstructionError(f"@{guard} {op}")
            else:
                yield f"      {_statement(op, operands)}"


class PtxKernel:
    """A kernel's PTX as a Python generator, and what it shares between threads."""

    def __init__(self, text: str) -> None:
        names: dict[str, Any] = dict(globals())
        exec("\n".join(_body(text)), names)
        self.kernel: Callable[..., Generator[None, None, None]] = names["kernel"]
        found = re.findall(r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\]", text)
        self.shared = [(name, int(size), f"<f{align}") for align, name, size in found]

    def launch(self, blocks: int, size: tuple[int, int], *arguments: Any) -> None:
        """Run all blocks; arrays are handed over as numba's launches do."""
        memory, parameters = Memory(), []
        for argument in arguments:
            parameters += list(_passed(argument, memory))
        memory.first_shared = len(memory.arrays)
        for block in range(blocks):
            del memory.arrays[memory.first_shared :]
            symbols = {
                name: memory.put(np.full(n // np.dtype(kind).itemsize, np.nan, kind))
                for name, n, kind in self.shared
            }
            threads = [
                self.kernel(parameters, symbols, memory, (me % size[0], me // size[0]), block,
                            size, me)
                for me in range(size[0] * size[1])
            ]  # fmt: skip
            _run(threads[:: 1 if block % 2 == 0 else -1], memory)


def _run(threads: list[Generator[None, None, None]], memory: Memory) -> None:
    """Run the threads of a block from one meeting to the next."""
    while threads:
        memory.touched.clear()
        waiting = [thread for thread in threads if next(thread, "ended") is None]
        if waiting and len(waiting) < len(threads):
            raise RaceError("some threads wait for others that have ended")
        threads = waiting


def _passed(argument: Any, memory: Memory) -> Iterator[Any]:
    """Yield the parameters of one argument: an array has seven, and more by dimension."""
    if isinstance(argument, tuple):
        for part in argument:
            yield from _passed(part, memory)
    elif isinstance(argument, np.ndarray):
        address = memory.put(argument)
        yield from (0, 0, argument.size, argument.itemsize, address)
        yield from (*argument.shape, *argument.strides)
    else:
        yield argument.item()
