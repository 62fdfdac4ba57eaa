"""One small file per table or figure: a declaration and nothing else."""

from imkpl_paper.experiments.items import (
    figure_convergence,
    figure_embedding,
    figure_sensitivity,
    figure_synthetic,
    prototypes_per_class,
    table_1,
    table_2,
    table_3,
    table_5,
)
from imkpl_paper.experiments.spec import Item

_MODULES = (
    table_1,
    table_2,
    table_3,
    prototypes_per_class,
    table_5,
    figure_synthetic,
    figure_embedding,
    figure_sensitivity,
    figure_convergence,
)

ITEMS: dict[str, Item] = {module.ITEM.name: module.ITEM for module in _MODULES}
