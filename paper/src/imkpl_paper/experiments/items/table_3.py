"""Table 3: accuracy and number of kernels, with further peers."""

from imkpl_paper.experiments.items._notes import PROGRAMS, SETTINGS
from imkpl_paper.experiments.methods import PAPER, PEERS
from imkpl_paper.experiments.spec import Item, Size

ITEM = Item(
    name="table-3",
    title="Accuracy and number of kernels",
    full=Size(
        datasets=("CLL_SUB", "TOX_171", "Isolet", "rcv1", "UTKinect", "PEMS", "AUSLAN"),
        methods=(*PAPER, *PEERS),
        n_splits=10,
    ),
    quick=Size(
        datasets=("wine", "digits", "synthetic_small"),
        methods=(*PAPER, "1-NN", "SVM, average kernel", "sparse logistic regression"),
        n_splits=2,
    ),
    measures=("accuracy", "kernels"),
    renderer="measures",
    notes=(
        SETTINGS,
        PROGRAMS,
        "Methods below PS are not in the paper. A kernel is a feature or channel; where first "
        "differences are kernels too, a channel has two. Of the peers those have a number of "
        "kernels that leave features out.",
    ),
)
