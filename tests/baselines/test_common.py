"""scikit-learn's own checks, none excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from imkpl.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection


@parametrize_with_checks([PrototypeSelection(), AKGLVQ(), DKMLD(), MIDL(), MKLDPL()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
