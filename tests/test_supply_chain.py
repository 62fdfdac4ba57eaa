"""The pinned environment covers what pyproject.toml asks for, and nothing comes without a hash."""

import pathlib
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "dev.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def list_pins(text):
    """Requirement and number of hashes of every entry."""
    entries = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [
        (Requirement(re.sub(r"--hash=\S+", "", entry)), entry.count("--hash=sha256:"))
        for entry in entries
        if entry.strip() and not entry.startswith("#")
    ]


def list_needs(extra):
    """What an extra asks for, with the extras within it."""
    found = []
    for text in PROJECT["optional-dependencies"][extra]:
        need = Requirement(text)
        if need.name == PROJECT["name"]:
            found += [one for inner in sorted(need.extras) for one in list_needs(inner)]
        else:
            found.append(need)
    return found


PINS = list_pins(LOCK.read_text())
NEEDS = [
    *map(Requirement, PROJECT["dependencies"]),
    *list_needs("dev"),
    Requirement("hatchling"),
]


@pytest.mark.parametrize("need", NEEDS, ids=str)
def test_the_lock_file_has_every_dependency_in_a_version_that_is_allowed(need):
    versions = [
        pin.specifier
        for pin, _ in PINS
        if canonicalize_name(pin.name) == canonicalize_name(need.name)
    ]
    assert versions, f"{need.name} is not in {LOCK.name}. Run make lock."
    for version in versions:
        assert need.specifier.contains(str(version).removeprefix("=="))


def test_every_pin_is_exact_and_has_hashes():
    assert len(PINS) > 50
    for pin, n_hashes in PINS:
        assert re.fullmatch(r"==[^*,]+", str(pin.specifier)), pin
        assert n_hashes > 0, pin


def test_the_lock_file_names_no_server():
    assert "://" not in LOCK.read_text()


def test_the_build_backend_is_pinned_too():
    backends = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert (ROOT / "requirements" / "build.in").read_text().split() == backends
