"""Files of the archives of time series."""

import numpy as np
import pytest

from imkpl_paper.datasets.ts import read_ts

TS = """# two signs
@problemName two
@timeStamps false
@missing true
@univariate false
@dimension 2
@equalLength false
@classLabel true Ananas b
@data
1,2,3:4,?,6:Ananas
5,6:7,8:b
"""


def test_files_of_the_archives_are_read(tmp_path):
    path = tmp_path / "two.ts"
    path.write_text(TS)
    series, labels = read_ts(path)
    assert labels == ["Ananas", "b"]
    np.testing.assert_array_equal(series[0], [[1, 2, 3], [4, np.nan, 6]])
    np.testing.assert_array_equal(series[1], [[5, 6], [7, 8]])
    path.write_text("@classLabel false\n@data\n1,2:NaN,3e-1\n")
    (one,), labels = read_ts(path)
    np.testing.assert_array_equal(one, [[1, 2], [np.nan, 0.3]])
    assert labels is None


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("@timeStamps false", "@timeStamps true", "line 3: expected a header up to @data, and no"),
        ("@data", "", "line 10: expected a header"),
        ("7,8", "7,x", "line 11: could not convert string to float: 'x'"),
        ("7,8", "7", "line 11: channels of 1 to 2 time steps, expected the same number in each"),
        ("5,6:7,8:b", "b", "line 11: channels of no time steps"),
        ("Ananas", "\udcff", "line [0-9]+: 'utf-8' codec can't decode"),
    ],
)
def test_files_that_are_not_of_the_archives_are_refused(tmp_path, old, new, sentence):
    path = tmp_path / "two.ts"
    path.write_text(TS.replace(old, new), encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ValueError, match=rf"two\.ts cannot be read as a \.ts file \({sentence}"):
        read_ts(path)
