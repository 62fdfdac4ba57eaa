"""Large files: rows stay there, and answers are written in parts."""

import numpy as np
import pandas as pd
import pytest

from imkpl import IMKPL, load
from imkpl.estimators import _kernels
from imkpl.kernels import sources
from imkpl.readers import read


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A small file that is taken for a large one."""
    pytest.importorskip("pyarrow")
    for module in (sources, _kernels, read):
        monkeypatch.setattr(module, "MAX_EXACT", 100)
    monkeypatch.setattr(read, "LARGEST_FILE", 0)
    monkeypatch.setattr(sources, "BLOCK_VALUES", 5 * 60)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = rng.standard_normal((300, 5)) + 2 * np.eye(2, 5)[y]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.array(["no", "yes"])[y], more=1.0)
    frame.to_parquet(tmp_path / "large.parquet", row_group_size=100)
    return frame


def test_a_large_file_is_fitted_and_predicted_in_parts(large, shell, tmp_path, monkeypatch):
    path, model, out = (tmp_path / name for name in ("large.parquet", "m.imkpl", "classes.csv"))
    command = ("fit", path, "--target", "kind", "--drop", "more", "--max-kernels", 2)
    command += ("--prototypes", 4)
    # Nothing reads the whole table.
    monkeypatch.setattr("pyarrow.parquet.read_table", None)
    answer = shell.ask(*command, "--model", model, "--report", tmp_path / "page.html")
    assert answer["notes"][0] == "300 rows stay in the file and are read a block at a time."
    assert answer["accuracy"] > 0.8
    fitted = load(model)
    left = np.setdiff1d(np.arange(300), fitted.provenance_["held_out_rows"])
    assert answer["training_rows"] == left.size
    features, kind = large[list("abcde")], large["kind"].to_numpy()
    same = IMKPL(n_prototypes=4, max_kernels=2, random_state=0).fit(features.iloc[left], kind[left])
    np.testing.assert_array_equal(fitted.kernel_weights_, same.kernel_weights_)
    np.testing.assert_array_equal(fitted.support_ids_, left[same.support_] + 1)
    result = shell("predict", model, path, "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "300 rows written to" in result.stdout
    table = pd.read_csv(out)
    np.testing.assert_array_equal(table["id"], np.arange(1, 301))
    np.testing.assert_array_equal(table["prediction"], fitted.predict(features))
    chances = table[["probability no", "probability yes"]]
    np.testing.assert_allclose(chances, fitted.predict_proba(features), rtol=1e-9)
    assert "--out" in shell.fails("predict", model, path)
    # Other tables are read as a whole.
    monkeypatch.undo()
    small = tmp_path / "small.csv"
    assert shell("predict", model, path, "--out", small).exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv(small).fillna(""), table.fillna(""))
