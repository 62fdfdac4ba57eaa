"""What cannot be saved says why, and a file that is there survives a failed write."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import imkpl
from imkpl import IMKPL, IMKPLCV, IMKPLSelector
from imkpl.files import ModelFileError
from imkpl.kernels import FunctionKernel, Gaussian


def similarity(X, Y):
    return X @ Y.T


class Subclass(IMKPL):
    pass


LOOP = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (IMKPL(similarity), "kernels is the function similarity, .* Use the kernels of imkpl"),
        (IMKPL([Gaussian(), similarity]), r"kernels\[1\] is the function similarity"),
        (IMKPL(FunctionKernel(similarity)), "kernels is of type FunctionKernel, and a model file"),
        (
            IMKPL(random_state=np.random.RandomState(0)),
            r"random_state is of type RandomState, .* Use a whole number: set_params\(random_s",
        ),
        (
            IMKPLSelector(IMKPL(random_state=np.random.RandomState(0))),
            r"estimator.random_state is of type RandomState, .* Use a whole number",
        ),
        (
            IMKPLCV(cv=StratifiedKFold(3)),
            "cv is of type StratifiedKFold, .* Use a number of folds, or",
        ),
        (
            IMKPL(class_weight={"a": {1}}),
            r"class_weight\['a'\] is of type set, .* Expected None",
        ),
        (
            IMKPL(class_weight=np.ma.array([1.0])),
            "class_weight is an array .MaskedArray. of float64",
        ),
        (
            IMKPL(class_weight=np.zeros(2, [("a", "f8")])),
            r"class_weight is an array \(ndarray\) of \[\('a', '<f8'\)\]",
        ),
        (IMKPL(class_weight=np.longdouble(1)), "class_weight is of type longdouble"),
        (IMKPL(class_weight=object), "class_weight is the type object"),
        (IMKPL(class_weight=LOOP), r"class_weight\[0\].* is nested more than 40 levels deep"),
        (Subclass(), "A model of class Subclass cannot be saved, expected one of IMKPL, IMKPLCV"),
        (make_pipeline(StandardScaler(), IMKPL()), "class Pipeline cannot be saved, .* with skops"),
        (3, "A model of class int cannot be saved, expected one of IMKPL"),
    ],
)
def test_a_model_with_code_or_of_another_class_cannot_be_saved(model, sentence, tmp_path):
    with pytest.raises(ModelFileError, match=sentence):
        imkpl.save(model, tmp_path / "model.imkpl")
    assert list(tmp_path.iterdir()) == []


def test_learned_functions_are_named_where_parameters_were_set_anew(two_blobs, tmp_path):
    model = IMKPL(FunctionKernel(similarity), sparsity=2).fit(*two_blobs)
    model.set_params(kernels="linear")
    sentence = r"_predictor\.bank\.bank\.kernels\[0\] is of type FunctionKernel, .* Use the kernels"
    with pytest.raises(ModelFileError, match=sentence):
        imkpl.save(model, tmp_path / "model.imkpl")


def test_folders_are_named(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Pass the name of a file in it"):
        imkpl.save(IMKPL(), tmp_path)
    with pytest.raises(FileNotFoundError, match=r"The folder .*none of m\.imkpl is not there"):
        imkpl.save(IMKPL(), tmp_path / "none" / "m.imkpl")


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(step, tmp_path, monkeypatch):
    path = tmp_path / "model.imkpl"
    imkpl.save(IMKPL(sparsity=3), path)

    def fail(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        imkpl.save(IMKPL(sparsity=4), path)
    assert list(tmp_path.iterdir()) == [path]
    assert imkpl.load(path).sparsity == 3


def test_a_file_that_is_there_is_replaced_and_keeps_its_mode(tmp_path):
    path, link = tmp_path / "model.imkpl", tmp_path / "link.imkpl"
    imkpl.save(IMKPL(sparsity=3), path)
    path.chmod(0o640)
    link.symlink_to(path)
    imkpl.save(IMKPL(sparsity=4), link)
    assert link.is_symlink()
    assert imkpl.load(path).sparsity == 4
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_new_file_has_the_mode_of_any_other(tmp_path):
    (tmp_path / "other").write_bytes(b"")
    imkpl.save(IMKPL(), tmp_path / "model.imkpl")
    assert (tmp_path / "model.imkpl").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_saving_leaves_the_model_as_it_was(two_blobs, tmp_path):
    model = IMKPL(sparsity=2).fit(*two_blobs)
    before = {name: id(value) for name, value in vars(model).items()}
    imkpl.save(model, tmp_path / "model.imkpl")
    assert {name: id(value) for name, value in vars(model).items()} == before


def test_a_model_is_loaded_by_a_process_that_imports_nothing_else(two_blobs, tmp_path):
    X, y = two_blobs
    model = IMKPL(sparsity=2).fit(X, y)
    imkpl.save(model, tmp_path / "model.imkpl")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, imkpl, numpy as np; model = imkpl.load(sys.argv[1]); "
        "print(model.predict_proba(np.load(sys.argv[2])).tobytes().hex())"
    )
    arguments = [sys.executable, "-c", code, tmp_path / "model.imkpl", tmp_path / "X.npy"]
    done = subprocess.run(arguments, capture_output=True, check=True, text=True)
    assert done.stdout.strip() == model.predict_proba(X).tobytes().hex()
