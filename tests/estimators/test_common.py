"""scikit-learn's own checks, none excused for the estimators as users create them."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from imkpl import IMKPL, IMKPLCV, ISKPL, IMKPLSelector, MultiLabelIMKPL

# The first chooses the number of prototypes by folds, which is most of a fit; others need not.
ESTIMATORS = [
    IMKPL(),
    ISKPL(n_prototypes=9),
    IMKPLSelector(IMKPL(n_prototypes=9)),
    MultiLabelIMKPL(IMKPL(n_prototypes=9)),
    IMKPL(solver="landmarks", n_landmarks=20, decision="share"),
    IMKPL(kernels="per_column", decision="share"),
    IMKPLSelector(IMKPL(kernels="per_column", decision="share")),
    IMKPLCV(cv=3, sparsity=(5,), max_kernels=(2,), decision="share"),
    # By default this rule keeps half of the useful kernels: one of the checks' two features.
    IMKPL(weight_rule="ridge", max_kernels=2, decision="share"),
    IMKPL(weight_rule="lp", decision="share"),
]

# test_one_feature_is_not_enough_for_the_blobs_of_the_check shows that the sentence is true.
EXCUSED_FOR_LP = {
    "check_classifiers_train": (
        "A linear programme over the simplex keeps one kernel, here one feature of two, and no "
        "classifier reaches the accuracy asked for on these blobs with one feature."
    )
}


def excused(estimator):
    is_literal = isinstance(estimator, IMKPL) and estimator.weight_rule == "lp"
    return EXCUSED_FOR_LP if is_literal else {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=excused)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_one_feature_is_not_enough_for_the_blobs_of_the_check():
    X, y = make_blobs(n_samples=300, random_state=0)
    X = StandardScaler().fit_transform(X)
    forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
    scores = [cross_val_score(forest, X[:, [column]], y).mean() for column in range(2)]
    assert np.max(scores) < 0.83
    assert cross_val_score(forest, X, y).mean() > 0.83
