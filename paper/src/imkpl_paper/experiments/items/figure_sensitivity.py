"""Accuracy and interpretability against lambda, mu, tau and T0, one at a time."""

from imkpl_paper.experiments.spec import Item, Size

ITEM = Item(
    name="figure-sensitivity",
    title="Sensitivity to the parameters",
    full=Size(
        datasets=("Isolet",),
        methods=("IMKPL",),
        n_splits=3,
        grid=(
            ("discrimination", (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)),
            ("separation", (0.0, 1.0, 10.0, 100.0, 1000.0)),
            ("interpretability", (0.0, 0.3, 0.6, 1.2, 2.5, 5.0)),
            ("sparsity", (1, 2, 5, 10, 20, 30)),
        ),
    ),
    quick=Size(
        datasets=("digits",),
        methods=("IMKPL",),
        n_splits=2,
        grid=(
            ("discrimination", (0.0, 0.5, 2.0)),
            ("separation", (0.0, 10.0, 100.0)),
            ("interpretability", (0.0, 1.2, 5.0)),
            ("sparsity", (1, 5, 10)),
        ),
    ),
    measures=("accuracy", "ip"),
    renderer="sensitivity",
    notes=(
        "One parameter is changed, the others are at the study's T0 and the defaults. Values of "
        "lambda, mu and tau do not compare with the paper's.",
    ),
)
