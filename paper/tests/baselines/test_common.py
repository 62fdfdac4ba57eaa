"""scikit-learn's own checks, none excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from imkpl_paper.baselines import AKGLVQ, DKMLD, MIDL, MKLDPL, PrototypeSelection


# Few prototypes and rounds: these are checks of conventions, and take minutes with the defaults.
@parametrize_with_checks(
    [
        PrototypeSelection(),
        AKGLVQ(max_iter=50),
        DKMLD(n_levels=3),
        MIDL(max_iter=3),
        MKLDPL(n_per_class=3, max_iter=2),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
