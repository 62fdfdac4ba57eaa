"""Numbers that were read from the print by hand, against the data file."""

import pytest

from imkpl_paper.experiments.items import ITEMS
from imkpl_paper.experiments.published import published_values, read_published


@pytest.mark.parametrize(
    ("item", "dataset", "method", "measure", "value"),
    [
        ("table-2", "CLL_SUB", "IMKPL", "ip", 91),
        ("table-2", "rcv1", "MKLDPL", "dr", 67),
        ("table-2", "UTKinect", "DKMLD", "dr", 52),
        ("table-2", "AUSLAN", "PS", "ip", 81),
        ("table-3", "TOX_171", "IMKPL", "accuracy", 97.21),
        ("table-3", "TOX_171", "MKLDPL", "accuracy", 94.72),
        ("table-3", "Isolet", "IMKPL", "kernels", 141),
        ("table-3", "PEMS", "MIDL", "kernels", 158),
        ("table-3", "UTKinect", "AKGLVQ", "accuracy", 88.75),
        ("table-5", "AUSLAN", "MIDL", "seconds", 1.38e7),
        ("table-5", "rcv1", "PS", "seconds", 66.2),
    ],
)
def test_numbers_are_those_in_print(item, dataset, method, measure, value):
    assert published_values(item, dataset)[method][measure] == value


def test_settings_are_those_in_print():
    assert published_values("table-1", "Isolet") == {
        "sparsity": 20,
        "lambda": 0.2,
        "mu": 0.2,
        "tau": 0.3,
        "samples": 1560,
        "features": 617,
        "classes": 26,
    }


def test_prototypes_per_class_sum_to_the_printed_total():
    assert sum(published_values("table-4", "UTKinect").values()) == 50


def test_dashes_in_print_are_left_out():
    for dataset in ("CLL_SUB", "TOX_171", "Isolet", "rcv1", "UTKinect", "PEMS", "AUSLAN"):
        for method in ("AKGLVQ", "PS"):
            assert "dr" not in published_values("table-2", dataset)[method]
        for method in ("ISKPL", "AKGLVQ", "PS"):
            assert "kernels" not in published_values("table-3", dataset)[method]


def test_every_item_has_its_place_in_print():
    assert list(read_published()) == list(ITEMS)
    printed = [read_published()[name]["printed"] for name in ITEMS]
    assert printed[:5] == [f"Table {number}" for number in range(1, 6)]


def test_what_was_not_published_is_empty():
    assert published_values("table-3", "wine") == {}
    assert published_values("table-9", "Isolet") == {}
