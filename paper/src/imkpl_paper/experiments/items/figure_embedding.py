"""t-SNE maps before and after kernels were weighed."""

from imkpl_paper.experiments.spec import Item, Size

ITEM = Item(
    name="figure-embedding",
    title="Classes before and after kernels were weighed",
    full=Size(datasets=("UTKinect", "TOX_171"), methods=("IMKPL",), n_splits=1),
    quick=Size(datasets=("wine", "digits"), methods=("IMKPL",), n_splits=1),
    measures=("maps",),
    renderer="embedding",
    task="embed",
    notes=("Maps of the training part of the first split; stars are prototypes.",),
)
