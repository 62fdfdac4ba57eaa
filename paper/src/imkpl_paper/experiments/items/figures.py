"""The paper's figures: declarations and nothing else."""

from imkpl_paper.experiments.methods import PRINTED
from imkpl_paper.experiments.plan import Item, Size

SELECTING = (*PRINTED, "IMKPL")

SYNTHETIC = Item(
    name="figure-synthetic",
    title="Synthetic series: which channels are kept",
    full=Size(datasets=("synthetic",), methods=SELECTING, n_splits=20),
    quick=Size(datasets=("synthetic_small",), methods=SELECTING, n_splits=1),
    measures=("weights", "accuracy"),
    view="synthetic",
    notes=(
        "f1 to f5 follow a pattern of every class, f6 another, f7 is a replica of f6 with slight "
        "variations, f8 and f9 are the same in all samples. All channels vary alike within a "
        "class, and there is no limit on kernels. Every split is a new draw.",
        "The paper keeps f3, f4 and f6, and none of the three methods keeps just these. Its curves "
        "are not in print, so that which of f1 to f6 are kept does not compare; how many are kept, "
        "whether f6 and its replica share weight, and that f8 and f9 are left out does.",
    ),
)

EMBEDDING = Item(
    name="figure-embedding",
    title="Classes before and after the kernels are weighted",
    full=Size(datasets=("UTKinect", "TOX_171"), methods=("IMKPL",), n_splits=1),
    quick=Size(datasets=("wine",), methods=("IMKPL",), n_splits=1),
    measures=("maps",),
    view="embedding",
    task="embed",
    notes=("Maps of the training part of the first split; stars are prototypes.",),
)

SENSITIVITY = Item(
    name="figure-sensitivity",
    title="Sensitivity to the parameters, by default",
    full=Size(
        datasets=("Isolet",),
        methods=("IMKPL",),
        n_splits=1,
        grid=(
            ("discrimination", (0.0, 0.1, 0.5, 1.0, 5.0)),
            ("separation", (0.0, 1.0, 10.0, 100.0, 1000.0)),
            ("interpretability", (0.0, 0.3, 1.2, 5.0)),
            ("sparsity", (1, 2, 5, 10, 20, 30)),
        ),
    ),
    quick=Size(
        datasets=("wine",),
        methods=("IMKPL",),
        n_splits=1,
        grid=(
            ("discrimination", (0.0, 2.0)),
            ("separation", (0.0, 10.0)),
            ("interpretability", (0.0, 5.0)),
            ("sparsity", (1, 5)),
        ),
    ),
    measures=("accuracy", "ip"),
    view="sensitivity",
    notes=(
        "One parameter is changed, the others are at their defaults: 0.5, 100, 1.2 and 10. Values "
        "of lambda, mu and tau do not compare with the paper's: these terms count relative to the "
        "variance, and another loss replaces J_ls.",
    ),
)

PAPERS_RANGE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.8)

SENSITIVITY_PRINTED = Item(
    name="figure-sensitivity-printed",
    title="Sensitivity to the parameters, as printed",
    full=Size(
        datasets=("Isolet",),
        methods=("IMKPL, as printed",),
        n_splits=1,
        grid=(
            ("discrimination", PAPERS_RANGE),
            ("separation", PAPERS_RANGE),
            ("interpretability", PAPERS_RANGE),
            ("sparsity", (1, 2, 5, 10, 20, 30)),
        ),
    ),
    quick=Size(
        datasets=("wine",),
        methods=("IMKPL, as printed",),
        n_splits=1,
        grid=(
            ("discrimination", (0.0, 0.4)),
            ("separation", (0.0, 0.4)),
            ("interpretability", (0.0, 0.4)),
            ("sparsity", (1, 5)),
        ),
    ),
    measures=("accuracy", "ip"),
    view="sensitivity",
    notes=("One parameter is changed, the others are those of Table 1.",),
)

# To the end, where no round changes anything, or 20 rounds.
TO_THE_END = (("tol", (0.0,)),)

CONVERGENCE = Item(
    name="figure-convergence",
    title="Convergence",
    full=Size(
        datasets=("TOX_171", "Isolet", "UTKinect"),
        methods=("IMKPL, as printed", "IMKPL"),
        n_splits=1,
        grid=TO_THE_END,
    ),
    quick=Size(
        datasets=("wine",),
        methods=("IMKPL, as printed", "IMKPL"),
        n_splits=1,
        grid=TO_THE_END,
    ),
    measures=("objective",),
    view="convergence",
    notes=(
        "Run with tol=0 and at most 20 rounds. By default a search ends when a round lowers the "
        "objective by less than a thousandth of it.",
    ),
)
