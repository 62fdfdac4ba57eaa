"""How the objective goes down."""

from imkpl_paper.experiments.spec import Item, Size

# To the end, where no round changes anything, or 20 rounds.
TO_THE_END = (("tol", (0.0,)),)

ITEM = Item(
    name="figure-convergence",
    title="Convergence",
    full=Size(
        datasets=("CLL_SUB", "TOX_171", "Isolet", "rcv1", "UTKinect", "PEMS", "AUSLAN"),
        methods=("IMKPL",),
        n_splits=3,
        grid=TO_THE_END,
    ),
    quick=Size(
        datasets=("wine", "breast_cancer", "digits", "synthetic_small"),
        methods=("IMKPL",),
        n_splits=3,
        grid=TO_THE_END,
    ),
    measures=("objective",),
    renderer="convergence",
    notes=(
        "Run with tol=0 and at most 20 rounds. By default a search ends when a round lowers the "
        "objective by less than a thousandth of it.",
    ),
)
