"""What an algorithm sends, seen from outside: one worker is shaken, and another one is looked at.

Whatever a worker knows of its own are the answers of its oracle. Changed a little, they change what
others hold only where something was sent. All replicates are copies of one run, each of them shaken
in another direction, so that the shaken round less the round as it is gives

    least   the dimensions in which others move after a round, in vectors: fewer cannot carry them
    most    the arrays of others that move, each counted once where several hold the same; in every
            move on its own, where the worker's part of the state is shaken too

An exchange follows another one where a worker asks its oracle at a point that depends on what it
was sent, and something passes in a later move: so many there are at least. At most it is every move
(``start_round``, ``local_step``, ``synchronise``) in which something passes, twice where others ask
at a point that depends on what was sent in that very move. What compression leaves out, and what is
sent again to workers who sat out, cannot be seen so. Nor can whether a vector that follows from
another one is sent too: SCAFFOLD and VRL-SGD move what others hold alike, and their papers send two
vectors and one. Where least and most differ, a statement between them is believed.

Paper: Def: CommunicationComplexity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from stemtheory.algorithms import Algorithm, Chances, Step, System, choices_of
from stemtheory.claims.contract.counting import POINTS, Looking
from stemtheory.claims.contract.moves import arrays
from stemtheory.runtime import Floats, generator
from stemtheory.schedules import Constant
from stemtheory.simulator import walk

DIM, COPIES, ROUNDS = 4, 32, 5
SHAKE = 1e-6  # small enough for what is not linear, and far above the rounding
SAME = 1e-4  # of the largest: what is nearer is taken for equal
ROUNDING = 1e-6  # of a shake: nothing passes where a worker changes by less


class Shaken(Looking):
    """The oracle that looks at its samples; while ``on``, worker j's answers are shaken."""

    def __init__(self, K: int, j: int) -> None:
        super().__init__(K, DIM)
        self.j, self.on, self.stream = j, False, generator(5)
        self.asked: list[Any] = []  # the points of worker 0

    def combine(self, x: Any, lists: Any) -> Any:
        """Return the minibatch gradients."""
        return self.told(x, super().combine(x, lists))

    def gradient(self, x: Any) -> Any:
        """Return the full local gradients."""
        return self.told(x, super().gradient(x))

    def told(self, x: Any, answers: Any) -> Any:
        """Return the answers, with worker j's in another direction in each copy."""
        self.asked.append(np.array(x[..., 0, :]))
        return self.shaken(np.array(answers)) if self.on else answers

    def shaken(self, array: Any) -> Any:
        """Return an array with the row of worker j shaken."""
        if array.dtype.kind != "f" or array.ndim < 2 or array.shape[-2] != self.K:
            return array
        moved = np.array(array)
        moved[..., self.j, :] += SHAKE * self.stream.standard_normal(moved[..., self.j, :].shape)
        return moved


class Seen(NamedTuple):
    """What passes in a round, or before the loop: exchanges and vectors, at least and at most."""

    fewest: int
    exchanges: int
    least: int
    most: int


class Move(NamedTuple):
    """A move: how many arrays pass, and whether it asks at what it, or a move before, was sent."""

    passing: int
    again: bool
    uses: bool


class Watched:
    """An algorithm whose every move is made again with worker j shaken."""

    def __init__(self, algorithm: Algorithm, oracle: Shaken) -> None:
        self.algorithm, self.oracle = algorithm, oracle
        self.costs, self.chances = algorithm.costs, choices_of(algorithm)
        self.twin: Any = None  # the round so far, with all answers shaken
        self.first = Seen(0, 0, 0, 0)
        self.rounds: list[Seen] = []
        self.moves: list[Move] = []

    def init(self, problem: Any, x: Any, eta: float, minibatch: Any) -> Any:
        """Return the first state."""
        state, twin = self._twice(lambda _: self.algorithm.init(problem, x, eta, minibatch), None)
        found = self._others(state, twin)
        self.first = Seen(len(found[:1]), len(found[:1]), _vectors(found), len(found))
        return state

    def start_round(self, problem: Any, state: Any, step: Step, chance: Chances) -> Any:
        """Return the state of a round in which every copy makes the choices of the first one."""
        self.twin, self.moves = state, []
        if not isinstance(system := self.algorithm, System):
            return state
        one = {name: np.array(np.broadcast_to(v[:1], v.shape)) for name, v in chance.items()}
        return self._move(lambda s: system.start_round(problem, s, step, one), state)

    def local_step(self, problem: Any, state: Any, step: Step, minibatch: Any) -> Any:
        """Return the state after a local step."""
        return self._move(lambda s: self.algorithm.local_step(problem, s, step, minibatch), state)

    def synchronise(self, problem: Any, state: Any) -> Any:
        """Return the state after a synchronisation, and note what passed in the round."""
        after = self._move(lambda s: self.algorithm.synchronise(problem, s), state)
        found = self._others(after, self.twin)
        exchanges = sum(1 + move.again for move in self.moves if move.passing)
        most = max(len(found), sum(move.passing for move in self.moves))
        self.rounds.append(Seen(_fewest(self.moves), exchanges, _vectors(found), most))
        return after

    def _move(self, move: Callable[[Any], Any], state: Any) -> Any:
        """Make a move as it is, with all of worker j shaken, and once more in the shaken round."""
        after, moved = self._twice(move, state, _changed(state, self.oracle.shaken))
        passing, again = len(self._others(after, moved)), self._asked_elsewhere()
        _, self.twin = self._twice(move, state, self.twin)
        self.moves.append(Move(passing, again, self._asked_elsewhere()))
        return after

    def _asked_elsewhere(self) -> bool:
        """Return whether worker 0 asked elsewhere in the shaken move than in the plain one."""
        asked = self.oracle.asked
        half = len(asked) // 2  # the first half as it is, the second one shaken
        return any(
            not np.array_equal(plain, shaken)
            for plain, shaken in zip(asked[:half], asked[half:], strict=True)
        )

    def _twice(self, move: Callable[[Any], Any], state: Any, other: Any = None) -> tuple[Any, Any]:
        """Return a move from ``state`` as it is, and from ``other`` with the answers shaken."""
        self.oracle.asked = []
        plain = move(state)
        self.oracle.on = True
        try:
            return plain, move(other)
        finally:
            self.oracle.on = False

    def _others(self, state: Any, twin: Any) -> list[Floats]:
        """Return how what worker 0 or the server holds differs, each [copies, dim], once each."""
        found: list[Floats] = []
        for (_, plain), (_, moved) in zip(
            arrays(state, "state"), arrays(twin, "state"), strict=True
        ):
            if plain.dtype.kind != "f" or plain.ndim < 2 or plain.shape[-2] not in (1, self.K):
                continue
            change = np.asarray(moved - plain, dtype=float)[..., 0, :].reshape(len(plain), -1)
            if np.abs(change).max() > ROUNDING * SHAKE and not any(
                other.shape == change.shape
                and np.abs(other - change).max() <= SAME * np.abs(change).max()
                for other in found
            ):
                found.append(change)
        return found

    @property
    def K(self) -> int:
        """The number of workers."""
        return self.oracle.K


def _fewest(moves: list[Move]) -> int:
    """Return how many exchanges there are at least: what was sent is asked about in between."""
    count, used = 0, True
    for move in moves:
        if move.passing and used:
            count, used = count + 1, False
        used = used or move.uses
    return count


def _vectors(found: list[Floats]) -> int:
    """Return how many vectors carry what moved: its dimensions, one vector at least for any."""
    if not found:
        return 0
    columns = np.concatenate([change / np.abs(change).max() for change in found], axis=-1)
    return max(1, int(np.linalg.matrix_rank(columns, tol=SAME * np.linalg.norm(columns, 2))) // DIM)


def _changed(thing: Any, change: Callable[[Any], Any]) -> Any:
    """Return a state with every array changed."""
    if isinstance(thing, np.ndarray):
        return change(thing)
    if isinstance(thing, Mapping):
        return {key: _changed(item, change) for key, item in thing.items()}
    if isinstance(thing, tuple | list):
        items = [_changed(item, change) for item in thing]
        return type(thing)(*items) if hasattr(thing, "_fields") else type(thing)(items)
    if is_dataclass(thing) and not isinstance(thing, type):
        made = {f.name: _changed(getattr(thing, f.name), change) for f in fields(thing) if f.init}
        return replace(thing, **made)
    return thing


def seen(algorithm: Algorithm, K: int, I: int) -> tuple[Seen, Seen]:
    """Return what passes before the loop and in a round: the most of some rounds and workers."""
    first, rounds = [], []
    for j in range(1, K):  # worker 0 may stand for all of them where they agree
        oracle = Shaken(K, j)
        watched = Watched(algorithm, oracle)
        stream = generator(3)

        def draw(t: int, samples: float, stream: Any = stream) -> Any:
            lists = stream.integers(0, POINTS, size=(1, K, int(samples)))
            return np.broadcast_to(lists, (COPIES, *lists.shape[1:]))

        problem: Any = oracle
        sizes: dict[str, Any] = {"T": ROUNDS * I, "I": I, "b": 2, "replicates": COPIES}
        for _ in walk(problem, watched, Constant(0.05, 0.2), x1=1.5, draw=draw, **sizes):
            pass
        first.append(watched.first)
        rounds += watched.rounds
    return Seen(*map(max, zip(*first, strict=True))), Seen(*map(max, zip(*rounds, strict=True)))


def sending_fault(algorithm: Algorithm, K: int, I: int) -> str:
    """Return where what K >= 2 workers send cannot be what is stated, or an empty text."""
    (first, a_round), said = seen(algorithm, K, I), algorithm.costs
    statements = (
        ("exchanges a round", said.exchanges, a_round.fewest, a_round.exchanges),
        ("vectors up a round", said.vectors_up, a_round.least, a_round.most),
        ("vectors down a round", said.vectors_down, a_round.least, a_round.most),
        ("vectors before the loop", said.initial_vectors, first.least, first.most),
    )
    for what, stated, least, most in statements:
        if not least <= stated <= most:
            seen_ = f"{least}" if least == most else f"{least} to {most}"
            return f"it states {stated:g} {what}, but {seen_} were seen to pass"
    return ""
