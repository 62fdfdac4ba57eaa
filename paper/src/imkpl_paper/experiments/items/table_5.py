"""Table 5: run time of training."""

from imkpl_paper.experiments.items._notes import PROGRAMS
from imkpl_paper.experiments.methods import PAPER
from imkpl_paper.experiments.spec import Item, Size

METHODS = tuple(name for name in PAPER if name != "ISKPL")

ITEM = Item(
    name="table-5",
    title="Run time of training",
    full=Size(datasets=("CLL_SUB", "AUSLAN", "rcv1"), methods=METHODS, n_splits=10),
    quick=Size(datasets=("wine", "digits", "synthetic_small"), methods=METHODS, n_splits=2),
    measures=("seconds",),
    renderer="measures",
    notes=(
        "Seconds of processor time of one fit on 80 % of the samples, on one thread, kernels "
        "included, after everything was compiled. The paper's machine, and whether its figures "
        "have the kernels in them, is not known.",
        PROGRAMS,
    ),
)
