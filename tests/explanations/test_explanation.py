import json
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel

import imkpl
from imkpl import IMKPL, IMKPLCV, ISKPL
from imkpl.kernels import PerFeatureGaussian


def test_the_table_adds_up_to_every_class_score(fitted):
    model, X = fitted
    explanation = model.explain(X)
    expected = model.decision_function(X)
    for index in range(len(X)):
        total = explanation.contributions(index).sum(axis=(0, 1))
        assert_allclose(total, expected[index], rtol=0, atol=1e-10)


def test_the_table_adds_up_to_the_decision_between_two_classes(fitted_two):
    model, X = fitted_two
    explanation = model.explain(X)
    expected = model.decision_function(X)
    for index in range(len(X)):
        total = explanation.contributions(index).sum(axis=(0, 1))
        assert_allclose(total[1] - total[0], expected[index], rtol=0, atol=1e-10)


def test_features_and_prototypes_are_sums_of_the_table(fitted):
    model, X = fitted
    explanation = model.explain(X[:6])
    by_feature = explanation.feature_contributions()
    for index in range(6):
        table = explanation.contributions(index)
        assert_allclose(by_feature[index], table.sum(axis=0), atol=1e-12)
        by_prototype = explanation.evidence.by_prototype(index)
        assert_allclose(by_prototype, table.sum(axis=1), atol=1e-12)


def test_the_table_is_the_obvious_formula():
    """Similarities by the definition of the kernels, split over prototypes and features."""
    X, y = load_iris(return_X_y=True)
    train, new = X[::3], X[1::3]
    model = IMKPL(sparsity=3, max_kernels=3, decision="joint").fit(train, y[::3])
    table = model.explain(new).contributions(7)
    rows = train[:, np.newaxis] - train
    widths = (rows**2).mean(axis=(0, 1))
    live = np.flatnonzero(model.kernel_weights_)
    for place, feature in enumerate(live):
        kernel = np.exp(-((new[7, feature] - train[:, feature]) ** 2) / widths[feature])
        parts = model.kernel_weights_[feature] * (model.prototypes_ @ kernel)
        explained = table[:, place].sum(axis=1)
        used = explained > 0
        # In a joint code a prototype adds its coefficient times its similarity, to its class only.
        codes = model.explain(new[7:8]).evidence.voting_codes.toarray().ravel()
        assert_array_equal(used, codes > 0)
        assert_allclose(explained, codes * parts, atol=1e-12)


def test_a_prototype_adds_to_its_own_class_only_without_a_readout(wine):
    X, y = wine
    for decision in ("joint", "residual"):
        model = IMKPL(sparsity=3, max_kernels=5, decision=decision).fit(X[::2], y[::2])
        table = model.explain(X[1:2]).contributions(0)
        foreign = model.prototype_classes_[:, np.newaxis] != model.classes_
        assert np.all(table.transpose(0, 2, 1)[foreign] == 0)


def test_shares_sum_to_one_and_are_those_of_the_codes(fitted):
    model, X = fitted
    explanation = model.explain(X)
    codes = model.transform(X).toarray()
    assert_allclose(explanation.shares.toarray(), codes / codes.sum(axis=1, keepdims=True))
    assert_array_equal(explanation.predicted, model.predict(X))
    assert_allclose(explanation.probabilities, model.predict_proba(X), rtol=1e-12)
    assert_allclose(explanation.novelty, model.reconstruction_error(X), atol=1e-12)


def test_the_samples_behind_a_prototype_are_those_of_the_mix(fitted):
    model, X = fitted
    explanation = model.explain(X[:1])
    # The training rows are every other one of the same table.
    for prototype in range(model.prototypes_.shape[0]):
        row = model.prototypes_[[prototype]].toarray().ravel()
        behind = explanation.samples_behind(prototype)
        assert_allclose(sum(share for _, share in behind), 1.0)
        assert [share for _, share in behind] == sorted((s for _, s in behind), reverse=True)
        expected = {f"bottle {2 * i}": row[i] / row.sum() for i in np.flatnonzero(row)}
        found = {explanation.support_ids[place]: share for place, share in behind}
        assert found == pytest.approx(expected)


def test_samples_are_called_by_the_index_of_their_frame(wine):
    X, y = wine
    model = IMKPL(sparsity=2, max_kernels=3).fit(X[::2], y[::2])
    assert_array_equal(model.support_ids_, X.index[::2][model.support_])
    assert_array_equal(model.support_classes_, y[::2][model.support_])
    assert model.explain(X[1:3]).sample_ids.tolist() == ["bottle 1", "bottle 2"]
    bare = IMKPL(sparsity=2, max_kernels=3).fit(X[::2].to_numpy(), y[::2])
    assert_array_equal(bare.support_ids_, bare.support_)
    assert bare.explain(X[1:3].to_numpy()).sample_ids.tolist() == [0, 1]


def test_a_date_as_index_becomes_its_text(wine):
    X, y = wine
    dated = X.set_axis(pd.date_range("2020-01-01", periods=len(X)), axis=0)
    model = IMKPL(sparsity=2, max_kernels=3).fit(dated, y)
    assert model.explain(dated[:1]).sample_ids[0].startswith("2020-01-01")


def test_one_sample_taken_is_that_sample_explained_alone(fitted):
    model, X = fitted
    whole, alone = model.explain(X)[4], model.explain(X[4:5])
    assert len(whole) == 1
    assert_allclose(whole.contributions(0), alone.contributions(0), atol=1e-13)
    assert str(whole) == str(alone)
    assert [str(one) for one in model.explain(X[:3])] == [
        str(model.explain(X)[i]) for i in range(3)
    ]
    with pytest.raises(IndexError):
        whole.contributions(1)


def test_rows_of_the_data_may_come_in_any_order(fitted):
    model, X = fitted
    order = np.random.default_rng(0).permutation(len(X))
    found = model.explain(X.iloc[order]).feature_contributions()
    assert_allclose(found, model.explain(X).feature_contributions()[order], atol=1e-13)


def test_blocks_do_not_matter(fitted, monkeypatch):
    model, X = fitted
    expected = model.explain(X).feature_contributions()
    monkeypatch.setattr("imkpl.model.evidence.BLOCK_ENTRIES", 200)
    assert_allclose(model.explain(X).feature_contributions(), expected, atol=1e-14)


def test_a_dict_is_ready_for_json_and_says_the_same(fitted):
    model, X = fitted
    explanation = model.explain(X[:4])
    plain = json.loads(json.dumps(explanation.to_dict()))
    assert plain["classes"] == model.classes_.tolist()
    for index, sample in enumerate(plain["samples"]):
        assert sample["sample"] == X.index[index]
        assert sample["prediction"] == model.predict(X[:4])[index]
        total = np.sum([f["contributions"] for f in sample["features"]], axis=0)
        assert_allclose(total + sample["base_scores"], sample["scores"], atol=1e-10)
        assert sum(p["share"] for p in sample["prototypes"]) == pytest.approx(1)
        shares = [p["share"] for p in sample["prototypes"]]
        assert shares == sorted(shares, reverse=True)
        for prototype in sample["prototypes"]:
            assert sum(prototype["feature_shares"]) == pytest.approx(1)
            assert sum(s["share"] for s in prototype["samples"]) == pytest.approx(1)
        for feature in sample["features"]:
            assert feature["value"] == X[feature["name"]].iloc[index]


def test_words_name_class_samples_and_features(wine):
    X, y = wine
    model = IMKPL(sparsity=1, max_kernels=3).fit(X[::2], y[::2])
    explanation = model.explain(X[1:2])
    text = str(explanation)
    shares = explanation.shares.tocoo()
    most = np.argmax(shares.data)
    place, _ = explanation.samples_behind(shares.coords[1][most])[0]
    assert text.startswith(f"Sample bottle 1 is {model.predict(X[1:2])[0]} (")
    assert f"{shares.data[most]:.0%} like training sample {explanation.support_ids[place]}" in text
    assert any(name in text for name in explanation.feature_names)
    assert "Similar to the training data" in text


def test_words_say_when_nothing_alike_was_seen(wine):
    X, y = wine
    model = IMKPL(sparsity=2, max_kernels=3).fit(X, y)
    text = str(model.explain(X[:1] + 1e6))
    assert "Unlike the training data: novelty 1.00" in text
    assert "resembles none of the prototypes" in text


def test_pickled_explanations_say_the_same(fitted):
    model, X = fitted
    explanation = model.explain(X[:2])
    assert str(pickle.loads(pickle.dumps(explanation))) == str(explanation)
    assert "2 samples, 3 classes" in repr(explanation)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ISKPL(sparsity=3),
        lambda: IMKPL(["linear", "rbf"], sparsity=3),
        lambda: IMKPL(PerFeatureGaussian(scales=(0.5, 2.0)), sparsity=3, max_kernels=5),
        lambda: IMKPL(sparsity=3, solver="landmarks", n_landmarks=40),
        lambda: IMKPLCV(sparsity=(2,), max_kernels=(3,), cv=2),
    ],
    ids=["one kernel", "kernels of all features", "scales", "landmarks", "path"],
)
def test_all_models_explain_themselves(make):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = make().fit(X[::2], y[::2])
    explanation = model.explain(X[1::2])
    total = explanation.feature_contributions().sum(axis=1)
    assert_allclose(total, model.decision_function(X[1::2]), atol=1e-10)
    assert isinstance(str(explanation[0]), str)
    assert len(explanation.feature_names) == np.count_nonzero(model.kernel_weights_)
    json.dumps(explanation[:2].to_dict())


def test_precomputed_kernels_are_explained():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    K = np.stack([rbf_kernel(X[:, cols], gamma=0.3) for cols in ([0, 1], [6], [9, 12])], axis=-1)
    train, new = np.arange(0, 178, 2), np.arange(1, 178, 2)
    model = IMKPL("precomputed", sparsity=3).fit(K[np.ix_(train, train)], y[train])
    explanation = model.explain(K[np.ix_(new, train)])
    total = explanation.feature_contributions().sum(axis=1)
    assert_allclose(total, model.decision_function(K[np.ix_(new, train)]), atol=1e-10)
    assert explanation.to_dict()["samples"][0]["features"][0]["value"] is None


def test_an_empty_code_has_equal_shares_as_its_base(wine):
    X, y = wine
    model = IMKPL(sparsity=2, max_kernels=3, decision="share").fit(X, y)
    explanation = model.explain(X[:1] + 1e6)
    assert np.all(explanation.contributions(0) == 0)
    assert_allclose(explanation.evidence.base_scores, 1 / 3)
    assert_allclose(model.decision_function(X[:1] + 1e6), 1 / 3)


def test_a_loaded_model_gives_the_same_reasons(fitted, tmp_path):
    model, X = fitted
    imkpl.save(model, tmp_path / "model.imkpl")
    loaded = imkpl.load(tmp_path / "model.imkpl")
    assert str(loaded.explain(X[:3])) == str(model.explain(X[:3]))
    assert_array_equal(loaded.support_ids_, model.support_ids_)
