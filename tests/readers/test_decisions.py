"""Which column is the target, which names the rows, which are left out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imkpl.readers import InputError, ReadOptions, read_training_file

N = 12


def build(**columns):
    base = {"size": np.linspace(1, 2, N) ** 2, "kind": ["cat", "dog"] * (N // 2)}
    return pd.DataFrame({**base, **columns})


def read(tmp_path, frame, **options):
    frame.to_csv(tmp_path / "a.csv", index=False)
    return read_training_file(tmp_path / "a.csv", ReadOptions(**{"target": "kind", **options}))


def test_a_target_of_few_numbers_is_taken_as_classes_and_said(tmp_path):
    data = read(tmp_path, build(kind=[0, 1] * (N // 2)))
    assert data.y.tolist() == [0, 1] * (N // 2)
    assert data.y.dtype.kind == "i"
    assert "Target 'kind': 2 numbers 0/1 read as classes." in data.notes


def test_texts_and_true_and_false_are_classes(tmp_path):
    assert "Target 'kind': 2 classes 'cat' and 'dog'." in read(tmp_path, build()).notes
    assert set(read(tmp_path, build(kind=[True, False] * (N // 2))).y) == {"True", "False"}


def test_a_target_of_many_numbers_is_one_of_values(tmp_path):
    data = read(tmp_path, build(kind=np.linspace(1, 9.5, N)))
    assert data.is_value
    np.testing.assert_allclose(data.y, np.linspace(1, 9.5, N))
    assert "Target 'kind': numbers, 1 to 9.5, to be predicted as values." in data.notes[-1]
    ages = pd.DataFrame({"a": np.arange(90) % 7, "kind": np.arange(90) % 45 + 20})
    assert read(tmp_path, ages).is_value
    assert read(tmp_path, build(kind=[0, 1] * (N // 2)), regress=True).y.tolist()[:2] == [0.0, 1.0]
    classes = read(tmp_path, ages, classify=True)
    assert not classes.is_value
    assert classes.y.dtype.kind == "i"
    with pytest.raises(InputError, match="Target 'kind' holds text, expected numbers"):
        read(tmp_path, build(), regress=True)
    with pytest.raises(InputError, match="--classify and --regress exclude each other"):
        read(tmp_path, build(), regress=True, classify=True)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ([f"p{i}" for i in range(N)], "'kind' has a different value in each of its 12 rows"),
        ("cat", "'kind' has one class, 'cat', expected at least two"),
        (np.nan, "'kind' has no values"),
    ],
)
def test_a_target_without_classes_is_refused(tmp_path, kind, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, build(kind=kind))


def test_rows_without_a_class_are_left_out_and_said(tmp_path):
    frame = build()
    frame.loc[[2, 5], "kind"] = None
    data = read(tmp_path, frame)
    assert data.ids.tolist() == [1, 2, 4, 5, 7, 8, 9, 10, 11, 12]
    assert "2 rows without a class left out." in data.notes


def test_a_misspelt_target_gets_a_suggestion(tmp_path):
    with pytest.raises(InputError, match=r"no column 'Knid' \(--target\). Did you mean 'kind'\?"):
        read(tmp_path, build(), target="Knid")
    with pytest.raises(InputError, match=r"no column 'zzz' .* Its columns are 'size' and 'kind'"):
        read(tmp_path, build(), target="zzz")


def test_a_usual_name_is_the_target_and_no_other(tmp_path):
    assert read(tmp_path, build().rename(columns={"kind": "Class"}), target=None).target == "Class"
    with pytest.raises(InputError, match=r"does not say which column .* Name it with --target"):
        read(tmp_path, build(), target=None)


def test_different_texts_name_the_rows(tmp_path):
    names = [f"p{i}" for i in range(N)]
    frame = build(patient=names, comment=[f"c {i}" for i in range(N)])
    data = read(tmp_path, frame)
    # Names are kept if they are asked for.
    assert data.samples.index.tolist() == data.ids.tolist() == list(range(1, N + 1))
    asked = read(tmp_path, frame, id_column="patient")
    assert asked.samples.index.tolist() == asked.ids.tolist() == names
    reason = "all values differ, as in an identifier (--id keeps it as the name of rows)"
    assert asked.dropped == {"comment": reason}
    assert data.dropped == {"patient": reason, "comment": reason}
    assert [one.text for one in asked.findings] == [f"Column 'comment' left out: {reason}."]


@pytest.mark.parametrize("name", ["id", "sample_id", "PatientID", "index"])
def test_different_whole_numbers_under_a_usual_name_are_identifiers(tmp_path, name):
    numbers = np.arange(N) ** 2 + 7
    assert name not in read(tmp_path, build(**{name: numbers})).samples
    assert "count" in read(tmp_path, build(count=numbers)).samples


def test_an_identifier_that_is_asked_for_must_be_there_full_and_different(tmp_path):
    names = [f"p{i}" for i in range(N)]
    with pytest.raises(InputError, match=r"no column 'pat' \(--id\)"):
        read(tmp_path, build(patient=names), id_column="pat")
    with pytest.raises(InputError, match=r"'patient' .* has 'p0' in rows 1 and 12, expected a"):
        read(tmp_path, build(patient=[*names[:-1], "p0"]), id_column="patient")
    with pytest.raises(InputError, match=r"'patient' \(--id\) is empty in row 2"):
        read(tmp_path, build(patient=["p0", None, *names[2:]]), id_column="patient")
    with pytest.raises(InputError, match="'kind' is both --target and --id"):
        read(tmp_path, build(), id_column="kind")


def test_columns_that_say_nothing_are_left_out_and_said(tmp_path):
    data = read(
        tmp_path,
        build(
            const=3,
            empty=np.nan,
            day=["2024-01-02", "2024-01-03"] * (N // 2),
            words=[f"w{max(i, 1)}" for i in range(N)],
        ),
    )
    assert list(data.samples.columns) == ["size"]
    assert data.dropped["const"] == "always '3'"
    assert data.dropped["empty"] == "no values"
    assert data.dropped["day"].startswith("dates (derive")
    assert data.dropped["words"] == "11 of 12 values differ, as in free text"
    for name in data.dropped:
        assert sum(f"'{name}' left out: " in one.text for one in data.findings) == 1


def test_a_table_without_columns_to_learn_from_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"No column of a\.csv is left to learn from: .*'size'"):
        read(tmp_path, build(size=1.0))


CELLS = st.one_of(
    st.integers(-5, 5), st.floats(-10, 10).map(lambda x: round(x, 3)), st.sampled_from(["a", "b c"])
)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=4, max_size=12), st.sampled_from(",;\t|"))
def test_what_is_kept_does_not_depend_on_the_separator(tmp_path_factory, rows, separator):
    folder = tmp_path_factory.mktemp("same")
    frame = pd.DataFrame(rows, columns=["one", "two"]).assign(
        size=np.arange(len(rows)) ** 1.5 + 0.5, kind=["cat", "dog", *["cat"] * (len(rows) - 2)]
    )
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "b.csv", index=False, sep=separator)
    a, b = (
        read_training_file(folder / name, ReadOptions(target="kind")) for name in ("a.csv", "b.csv")
    )
    pd.testing.assert_frame_equal(a.samples, b.samples)
    assert a.dropped == b.dropped


def test_whole_numbers_as_texts_or_floats_are_classes_without_a_point(tmp_path):
    for kind in (["1.0", "0.0", "unknown"] * 4, [1.0, 0.0, None] * 4):
        data = read(tmp_path, build(kind=kind), missing=("unknown",))
        assert sorted(set(data.y.tolist())) == [0, 1]
    assert set(read(tmp_path, build(kind=["01", "1.0a"] * 6)).y) == {"01", "1.0a"}
