"""Table 2: interpretability and discrimination of the prototypes."""

from imkpl_paper.experiments.items._notes import PROGRAMS, SETTINGS
from imkpl_paper.experiments.methods import PAPER
from imkpl_paper.experiments.spec import Item, Size

ITEM = Item(
    name="table-2",
    title="Interpretability (IP) and discrimination (DR)",
    full=Size(
        datasets=("CLL_SUB", "TOX_171", "Isolet", "rcv1", "UTKinect", "PEMS", "AUSLAN"),
        methods=PAPER,
        n_splits=10,
    ),
    quick=Size(datasets=("wine", "digits", "synthetic_small"), methods=PAPER, n_splits=2),
    measures=("ip", "dr"),
    renderer="measures",
    notes=(
        SETTINGS,
        PROGRAMS,
        "DR is the paper's formula on the codes that transform() gives, which for ours use the "
        "prototypes of the predicted class. It does not fit AKGLVQ and PS.",
    ),
)
