"""Maps of samples and prototypes."""

import numpy as np
import pytest

from imkpl.plots import EmbeddingDisplay
from imkpl.report import embedding as embedding_module
from imkpl.report.embedding import describe_embedding

from .conftest import describe


def test_maps_show_training_samples_and_prototypes(wine):
    found = wine.found["embedding"]
    assert found["whose"] == "training samples"
    assert [one["title"] for one in found["maps"]] == ["average", "learned"]
    for one in found["maps"]:
        assert np.shape(one["points"]) == (len(wine.train[1]), 2)
        assert np.shape(one["prototypes"]) == (wine.model.prototypes_.shape[0], 2)
    assert found["labels"] == list(wine.train[1])


def test_without_the_training_part_the_average_has_no_prototypes(wine):
    found = describe(describe_embedding, wine.model, wine.X, wine.y)
    assert found["whose"] == "held-out samples"
    assert found["maps"][0]["prototypes"] is None
    assert np.shape(found["maps"][1]["prototypes"])[1] == 2


def test_large_data_are_thinned_out(wine, monkeypatch):
    monkeypatch.setattr(embedding_module, "MOST_POINTS", 20)
    found = describe(describe_embedding, wine.model, wine.X, wine.y)
    assert (found["n"], found["n_all"], len(found["labels"])) == (20, len(wine.y), 20)


def test_maps_are_those_of_the_display(wine):
    X_train, y_train = wine.train
    display = EmbeddingDisplay.compute(wine.model, X_train, y_train, max_samples=None)
    for one, places in zip(
        wine.found["embedding"]["maps"], (display.average, display.learned), strict=True
    ):
        assert np.array(one["points"]) == pytest.approx(places, rel=1e-4, abs=1e-4)


def test_other_training_samples_have_no_prototypes_in_the_average(wine):
    X_train, y_train = wine.train
    moved = X_train + 1.0
    found = describe(describe_embedding, wine.model, wine.X, wine.y, (moved, y_train))
    assert found["maps"][0]["prototypes"] is None
