"""What is shipped and what comes with it: the wheel, the extras, the pins and their hashes."""

import ast
import pathlib
import re
import runpy
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import imkpl

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


SOURCE = ROOT / "src" / "imkpl"
EXTRAS = PROJECT["optional-dependencies"]
NAMED = re.compile(r"(?:pip|pipx) install\s+[\"']*imkpl\[([a-z,]+)\]")


def names_of(extras):
    return {canonicalize_name(need.name) for extra in extras for need in list_needs(extra)}


def list_messages():
    """Every text of the source that names an extra: where it is, and the extras."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_extra":
                module, extras = (one.value for one in node.args[:2])
                yield path.relative_to(SOURCE), module, extras.split(",")
            if isinstance(node, ast.Constant | ast.JoinedStr):
                parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                text = "".join(map(str, parts))
                for found in NAMED.finditer(text):
                    yield path.relative_to(SOURCE), text, found[1].split(",")


def test_a_message_names_extras_that_bring_all_it_takes():
    messages = list(list_messages())
    assert len(messages) >= 9
    for path, text, extras in messages:
        brought = names_of(extras)
        asked = {name for name in names_of(["all"]) if re.search(rf"\b{name}\b", text)}
        if path.parts[0] in ("cli", "readers"):
            asked |= names_of(["cli"])
        assert asked <= brought, f"{path}: {text}"


def test_pages_name_extras_that_exist():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "paper").rglob("*.md")]
    found = [
        extra
        for page in pages
        for match in re.findall(r"install '(?:imkpl|\.)\[([a-z,]+)\]'", page.read_text())
        for extra in match.split(",")
    ]
    assert {"all", "cli", "report"} <= set(found) <= set(EXTRAS)


def test_all_is_every_extra_of_a_user():
    assert names_of(["all"]) == names_of(set(EXTRAS) - {"dev", "docs", "test"})


def test_the_wheel_has_the_package_and_nothing_else():
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    files = {pathlib.Path(file.distribution_path) for file in builder.recurse_included_files()}
    written = {path for path in SOURCE.rglob("*.*") if "__pycache__" not in path.parts}
    assert files == {path.relative_to(SOURCE.parent) for path in written}
    assert {".html", ".css", ".js", ".typed"} <= {path.suffix for path in files}
    # Reading these raises for unknown classifiers and missing files.
    metadata = builder.metadata.core
    assert "Typing :: Typed" in metadata.classifiers
    assert metadata.license_files == ["LICENSE"]


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {imkpl.__version__}\n" in text


def test_every_package_that_is_imported_is_declared():
    # Named after what is imported, where that differs.
    distributions = {"sklearn": "scikit-learn"}
    own = set(sys.stdlib_module_names) | {"imkpl"}
    imported = {
        name.partition(".")[0]
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else names_in(node))
    } - own
    declared = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    declared |= names_of(["all"])
    assert {"numba", "threadpoolctl", "markupsafe"} <= imported
    assert {canonicalize_name(distributions.get(name, name)) for name in imported} <= declared


def names_in(node):
    return [alias.name for alias in node.names]


def test_the_conda_recipe_asks_for_what_pyproject_asks_for():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip(" -").replace(" ", "") for line in run.splitlines()[1:]}
    needs = [*map(Requirement, PROJECT["dependencies"]), *list_needs("cli")]
    assert asked == {f"{need.name}{need.specifier}" for need in needs}
    assert f"version: {imkpl.__version__}\n" in recipe
    assert f'python_min: "{PROJECT["requires-python"].removeprefix(">=")}"' in recipe


@pytest.mark.parametrize("home", ["", "https://example.org/somebody/imkpl"])
def test_the_readme_of_a_package_index_has_no_relative_links(home):
    pytest.importorskip("hatchling")
    point_to = runpy.run_path(str(ROOT / "hatch_build.py"))["point_to"]
    page = point_to(home, "v1", (ROOT / "README.md").read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)]*)\)", page)
    assert all(target.startswith("https://") for target in targets)
    assert bool(targets) == bool(home)
    assert "when not to use it" in page
    for target in targets:
        inside = re.sub(r"^.*/(?:blob|raw)/v1/", "", target)
        assert (ROOT / inside).exists(), target
