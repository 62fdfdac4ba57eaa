"""The tables and figures by name, in the order of the page."""

from imkpl_paper.experiments.items import figures, tables
from imkpl_paper.experiments.plan import Item

ITEMS: dict[str, Item] = {
    item.name: item
    for item in (
        tables.OVERVIEW,
        tables.TABLE_1,
        tables.TABLE_2,
        tables.TABLE_3,
        tables.TABLE_4,
        tables.TABLE_5,
        tables.GROWTH,
        tables.CODES,
        tables.ABLATION,
        tables.ROUNDS,
        figures.SYNTHETIC,
        figures.EMBEDDING,
        figures.SENSITIVITY,
        figures.SENSITIVITY_PRINTED,
        figures.CONVERGENCE,
    )
}
