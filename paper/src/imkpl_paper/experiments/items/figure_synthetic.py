"""The synthetic experiment: which of nine channels are kept."""

from imkpl_paper.experiments.spec import Item, Size

LIMITS = (("max_kernels", (3, None)),)

ITEM = Item(
    name="figure-synthetic",
    title="Synthetic series: which channels are kept",
    full=Size(datasets=("synthetic",), methods=("IMKPL",), n_splits=10, grid=LIMITS),
    quick=Size(datasets=("synthetic_small",), methods=("IMKPL",), n_splits=3, grid=LIMITS),
    measures=("weights", "accuracy"),
    renderer="synthetic",
    notes=(
        "f7 is a replica of f6 with slight variations, f8 and f9 are the same in all samples. The "
        "paper keeps f3, f4 and f6.",
    ),
)
