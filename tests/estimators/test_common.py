"""scikit-learn's own checks, none excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from imkpl import IMKPL, ISKPL

# The first chooses the number of prototypes by folds, which is most of a fit; others need not.
ESTIMATORS = [
    IMKPL(),
    ISKPL(n_prototypes=9),
    IMKPL(solver="landmarks", n_landmarks=20, decision="share"),
    IMKPL(kernels="per_column", decision="share"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
