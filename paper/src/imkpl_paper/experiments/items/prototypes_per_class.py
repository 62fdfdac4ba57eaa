"""Table 4: the number of prototypes of every class."""

from imkpl_paper.experiments.spec import Item, Size

ITEM = Item(
    name="table-4",
    title="Prototypes per class",
    full=Size(datasets=("UTKinect",), methods=("IMKPL",), n_splits=10),
    quick=Size(datasets=("digits", "wine"), methods=("IMKPL",), n_splits=3),
    measures=("per_class",),
    renderer="per_class",
    notes=("The paper has one model, and does not say of which samples.",),
)
