"""scikit-learn's own checks, none excused."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from imkpl import IMKPL, ISKPL, IMKPLRegressor

# Many checks fit noise.
pytestmark = pytest.mark.filterwarnings("ignore:No kernel tells the")

ESTIMATORS = [
    IMKPL(),
    ISKPL(n_prototypes=10, contrast=False),
    IMKPL(solver="landmarks", n_landmarks=45, decision="share"),
    IMKPL(kernels="per_column", decision="share"),
    IMKPLRegressor(n_prototypes=5, contrast=False),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
