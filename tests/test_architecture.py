"""Promises about the source tree that no single module can keep."""

import ast
import importlib
import pathlib
import socket
import subprocess
import sys

import pytest
from sklearn.datasets import load_wine

import imkpl

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src" / "imkpl"
FILES = sorted(SOURCE.rglob("*.py"))


def name_of(path):
    return str(path.relative_to(SOURCE))


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


@pytest.mark.parametrize(
    ("modules", "packages"),
    [
        ("imkpl", "sklearn numba"),
        ("imkpl.plots, imkpl.report, imkpl.scale", "numba matplotlib dask distributed jinja2"),
        ("imkpl.kernels, imkpl.model.alternate, imkpl.explanations", "sklearn numba pandas"),
    ],
)
def test_heavy_packages_are_imported_on_use(modules, packages):
    code = f"import {modules}, sys; sys.exit(set({packages.split()!r}) & set(sys.modules) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


PUBLIC = {
    "imkpl": [
        "IMKPL", "IMKPLRegressor", "ISKPL", "__version__", "annotate", "explain", "export",
        "load", "path", "report", "save", "stability",
    ],
    "imkpl.estimators": [
        "FeaturePath", "IMKPL", "IMKPLRegressor", "ISKPL", "Stability", "annotate",
        "discrimination_scorer", "explain", "interpretability_scorer", "path", "stability",
    ],
    "imkpl.files": ["ModelFileError", "export", "load", "save"],
    "imkpl.kernels": [
        "ArrayColumns", "Averaged", "BaseKernel", "BaseKernelBank", "ExpectedAlignment",
        "FunctionKernel", "Gaussian", "GlobalAlignment", "KernelStack", "Kernels", "NamedKernel",
        "ParquetColumns", "PerColumn", "PerFeatureGaussian", "PerWord", "Precomputed",
        "resolve_bank",
    ],
    "imkpl.measures": [
        "discrimination_score", "interpretability_score", "n_selected_kernels",
        "selection_stability",
    ],
    "imkpl.cli": ["main"],
    "imkpl.readers": ["InputError", "ReadOptions", "read_training_file"],
    "imkpl.plots": [
        "EffectsDisplay", "EvidenceDisplay", "PathDisplay", "PrototypesDisplay",
        "ReliabilityDisplay",
    ],
    "imkpl.report": ["render_report", "summarize", "write_report"],
    "imkpl.series": ["SeriesSet", "align", "read_series", "resample"],
    "imkpl.tables": ["Column", "Table", "read_table"],
    "imkpl.scale": ["DaskBank"],
    "imkpl.solvers": [
        "BatchResult", "SolverResult", "Status", "minimize_on_simplex",
        "minimize_ridge_on_simplex", "solve_nqp", "solve_nqp_batch",
    ],
}  # fmt: skip


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


def test_nothing_is_sent_anywhere(tmp_path, monkeypatch):
    network = {"socket", "ssl", "http", "urllib.request", "ftplib", "smtplib", "requests", "httpx"}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not {one.name for one in node.names} & network, name_of(path)
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in network, name_of(path)

    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(AssertionError, match="connection"), socket.socket() as one:
        one.connect(("127.0.0.1", 9))
    X, y = load_wine(return_X_y=True)
    model = imkpl.IMKPL(n_prototypes=3).fit(X, y)
    assert model.predict(X, reject=True).shape == y.shape
    assert model.explain(X[:1]).card().to_dict()
    model.report(X, y, tmp_path / "page.html")
    imkpl.save(model, tmp_path / "m.imkpl")
    assert imkpl.load(tmp_path / "m.imkpl").score(X, y) == model.score(X, y)
