"""Faces that load on first use: every name is there, and no module hides one."""

import pkgutil
from importlib import import_module
from types import ModuleType

import pytest

import stemtheory
from stemtheory import _faces as faces

PACKAGES = ["stemtheory"] + [
    found.name
    for found in pkgutil.walk_packages(stemtheory.__path__, "stemtheory.")
    if found.ispkg and hasattr(import_module(found.name), "__getattr__")
]


def test_the_rooms_have_such_faces() -> None:
    assert {"stemtheory.bounds", "stemtheory.claims", "stemtheory.simulator"} <= set(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_of_a_face_is_there(package: str) -> None:
    module = import_module(package)
    places = faces._places(package)
    assert places
    assert set(places) <= set(dir(module))
    for name, (origin, original) in places.items():
        if origin == package:
            assert getattr(module, name) is import_module(f"{package}.{name}")
        else:
            assert getattr(module, name) is getattr(import_module(origin), original)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_hides_a_name(package: str) -> None:
    own = {found.name for found in pkgutil.iter_modules(import_module(package).__path__)}
    hidden = {
        name for name, (origin, _) in faces._places(package).items() if origin != package
    } & own
    assert not hidden


def test_an_unknown_name_is_an_attribute_error() -> None:
    bounds: ModuleType = import_module("stemtheory.bounds")
    with pytest.raises(AttributeError, match=r"'stemtheory\.bounds' has no attribute 'nothing'"):
        bounds.nothing  # noqa: B018


def test_every_public_name_is_on_the_front() -> None:
    for name in stemtheory.__all__:
        assert getattr(stemtheory, name) is not None
    assert set(stemtheory.__all__) <= set(dir(stemtheory))
