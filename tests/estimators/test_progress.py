"""scikit-learn's callbacks around every round, and a line per round for people."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from imkpl import IMKPL, ISKPL
from imkpl.kernels import PerFeatureGaussian
from imkpl.kernels.per_feature import FeatureKernels

SMALL = {"sparsity": 3, "n_prototypes": 9, "contrast": False}

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has none")

MODELS = pytest.mark.parametrize("model", [IMKPL(**SMALL), ISKPL(**SMALL)], ids=repr)


class Recorder:
    """Writes down what it is told, and asks to stop after so many rounds."""

    def __init__(self, stop_after=None, fail_after=None):
        self.stop_after, self.fail_after = stop_after, fail_after
        self.events, self.models, self.seen = [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
        self.events.append(f"begin {context.task_name} {context.task_id}")
        self.seen.append((X, y, metadata))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.events.append(f"end {context.task_name} {context.task_id}")
        if context.task_name != "round":
            self.last = fitted_estimator
            return False
        self.models.append(fitted_estimator)
        if len(self.models) == self.fail_after:
            raise RuntimeError("the callback has had enough")
        return len(self.models) == self.stop_after


def expected_events(n_rounds):
    rounds = [f"{what} round {i}" for i in range(n_rounds) for what in ("begin", "end")]
    return ["setup", "begin fit 0", *rounds, "end fit 0", "teardown"]


@MODELS
def test_every_round_begins_and_ends_once(model, wine):
    recorder = Recorder()
    model = clone(model).set_callbacks(recorder).fit(wine.X, wine.y)
    assert model.n_iter_ < model.max_iter
    assert recorder.events == expected_events(model.n_iter_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@MODELS
def test_last_round_allowed_ends_once(model, wine):
    recorder = Recorder()
    clone(model).set_params(max_iter=2, tol=0.0).set_callbacks(recorder).fit(wine.X, wine.y)
    assert recorder.events == expected_events(2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@MODELS
def test_fitted_estimators_are_the_models_of_shorter_fits(model, wine):
    recorder = Recorder()
    final = clone(model).set_callbacks(recorder).fit(wine.X, wine.y)
    assert final.n_iter_ > 1
    for n_rounds, found in enumerate(recorder.models, start=1):
        shorter = clone(model).set_params(max_iter=n_rounds).fit(wine.X, wine.y)
        assert found.n_iter_ == n_rounds
        assert_array_equal(found.history_["total"], final.history_["total"][:n_rounds])
        assert_array_equal(found.predict_proba(wine.new), shorter.predict_proba(wine.new))
    expected = final.predict_proba(wine.new)
    assert_array_equal(recorder.last.predict_proba(wine.new), expected)


def test_data_and_weights_reach_the_callback(wine):
    recorder, weight = Recorder(), np.full(len(wine.y), 2.0)
    IMKPL(**SMALL).set_callbacks(recorder).fit(wine.X, wine.y, sample_weight=weight)
    for X, y, metadata in recorder.seen:
        assert_array_equal(X, wine.X)
        assert_array_equal(y, wine.y)
        assert_array_equal(metadata["sample_weight"], weight)


@MODELS
def test_callback_can_stop_the_fit(model, wine):
    recorder = Recorder(stop_after=1)
    model = clone(model).set_params(tol=0.0).set_callbacks(recorder).fit(wine.X, wine.y)
    assert model.n_iter_ == 1
    assert recorder.events == expected_events(1)
    shorter = clone(model).set_params(max_iter=1).fit(wine.X, wine.y)
    assert_array_equal(model.predict_proba(wine.new), shorter.predict_proba(wine.new))


@MODELS
def test_errors_tear_down(model, wine):
    recorder = Recorder(fail_after=1)
    with pytest.raises(RuntimeError, match="had enough"):
        clone(model).set_callbacks(recorder).fit(wine.X, wine.y)
    assert recorder.events == ["setup", "begin fit 0", "begin round 0", "end round 0", "teardown"]


def test_scoring_monitor_has_a_score_for_every_round(wine):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = IMKPL(**SMALL).set_callbacks(monitor).fit(wine.X, wine.y)
    log = monitor.get_logs(select="most_recent")
    rounds = [row["accuracy"] for row in log.data if row["task_name"] == "round"]
    assert len(rounds) == model.n_iter_
    assert rounds[-1] == model.score(wine.X, wine.y)


@MODELS
def test_verbose_writes_one_line_per_round_to_standard_error(model, wine, capsys):
    model = clone(model).set_params(verbose=1).fit(wine.X, wine.y)
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if "round" in line]
    assert len(lines) == model.n_iter_
    for i, line in enumerate(lines):
        assert line.startswith(f"[{type(model).__name__}] round {i + 1}/20: objective ")
        assert f"{model.history_['total'][i]:.6g}" in line
    kernels = np.count_nonzero(model.kernel_weights_)
    assert f" {kernels} kernels, " in lines[-1]


@MODELS
def test_verbose_names_the_stages(model, wine, capsys):
    clone(model).set_params(verbose=1).fit(wine.X, wine.y)
    lines = [line for line in capsys.readouterr().err.splitlines() if "round" not in line]
    n_samples = len(np.unique(wine.X, axis=0))
    wanted = [
        "kernels='per_feature_gaussian' for columns of numbers",
        "learning bandwidths",
        f"weighing 13 kernels on {n_samples} samples",
        "choosing the number of prototypes",
        "covering",
        "cal",
    ]
    assert len(lines) == len(wanted)
    for line, start in zip(lines, wanted, strict=True):
        assert line.startswith(f"[{type(model).__name__}] {start}")


@pytest.mark.parametrize("name", ["on", "combine"])
def test_an_interrupt_changes_nothing(name, wine, monkeypatch):
    model = IMKPL(**SMALL).fit(wine.X, wine.y)
    before, proba = dict(vars(model)), model.predict_proba(wine.new)
    owner = PerFeatureGaussian if name == "on" else FeatureKernels

    def lose_patience(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(owner, name, lose_patience)
    with pytest.raises(KeyboardInterrupt):
        model.fit(wine.X[:, :4], np.where(wine.y == 0, "no", "yes"))
    monkeypatch.undo()
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is value for key, value in before.items())
    assert_array_equal(model.predict_proba(wine.new), proba)


def test_silence_by_default(wine, capsys):
    IMKPL(**SMALL).fit(wine.X, wine.y)
    assert capsys.readouterr() == ("", "")
