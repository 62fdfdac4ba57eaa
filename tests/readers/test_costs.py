"""Work grows with the size of a file, not faster, and memory is used for what is needed."""

import cProfile
import csv
import pstats
import time

import numpy as np
import pandas as pd
import pytest

from imkpl.readers import InputError, ReadOptions
from imkpl.readers import read_training_file as read
from imkpl.readers.check import describe_columns, find_problems
from imkpl.readers.formats import parse_file
from imkpl.readers.read import DataFile

USUAL_LIMIT = 131_072


def write_csv(tmp_path, names):
    rows = [",".join(str(row + place) for place in range(len(names))) for row in range(2)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join([",".join(names), *rows]))
    return lambda: parse_file(path, ReadOptions())


def build(values, y):
    frame = pd.DataFrame(values, columns=[f"a{place}" for place in range(values.shape[1])])
    return DataFile(frame, y, np.arange(len(frame)), "y"), frame


def find_in_classes(tmp_path, n):
    values = np.random.default_rng(0).standard_normal((2 * n, 2))
    data, frame = build(values, np.arange(2 * n) % n)
    return lambda: find_problems(data, frame)


COSTS = {
    "repeated names": (50, lambda path, n: write_csv(path, ["a"] * n)),
    "classes": (625, find_in_classes),
}


@pytest.mark.parametrize(("n", "prepare"), COSTS.values(), ids=COSTS)
def test_sixteen_times_the_size_takes_no_more_than_64_times_as_long(tmp_path, n, prepare):
    """Work that grows with the square would take 256 times as long."""

    def measure(size):
        work = prepare(tmp_path, size)
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    measure(n)
    # A pause of the machine is no cost: three times it is.
    assert any(measure(16 * n) < 64 * measure(n) + 0.5 for _ in range(3))


def test_a_column_takes_few_steps_to_check():
    def check(n):
        """Calls of functions, which do not depend on what else the machine does."""
        values = np.random.default_rng(0).standard_normal((24, n))
        data, frame = build(values, np.arange(24) % 2)
        profile = cProfile.Profile()
        profile.runcall(lambda: (find_problems(data, frame), describe_columns(data)))
        return pstats.Stats(profile).total_calls

    check(10)
    assert check(1500) - check(500) < 240 * 1000


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("kind,a\n1,{cells}\n2,1\n", "Line 2 of a.csv has 3000002 cells, expected 2"),
        ("kind,a\n1,{text}\n2,1\n", "No column of a.csv is left"),
    ],
    ids=["cells", "text"],
)
def test_a_line_of_6_mb_is_refused_soon(tmp_path, content, found):
    path, start = tmp_path / "a.csv", time.perf_counter()
    path.write_text(content.format(cells="1," * 3_000_000, text="a " * 3_000_000))
    with pytest.raises(InputError, match=found):
        read(path, ReadOptions(target="kind"))
    # About a second on a usual computer.
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_lines_of_any_length_are_read(tmp_path, separator):
    """At any separator but its own, a line of 20,000 columns is a single cell."""
    csv.field_size_limit(USUAL_LIMIT)
    names = [f"g{place}" for place in range(20000)]
    values = np.arange(60000.0).reshape(3, 20000) + 0.5
    path = tmp_path / "a.csv"
    pd.DataFrame(values, columns=names).to_csv(path, sep=separator, index=False)
    frame = parse_file(path, ReadOptions()).table
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame, values)


def test_cells_of_any_length_are_read(tmp_path):
    csv.field_size_limit(USUAL_LIMIT)
    long = "x, " * 100_000
    path = tmp_path / "a.csv"
    path.write_text(f'a,b,kind\n1,"{long}",u\n2,y,v\n3,"{long}",u\n4,y,v\n')
    data = read(path, ReadOptions(target="kind"))
    assert data.samples["b"].tolist() == [long.strip(), "y"] * 2
