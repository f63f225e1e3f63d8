"""Readers of image files: whole files, torn files, and pickles made to do harm."""

import gzip
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.images import data_files
from stemtheory.images.data_files import (
    CIFAR_PIXELS,
    read_cifar10,
    read_idx,
    read_idx_pair,
    unpickle,
)
from stemtheory.runtime.errors import UsageError

RNG = np.random.Generator(np.random.SFC64(np.random.SeedSequence(3)))
PIXELS = RNG.integers(0, 256, (7, 5, 4)).astype(np.uint8)
LABELS = np.arange(7, dtype=np.uint8)


def idx(array: Any) -> bytes:
    """Return an array of bytes as an IDX file."""
    head = b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + bytes(array.tobytes())


def write_mnist(folder: Path, zipped: bool = False, dotted: bool = False) -> None:
    """Write both parts of a small MNIST."""
    for part in ("train", "t10k"):
        for kind, array in (("images-idx3", PIXELS), ("labels-idx1", LABELS)):
            name = f"{part}-{kind.replace('-', '.') if dotted else kind}-ubyte"
            content = gzip.compress(idx(array)) if zipped else idx(array)
            (folder / f"{name}{'.gz' if zipped else ''}").write_bytes(content)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("dotted", [False, True])
def test_idx_files_are_read(tmp_path: Path, zipped: bool, dotted: bool) -> None:
    write_mnist(tmp_path, zipped, dotted)
    for part in ("train", "t10k"):
        raw = read_idx_pair(tmp_path, part)
        np.testing.assert_array_equal(raw.images, PIXELS[:, None])
        np.testing.assert_array_equal(raw.labels, LABELS)


TORN = {
    "cut": idx(PIXELS)[:-1],
    "longer": idx(PIXELS) + b"\x00",
    "head only": idx(PIXELS)[:9],
    "empty": b"",
    "not IDX": b"<html>not found</html>",
    "floats": b"\x00\x00\x0d\x01" + struct.pack(">If", 1, 1.0),
    "cut gzip": gzip.compress(idx(PIXELS))[:-12],
    "garbled gzip": b"\x1f\x8b" + b"\x00" * 40,
}


@pytest.mark.parametrize("content", TORN.values(), ids=TORN)
def test_a_torn_file_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "images"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="fetch it again") as error:
        read_idx(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="put the whole data set there"):
        read_idx(tmp_path / "absent")
    with pytest.raises(UsageError, match="holds neither train-images-idx3-ubyte"):
        read_idx_pair(tmp_path, "train")


@pytest.mark.parametrize("layout", ["a folder of its name", "MNIST/raw", "raw"])
def test_a_file_is_found_beside_and_below_folders(tmp_path: Path, layout: str) -> None:
    """Unpacked, ``train-images-idx3-ubyte`` may be a folder that holds the file, or lie deeper."""
    at = tmp_path if layout[0] == "a" else tmp_path / layout
    at.mkdir(parents=True, exist_ok=True)
    write_mnist(at)
    if layout[0] == "a":
        for file in list(tmp_path.iterdir()):
            content = file.read_bytes()
            file.unlink()
            file.mkdir()
            (file / file.name).write_bytes(content)
    np.testing.assert_array_equal(read_idx_pair(tmp_path, "train").images, PIXELS[:, None])
    np.testing.assert_array_equal(read_idx_pair(tmp_path, "t10k").labels, LABELS)


def test_a_folder_beside_the_file_is_passed_over(tmp_path: Path) -> None:
    write_mnist(tmp_path, dotted=True)
    (tmp_path / "train-images-idx3-ubyte").mkdir()
    np.testing.assert_array_equal(read_idx_pair(tmp_path, "train").images, PIXELS[:, None])


def test_what_is_no_regular_file_is_one_sentence(tmp_path: Path) -> None:
    """A pipe would be waited for without end."""
    pipe = tmp_path / "images"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(UsageError, match="is no file"):
            read_idx(path)


def test_zipped_bytes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "images"
    path.write_bytes(gzip.compress(idx(PIXELS)))
    monkeypatch.setattr(data_files, "MOST_BYTES", len(idx(PIXELS)))
    np.testing.assert_array_equal(read_idx(path), PIXELS)
    monkeypatch.setattr(data_files, "MOST_BYTES", len(idx(PIXELS)) - 1)
    with pytest.raises(UsageError, match="has more than 155 bytes"):
        read_idx(path)


@pytest.mark.parametrize("shape", [(0,), (7, 0, 4), (2**31, 2**31, 2**31)])
def test_sizes_that_are_nothing_or_beyond_everything(tmp_path: Path, shape: Any) -> None:
    head = b"\x00\x00\x08" + bytes([len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    (tmp_path / "images").write_bytes(head)
    with pytest.raises(UsageError, match="fetch it again, whole"):
        read_idx(tmp_path / "images")


def test_images_and_labels_must_belong_together(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:-1]))
    with pytest.raises(UsageError, match="do not belong together"):
        read_idx_pair(tmp_path, "train")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS + 200))
    with pytest.raises(UsageError, match=r"outside of 0\.\.9"):
        read_idx_pair(tmp_path, "train")


# -- CIFAR-10

CIFAR = RNG.integers(0, 256, (4, CIFAR_PIXELS)).astype(np.uint8)
NAMES = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]


def batch(keys: type = bytes) -> dict[Any, Any]:
    """Return a batch as the original files hold it (their keys are bytes)."""
    named = {"data": CIFAR, "labels": [3, 1, 4, 9], "batch_label": "one of five", "filenames": []}
    return {key.encode() if keys is bytes else key: value for key, value in named.items()}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("keys", [bytes, str])
def test_python_batches_are_read(tmp_path: Path, protocol: int, keys: type) -> None:
    for name in NAMES:
        (tmp_path / name).write_bytes(pickle.dumps(batch(keys), protocol))
    train, test = read_cifar10(tmp_path)
    assert train.images.shape == (20, 3, 32, 32)
    np.testing.assert_array_equal(test.images.reshape(4, -1), CIFAR)
    np.testing.assert_array_equal(test.labels, [3, 1, 4, 9])


def test_binary_batches_are_read(tmp_path: Path) -> None:
    rows = np.concatenate([np.array([[3], [1], [4], [9]], dtype=np.uint8), CIFAR], axis=1)
    for name in NAMES:
        (tmp_path / f"{name}.bin").write_bytes(rows.tobytes())
    train, test = read_cifar10(tmp_path)
    np.testing.assert_array_equal(train.images[16:].reshape(4, -1), CIFAR)
    np.testing.assert_array_equal(test.labels, [3, 1, 4, 9])
    (tmp_path / "test_batch.bin").write_bytes(rows.tobytes()[:-1])
    with pytest.raises(UsageError, match="fetch it again, whole"):
        read_cifar10(tmp_path)


@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_labels_may_be_numbers_of_numpy(tmp_path: Path, protocol: int) -> None:
    labels = [np.int64(label) for label in (3, 1, 4, 9)]
    for name in NAMES:
        (tmp_path / name).write_bytes(pickle.dumps({**batch(), b"labels": labels}, protocol))
    np.testing.assert_array_equal(read_cifar10(tmp_path)[1].labels, [3, 1, 4, 9])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({b"fine_labels": [0, 1, 2, 3]}, "is CIFAR-100"),
        ({b"data": CIFAR.astype(np.float32)}, "holds float32 of shape"),
    ],
)
def test_another_data_set_is_named_as_that(
    tmp_path: Path, change: dict[bytes, Any], said: str
) -> None:
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps({**batch(), **change}))
    with pytest.raises(UsageError, match=said):
        read_cifar10(tmp_path)


def test_batches_in_the_folder_that_their_archive_makes(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_bytes(pickle.dumps(batch()))
    assert read_cifar10(tmp_path)[0].images.shape == (20, 3, 32, 32)


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(batch(), 2)[:-100],
        b"",
        b"not a pickle",
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": CIFAR[:, :-1], b"labels": [0, 1, 2, 3]}),
        pickle.dumps({b"data": CIFAR, b"labels": [0, 1, 2]}),
        pickle.dumps({b"data": CIFAR, b"labels": 5}),
        pickle.dumps({b"data": CIFAR, b"labels": ["a"] * 4}),
        pickle.dumps({b"data": CIFAR, b"labels": [0.0, 1.0, float("nan"), 2.0]}),
        pickle.dumps({b"data": CIFAR.astype(np.float64), b"labels": [0, 1, 2, 3]}),
        pickle.dumps({b"labels": [0, 1, 2, 3]}),
    ],
    ids=[
        *("cut", "empty", "text", "list", "narrow", "labels"),
        *("one label", "words", "nan", "floats", "no data"),
    ],
)
def test_a_batch_that_is_none_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data_batch_1").write_bytes(content)
    with pytest.raises(UsageError, match="fetch it again"):
        read_cifar10(tmp_path)


def test_a_missing_batch_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="data_batch_1 is missing"):
        read_cifar10(tmp_path)


# -- pickles made to do harm

RAN: list[str] = []


def ran(word: str) -> str:
    """Note that something ran that must not."""
    RAN.append(word)
    return word


class Calls:
    """Pickles as a call of ``function(*arguments)``."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.function, self.arguments


def harm(path: Path) -> dict[str, Any]:
    """Return objects that would run something, or build what holds anything, if unpickled."""
    return {
        "own function": Calls(ran, "own function"),
        "inside a batch": {**batch(), b"data": Calls(ran, "inside a batch")},
        "a file": Calls(open, str(path), "w"),
        "eval": Calls(eval, "1 + 1"),
        "import": Calls(__import__, "os"),
        "getattr": Calls(getattr, "text", "upper"),
        "numpy's own": Calls(np.save, str(path), np.zeros(2)),
        "objects": np.array([{"a": 1}, None], dtype=object),
        "structure": np.zeros(2, dtype=[("a", object), ("b", np.int8)]),
        "text": np.array(["a"]),
        "a class": Path("x"),
    }


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("name", harm(Path("unused")))
def test_a_malicious_pickle_is_refused_before_it_runs(
    tmp_path: Path, name: str, protocol: int
) -> None:
    target = tmp_path / "touched"
    content = pickle.dumps(harm(target)[name], protocol)
    RAN.clear()
    with pytest.raises(UsageError) as error:
        unpickle(content)
    assert RAN == []
    assert not target.exists()
    assert "\n" not in str(error.value)


def test_the_same_pickle_would_have_run() -> None:
    """The attack is real: an ordinary unpickler runs it."""
    RAN.clear()
    pickle.loads(pickle.dumps(Calls(ran, "loaded")))
    assert RAN == ["loaded"]


def test_a_crafted_array_cannot_grow_beyond_its_bytes() -> None:
    """The state of a pickled array names a shape; it must agree with the bytes that are there."""
    content = pickle.dumps(np.zeros(4, dtype=np.uint8), 2)
    crafted = content.replace(b"K\x04\x85", b"J\xff\xff\xff\x7f\x85")
    assert crafted != content
    with pytest.raises(UsageError, match="torn or no pickled batch"):
        unpickle(crafted)


def test_a_pickle_costs_what_its_bytes_do() -> None:
    """Lists that hold each other twice, a number beyond all parts, one text over and over."""
    doubled: Any = []
    for _ in range(100):
        doubled = [doubled, doubled]
    assert len(unpickle(pickle.dumps(doubled))) == 2
    with pytest.raises(UsageError, match="numbers more parts than it has"):
        unpickle(b"\x80\x02Nr\xff\xff\xff\x7f.")  # None, put into room 2^31 - 1
    text = b"c_codecs\nencode\nq\x00X\x00\x04\x00\x00" + b"a" * 1024 + b"q\x01"
    text += b"X\x06\x00\x00\x00latin1q\x020"
    again = b"h\x00h\x01h\x02\x86R"
    with pytest.raises(UsageError, match="grows beyond its own bytes"):
        unpickle(b"\x80\x02(" + text + 9 * again + b"l.")


def test_dtypes_keep_their_byte_order() -> None:
    for code in ("<f8", ">f8", "<i4", ">i2", "|b1"):
        array = np.arange(3).astype(code)
        np.testing.assert_array_equal(unpickle(pickle.dumps(array, 2)), array)
    columns = np.asfortranarray(np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(unpickle(pickle.dumps(columns, 2)), columns)
