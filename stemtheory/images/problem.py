"""A classifier of real images as a problem: every worker has images of its own.

    f = (1/K) sum_k f^(k),   f^(k)(x) = mean_i loss(x; image i of worker k) + alpha sum q(x_j)

with q(x) = x^2/(1 + x^2). A minibatch is a list of b of the worker's own images, drawn uniformly
with replacement: whole numbers of shape [..., K, b]. The same list can be evaluated at two points.
All workers hold the same number of images, so f is also the mean over all of them.

L, sigma and zeta have no closed form here. ``constants`` returns the largest values met at a few
points around the start, ``image_estimates`` those along a run: estimates from below, never exact.

Paper: eq. (Eq: Problem), Assumption (Ass: Unbiased_Var_Grad), sec: Experiments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from stemtheory.images.data_sets import CLASSES, Images, load_images, partition
from stemtheory.images.estimates import around
from stemtheory.images.networks import Network, dimension, starting_point, unpack
from stemtheory.images.nn_layers import cross_entropy
from stemtheory.oracles import Constants, ProblemEntry, Witness, refuse_unknown
from stemtheory.runtime import (
    Backend,
    Floats,
    Portable,
    UsageError,
    generator,
    real,
    whole,
)

WHOLE_BATCH = 256  # images of one call where a whole data set is passed
PIECE = 64  # images per worker of one call where a minibatch is large
DEFAULT_SIZES = {"digits": (130, 40), "mnist-5k": (400, 100)}  # of ten workers
PAPER_SIZES = (490, 90)


class Gathered(NamedTuple):
    """A minibatch read from memory once: what the network shares of it, and its labels [n, B]."""

    inputs: Any
    labels: Any


@dataclass(frozen=True)
class ImageProblem(Portable):
    """A network, the workers' images and labels [K, n, ...], and the weight of the regulariser.

    Pixels stay whole numbers; the network sees (pixel - centre) * scale.
    """

    name: str
    network: Network
    pixels: Any
    labels: Any
    test_pixels: Any
    test_labels: Any
    centre: float
    scale: float
    alpha: float
    dials: Mapping[str, Any]
    note: str = ""
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))
    xp: Any = field(default=np, repr=False)

    separable = False
    noisy = True
    nonconvex = True
    estimated = True  # L, sigma and zeta are no bounds
    whole_batches = True  # a minibatch lists samples: it cannot be averaged with another

    @property
    def K(self) -> int:
        """How many workers."""
        return int(self.pixels.shape[0])

    @property
    def size(self) -> int:
        """How many training images a worker holds."""
        return int(self.pixels.shape[1])

    @property
    def dim(self) -> int:
        """P, the number of parameters."""
        return dimension(self.network.shapes)

    def start(self, seed: int = 0) -> Floats:
        """Return a random start, uniform within 1/sqrt(inputs) of 0 in every layer."""
        stream = generator([seed, 1])
        return starting_point(self.network.shapes, stream)

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        """Return the same problem on the backend's device, computing in ``dtype``."""
        names = ("pixels", "labels", "test_pixels", "test_labels")
        arrays = {name: getattr(self, name) for name in names}
        if not backend.on_host:
            arrays = {name: backend.from_host(value) for name, value in arrays.items()}
        return replace(self, **arrays, dtype=np.dtype(dtype), xp=backend.xp)

    def workers(self, part: slice) -> Self:
        """Return the problem of some of the workers."""
        return replace(self, pixels=self.pixels[part], labels=self.labels[part])

    # -- the oracle

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return minibatches of b images: whole numbers of shape [*shape, K, b].

        Raises
        ------
        UsageError
            If b is no whole number: real images cannot be divided.
        """
        if not float(b).is_integer():
            raise UsageError(
                f"b is {b:g}, but {self.name} draws whole images: give a whole b, such as b = 1."
            )
        return stream.integers(0, self.size, size=(*shape, self.K, int(b)))

    def evaluate(self, x: Any) -> Any:
        """Return x: without a minibatch there is nothing to compute."""
        return x

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients, shape [..., K, dim].

        ``minibatch`` lists images, or is one that was gathered already.
        """
        x = evaluation
        flat = x.reshape(-1, self.dim)
        if isinstance(minibatch, Gathered):
            return self._gradient(flat, minibatch).reshape(x.shape)
        lists = minibatch.reshape(len(flat), -1)
        owners, step = self._owners(len(flat)), max(1, self.network.chunk)
        parts = [
            self._mean_gradient(flat[i : i + step], owners[i : i + step], lists[i : i + step])
            for i in range(0, len(flat), step)
        ]
        return self.xp.concatenate(parts).reshape(x.shape)

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients at x, shape [..., K, dim]."""
        return self.combine(x, minibatch)

    def gather(self, minibatch: Any) -> Gathered:
        """Return the minibatch [..., K, b] read once, for evaluations at any number of points."""
        lists = minibatch.reshape(-1, minibatch.shape[-1])
        return self._read(self._owners(len(lists)), lists)

    def gradient(self, x: Any) -> Any:
        """Return grad f^(k)(x_k) for every worker, over all of its images: [..., K, dim]."""
        n = self.size
        return self.combine(x, self.xp.broadcast_to(self.xp.arange(n), (*x.shape[:-1], n)))

    def full_gradient(self, x: Any) -> Any:
        """Return grad f(x) over all images of all workers: [..., dim] to the same."""
        rows = []
        for row in x.reshape(-1, 1, self.dim):
            total = self.xp.zeros_like(row)
            for batch in self._batches(self.pixels, self.labels):
                share = self.dtype.type(batch.labels.shape[1] / self.labels.size)
                total = total + share * self._gradient(row, batch, penalised=False)
            rows.append(total)
        return self.xp.concatenate(rows).reshape(x.shape) + self._penalty_slope(x)

    def value(self, x: Any) -> Any:
        """Return f(x): shape [..., dim] to [...]."""
        losses = []
        for row in x.reshape(-1, 1, self.dim):
            weights = self._weights(row)
            parts = [
                cross_entropy(self.network.logits(weights, batch.inputs), batch.labels)[0]
                for batch in self._batches(self.pixels, self.labels)
            ]
            losses.append(self.xp.concatenate(parts).mean())
        square = x * x
        penalty = self.alpha * (square / (1 + square)).sum(axis=-1)
        return self.xp.stack(losses).reshape(x.shape[:-1]) + penalty

    def accuracy(self, x: Any) -> Any:
        """Return the share of test images, over all workers, that are classified rightly: [...]."""
        found = []
        for row in x.reshape(-1, self.dim):
            hits, weights = 0.0, self._weights(row[None])
            for batch in self._batches(self.test_pixels, self.test_labels):
                logits = self.network.logits(weights, batch.inputs)[0]
                right = self.xp.argmax(logits, axis=0) == batch.labels[0]
                # a diverged point classifies nothing, though argmax names a class
                hits = hits + (right & self.xp.isfinite(logits.sum(axis=0))).sum()
            found.append(hits / self.dtype.type(self.test_labels.size))
        return self.xp.stack(found).reshape(x.shape[:-1])

    def noise_variance(self, x: Any) -> Any:
        """Return E||noise||^2 of one sample per worker at x, over all images: [..., K]."""
        return self.noise_change(x, x, keep=0.0)

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return E||n(x) - keep n(y)||^2 of one sample per worker, over all images: [..., K]."""
        mean, square, bare = 0.0, 0.0, replace(self, alpha=0.0)  # the regulariser has no noise
        for i in range(self.size):
            one = self.xp.full((*x.shape[:-1], 1), i)
            g = bare.combine(x, one)
            if keep:
                g = g - keep * bare.combine(y, one)
            mean = mean + g / self.size
            square = square + (g * g).sum(axis=-1) / self.size
        return np.maximum(square - (mean * mean).sum(axis=-1), 0)  # type: ignore[attr-defined]

    def constants(self, start: Floats | None = None) -> Constants:
        """Return estimates of L, sigma and zeta, none of them exact; f* >= 0 bounds the gap."""
        return around(self, start)

    def witnesses(self) -> tuple[Witness, ...]:
        """Return nothing: no constant is known to be attained."""
        return ()

    # -- pieces

    def _owners(self, n: int) -> Any:
        """Return which worker each of n rows belongs to: workers vary fastest."""
        return self.xp.arange(n) % self.K

    def _read(self, owners: Any, lists: Any) -> Gathered:
        pixels = self.pixels[owners[:, None], lists]
        return Gathered(self._prepare(pixels), self.labels[owners[:, None], lists])

    def _prepare(self, pixels: Any) -> Any:
        """Return the network's inputs: pixels [n, B, C, H, W] scaled, the minibatch innermost."""
        images = self.xp.moveaxis(pixels, 1, -1).astype(self.dtype, order="C")
        images -= self.dtype.type(self.centre)
        images *= self.dtype.type(self.scale)
        return self.network.inputs(images)

    def _weights(self, flat: Any) -> list[Any]:
        return unpack(flat, self.network.shapes)

    def _mean_gradient(self, flat: Any, owners: Any, lists: Any) -> Any:
        """Return minibatch gradients, a large minibatch in pieces that memory can hold."""
        b = lists.shape[1]
        total = self.xp.zeros_like(flat)
        for i in range(0, b, PIECE):
            piece = lists[:, i : i + PIECE]
            g = self._gradient(flat, self._read(owners, piece), penalised=False)
            total += self.dtype.type(piece.shape[1] / b) * g
        return total + self._penalty_slope(flat)

    def _gradient(self, flat: Any, batch: Gathered, penalised: bool = True) -> Any:
        """Return the gradients [n, P] of n workers' mean losses, and of the regulariser."""
        out = self.xp.empty_like(flat)
        self.network.gradient(self._weights(flat), *batch, self._weights(out))
        return out + self._penalty_slope(flat) if penalised and self.alpha else out

    def _batches(self, pixels: Any, labels: Any) -> Iterator[Gathered]:
        """Yield all images of all workers, as many at a time as memory holds."""
        pixels, labels = pixels.reshape(-1, *pixels.shape[2:]), labels.reshape(-1)
        for i in range(0, len(labels), WHOLE_BATCH):
            part = slice(i, i + WHOLE_BATCH)
            yield Gathered(self._prepare(pixels[None, part]), labels[None, part])

    def _penalty_slope(self, x: Any) -> Any:
        r = 1 / (1 + x * x)
        return 2 * self.alpha * x * r * r


@dataclass(frozen=True)
class ImageFamily(ProblemEntry):
    """An entry of ``problems/`` that needs data: a network, bound to images when it is made."""

    name: str
    summary: str
    formula: str
    network: Callable[..., Network]
    own: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    visible: str = ""

    needs_data = True
    nonconvex = True

    @property
    def own_dials(self) -> dict[str, Any]:
        """The dials of image problems and their defaults."""
        return {**_DIALS, **self.defaults, **self.own}

    def __call__(self, K: int = 10, dim: int | None = None, **dials: Any) -> ImageProblem:
        """Return the problem of K workers; ``dim`` follows from network and images.

        Dials: ``data`` (a name of ``stemtheory.images.data_sets``), ``folder`` where its files lie,
        ``shrink``, ``classes`` per worker, ``train`` and ``test`` images per worker, ``alpha``,
        ``data_seed`` of the partition, and the network's own.

        Raises
        ------
        UsageError
            For unknown dials, and for data that are missing or too few.
        """
        refuse_unknown(self.name, dials, self.own_dials)
        settings = {**self.own_dials, **dials}
        images = load_images(settings["data"], settings["folder"], shrink=settings["shrink"])
        made = self.on(images, K, **{n: v for n, v in settings.items() if n not in _SOURCE})
        if dim not in (None, made.dim):
            raise UsageError(
                f"dim is {dim}, but {self.name} on {images.name} has {made.dim} parameters: leave"
                " dim out, it follows from network and images."
            )
        return replace(
            made, dials={**made.dials, "data": images.name, "shrink": settings["shrink"]}
        )

    def on(self, images: Images, K: int, **dials: Any) -> ImageProblem:
        """Return the problem on images already at hand; dials as above, but for their source.

        ``train`` and ``test`` are what is asked for, else what suits the data and K.
        """
        settings = {n: v for n, v in self.own_dials.items() if n not in _SOURCE} | dials
        own = {name: settings.pop(name) for name in self.own}
        few, usual = images.name in DEFAULT_SIZES, DEFAULT_SIZES.get(images.name, PAPER_SIZES)
        shared = max(1.0, K / (10 if few else 100))
        for name, size in zip(("train", "test"), usual, strict=True):
            asked = settings[name]
            settings[name] = max(1, int(size / shared)) if asked is None else whole(name, asked)
        train, test = settings["train"], settings["test"]
        shards = partition(images, K, train, test, settings["classes"], settings["data_seed"])
        settings |= {**own, "L": None, "sigma": None, "zeta": None}
        settings["alpha"] = real("alpha", settings["alpha"], minimum=0)
        pixels = images.train[shards.train]
        centre, spread = float(pixels.mean()), float(pixels.std())
        if not (math.isfinite(spread) and spread > 0):
            raise UsageError(
                f"all pixels of {images.name} are alike: nothing can be learnt from it."
            )
        return ImageProblem(
            name=self.name,
            network=self.network(images.shape, **own),
            pixels=pixels,
            labels=images.train_labels[shards.train],
            test_pixels=images.test[shards.test],
            test_labels=images.test_labels[shards.test],
            centre=centre,
            scale=1 / spread,
            alpha=settings["alpha"],
            dials=settings,
            note=images.note,
        )


_SOURCE = ("data", "folder", "shrink")
_DIALS: dict[str, Any] = {
    "data": "digits", "folder": None, "shrink": 1, "classes": CLASSES, "train": None, "test": None,
    "alpha": 0.0, "data_seed": 0,
}  # fmt: skip
