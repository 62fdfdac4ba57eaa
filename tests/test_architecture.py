"""Promises about the source tree that no single module can keep."""

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src" / "imkpl"
FILES = sorted(SOURCE.rglob("*.py"))


def name_of(path):
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_numba_is_imported_by_loops_only(path):
    if path.name.endswith("_loops.py") or path.name == "_threads.py":
        return
    assert "numba" not in imported_packages(path)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_scikit_learn_is_imported_at_the_rim_only(path):
    if {"estimators", "plots", "cli"} & set(path.parts):
        return
    assert "sklearn" not in imported_packages(path, top_level=True)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_matplotlib_is_imported_by_plots_only_and_on_use(path):
    packages = imported_packages(path, top_level="plots" in path.parts)
    assert "matplotlib" not in packages


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_dask_is_imported_in_scale_only_and_on_use(path):
    packages = imported_packages(path, top_level="scale" in path.parts)
    assert not {"dask", "distributed"} & packages


@pytest.mark.parametrize("layer", ["explanations", "kernels", "model", "solvers"])
def test_nothing_below_the_estimators_is_given_one(layer):
    for path in (SOURCE / layer).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.arguments):
                names = {a.arg for a in [*node.posonlyargs, *node.args, *node.kwonlyargs]}
                assert not names & {"estimator", "model", "classifier"}, name_of(path)


def test_private_parts_of_scikit_learn_have_one_home():
    for path in FILES:
        if path.name == "_compat.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sklearn"):
                names = [node.module, *(alias.name for alias in node.names)]
                private = [n for n in names if any(p.startswith("_") for p in n.split("."))]
                assert not private, f"{name_of(path)} imports {private}"


def test_importing_the_package_does_not_import_scikit_learn():
    code = "import imkpl, sys; sys.exit('sklearn' in sys.modules or 'numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PUBLIC = {
    "imkpl": [
        "IMKPL",
        "ISKPL",
        "__version__",
        "explain",
        "export",
        "load",
        "path",
        "report",
        "save",
        "stability",
    ],
    "imkpl.estimators": [
        "IMKPL",
        "ISKPL",
        "FeaturePath",
        "Stability",
        "discrimination_scorer",
        "explain",
        "interpretability_scorer",
        "kernel_count_scorer",
        "path",
        "stability",
    ],
    "imkpl.files": ["ModelFileError", "export", "load", "save", "trusted_types"],
    "imkpl.kernels": [
        "ArrayColumns",
        "Averaged",
        "BaseKernel",
        "BaseKernelBank",
        "ExpectedAlignment",
        "FunctionKernel",
        "Gaussian",
        "GlobalAlignment",
        "KernelStack",
        "Kernels",
        "NamedKernel",
        "Normalized",
        "ParquetColumns",
        "PerColumn",
        "PerFeatureGaussian",
        "PerWord",
        "Precomputed",
        "SparseColumns",
        "expected_alignment",
        "normalize_stack",
        "resolve_bank",
    ],
    "imkpl.measures": [
        "DiscriminationParts",
        "InterpretabilityParts",
        "SelectionStability",
        "discrimination_score",
        "interpretability_score",
        "n_selected_kernels",
        "selection_stability",
    ],
    "imkpl.cli": ["main"],
    "imkpl.readers": ["InputError", "ReadOptions", "read_training_file"],
    "imkpl.plots": [
        "DecisionDisplay",
        "EmbeddingDisplay",
        "KernelWeightsDisplay",
        "PathDisplay",
        "PrototypesDisplay",
    ],
    "imkpl.report": ["render_report", "save_json", "summarize", "write_report"],
    "imkpl.series": ["SeriesSet", "align", "difference", "read_series", "resample"],
    "imkpl.tables": ["Column", "Table", "read_table"],
    "imkpl.scale": ["DaskBank"],
    "imkpl.solvers": [
        "BatchResult",
        "SolverResult",
        "Status",
        "minimize_linear_on_simplex",
        "minimize_on_simplex",
        "minimize_ridge_on_simplex",
        "project_onto_simplex",
        "pursue",
        "solve_nqp",
        "solve_nqp_batch",
    ],
}


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module):
    imported = importlib.import_module(module)
    assert sorted(imported.__all__) == sorted(PUBLIC[module])
    for name in PUBLIC[module]:
        assert getattr(imported, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    import imkpl

    with pytest.raises(AttributeError, match="has no attribute 'IMKLP'"):
        imkpl.IMKLP  # noqa: B018


def imported_packages(path, *, top_level=False):
    tree = ast.parse(path.read_text())
    nodes = tree.body if top_level else list(ast.walk(tree))
    packages = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            packages |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            packages.add((node.module or "").split(".")[0])
    return packages
