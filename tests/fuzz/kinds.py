"""Every kind of case by its name: a function of a source of choices that says what came of it."""

from fuzz import estimators, files, functions, numbers, shapes

# How many cases of a kind `make fuzz` runs for one of the others: slow ones fewer.
SHARES = {"IMKPLCV": 0.3, "series": 0.5, "bits": 0.1, "order": 0.4, "scaling": 0.4, "monotone": 2}
SHARES |= {"readers": 6, "model files": 4, "solvers": 4, "simplex": 4, "measures": 4}
SHARES |= {"Gram matrices": 4, "precision": 2}

KINDS = {
    "IMKPL": estimators.imkpl_case,
    "ISKPL": estimators.iskpl_case,
    "selector": estimators.selector_case,
    "IMKPLCV": estimators.cv_case,
    "baselines": estimators.baseline_case,
    "tables": shapes.table_case,
    "stacks": shapes.stack_case,
    "series": shapes.series_case,
    "parameters": shapes.parameter_case,
    "keeping": shapes.keeping_case,
    "solvers": functions.solver_case,
    "simplex": functions.simplex_case,
    "measures": functions.measure_case,
    "readers": files.reader_case,
    "model files": files.model_case,
    "bits": numbers.bits_case,
    "order": numbers.order_case,
    "monotone": numbers.monotone_case,
    "scaling": numbers.scaling_case,
    "Gram matrices": numbers.gram_case,
    "precision": numbers.precision_case,
}
